"""What was really written, as the tokens that a target would write."""

import pytest
import tokenizers

from decoder.bench.tasks import Task
from decoder.bench.truth import PROMPT_TOKENS, written
from decoder.engine import EngineError
from decoder.tokenizer import Tokenizer
from tests.fakes import byte_tokenizer


def task(prefix: str, middle: str) -> Task:
    return Task("t", "python", "a.py", prefix, middle, "", ())


def pair_tokenizer() -> Tokenizer:
    """Token = byte, but `ab` (id 256) is one token."""
    letters = {char: number for number, char in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}
    spec = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "model": {"type": "BPE", "vocab": letters | {"ab": 256}, "merges": [["a", "b"]]},
    }
    return Tokenizer(spec)


def test_the_middle_follows_the_prefix() -> None:
    truth = written(task("x =", " 1\n"), byte_tokenizer())
    assert (bytes(truth.context), bytes(truth.tokens)) == (b"x =", b" 1\n")


def test_a_token_across_the_cursor_is_for_the_target_to_write() -> None:
    tokenizer = pair_tokenizer()
    truth = written(task("ca", "bc"), tokenizer)
    assert list(truth.context) == tokenizer.encode("c")
    assert list(truth.tokens) == [256, *tokenizer.encode("c")]


def test_a_prompt_is_the_end_of_a_long_prefix() -> None:
    truth = written(task("y" * 1000 + "x", "z"), byte_tokenizer())
    assert bytes(truth.context) == b"y" * (PROMPT_TOKENS - 1) + b"x"


def test_line_ends_are_those_that_models_are_prompted_with() -> None:
    truth = written(task("a\r\n", "b\r\nc"), byte_tokenizer())
    assert (bytes(truth.context), bytes(truth.tokens)) == (b"a\n", b"b\nc")


def test_an_empty_prefix_still_gives_a_context() -> None:
    truth = written(task("", "b"), byte_tokenizer())
    assert (truth.context, bytes(truth.tokens)) == ((256,), b"b")


def test_a_task_that_does_not_say_what_was_written_is_named() -> None:
    with pytest.raises(EngineError, match="task t has no 'middle'"):
        written(task("x", ""), byte_tokenizer())
