"""Servers of others with the starter model, behind the remote engine: `make test-engines`, outside CI."""
