"""What a target writes after a prompt, known beforehand, so that drafts can be graded without running it."""

from collections.abc import Sequence
from dataclasses import dataclass

from decoder.bench.tasks import Task
from decoder.engine import EngineError
from decoder.tokenizer import Tokenizer
from drafting.lines import to_lf
from drafting.prefix_cache import common_prefix

PROMPT_TOKENS = 600


@dataclass(frozen=True, slots=True)
class Truth:
    """`tokens` is what the target writes after `context`, at least one."""

    task: Task
    context: tuple[int, ...]
    tokens: tuple[int, ...]


def prompt_of(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[int]:
    """The last of the `tokens` before the cursor, as all modes and peers get them; never empty."""
    stop_ids = tokenizer.eos_ids | tokenizer.special_ids
    return [*tokenizer.prompt_prefix, *tokens[-PROMPT_TOKENS:]] or [min(stop_ids, default=0)]


def written(task: Task, tokenizer: Tokenizer) -> Truth:
    """What was really written, as a target would that writes just this.

    Tokens are those of prefix and middle encoded as one text. One that begins before the cursor and ends behind it is
    for the target to write: what comes before it is the context.
    Raises EngineError where nothing was written.
    """
    prefix = to_lf(task.prefix)
    whole = tokenizer.encode(to_lf(task.prefix + task.middle))
    cut = common_prefix(whole, tokenizer.encode(prefix))
    if cut == len(whole):
        raise EngineError(f"task {task.id} has no 'middle': --replay written needs the text that was really written")
    return Truth(task, tuple(prompt_of(tokenizer, whole[:cut])), tuple(whole[cut:]))
