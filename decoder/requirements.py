"""What a model's folder must be like, asked before its weights are read."""

import json
from pathlib import Path
from typing import Any

from decoder.engine import EngineError
from decoder.exactness import FIXED_ROWS
from decoder.tokenizer import Tokenizer

LEAST_WINDOW = 2 * FIXED_ROWS
"""Tokens: what the probe of exactness compares, behind a pass of as many."""


def require_rows(name: str, folder: Path, tokenizer: Tokenizer) -> None:
    """Raises EngineError where the tokenizer knows tokens that the model has no rows for."""
    rows = _settings(folder).get("vocab_size")
    if rows and rows < tokenizer.vocabulary.size:
        raise EngineError(
            f"{name} has {rows} tokens, but its tokenizer {tokenizer.vocabulary.size}: use the tokenizer that it was"
            " made with, or resize its embeddings"
        )


def require_window(name: str, folder: Path, context_tokens: int) -> None:
    """Raises EngineError for a window in which a target cannot be tested."""
    made_for = _settings(folder).get("max_position_embeddings") or context_tokens
    if made_for < LEAST_WINDOW:
        raise EngineError(f"{name} is made for {made_for} tokens of context, {LEAST_WINDOW} at least are needed")
    if context_tokens < LEAST_WINDOW:
        raise EngineError(f"context_tokens = {context_tokens} in config.toml must be at least {LEAST_WINDOW}")


def _settings(folder: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return settings
