"""Speaks LSP; never loads a model."""
