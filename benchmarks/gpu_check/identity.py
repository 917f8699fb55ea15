"""The promise itself: a greedy text with drafts is, token for token, the text without."""

from collections.abc import Iterator

import numpy as np

from benchmarks.gpu_check.findings import Finding
from benchmarks.gpu_check.loop import choose
from benchmarks.gpu_check.steps import random_tokens
from decoder.torch_model import TorchModel

_GAMMAS = (1, 4, 8, 15)


def identity(model: TorchModel, num_tokens: int, *, promised: bool) -> Iterator[Finding]:
    """Drafts that are right three times in four. promised: whether the engine said that its bits allow it."""
    prompt = random_tokens(model.vocabulary.size, 250)
    expected = _write(model, prompt, num_tokens, 0, [])
    differing = [gamma for gamma in _GAMMAS if _write(model, prompt, num_tokens, gamma, expected) != expected]
    value = f"{len(_GAMMAS) - len(differing)} of {len(_GAMMAS)}"
    note = f"gammas {', '.join(map(str, _GAMMAS))}; " + ("promised" if promised else "not promised: near-ties")
    yield Finding(f"texts equal the undrafted one, {model.name}", value, "", note, ok=not (promised and differing))


def _write(model: TorchModel, prompt: list[int], num_tokens: int, gamma: int, known: list[int]) -> list[int]:
    rng = np.random.default_rng(gamma)
    model.rewind(0)
    model.extend(prompt[:-1], last=0)
    text: list[int] = []
    while len(text) < num_tokens:
        ahead = known[len(text) : len(text) + min(gamma, num_tokens - len(text) - 1)]
        drafted = [token if rng.random() < 0.75 else (token + 1) % model.vocabulary.size for token in ahead]
        choices = choose(model.extend([[*prompt, *text][-1], *drafted]))
        agreed = [drawn == chosen for drawn, chosen in zip(drafted, choices, strict=False)]
        text.extend(choices[: 1 + (agreed.index(False) if False in agreed else len(agreed))])
        model.rewind(len(prompt) + len(text) - 1)
    return text
