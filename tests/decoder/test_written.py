"""What was written answers who types along it, and nobody else."""

import pytest

from decoder.wire.messages import Complete
from decoder.written import Written

TEXT = "return a + b\n\n\ndef g():\n"


def request(prefix: str, suffix: str = "") -> Complete:
    return Complete(1, "x.py", "python", prefix, suffix)


def written(prefix: str = "def f(a, b):\n    ret", suffix: str = "", *, reads_suffix: bool = False) -> Written:
    made = Written.after(request(prefix, suffix), reads_suffix=reads_suffix)
    made.text = TEXT[3:]
    return made


@pytest.mark.parametrize("num_typed", [0, 1, 4, len(TEXT) - 3])
def test_typing_along_leaves_the_rest(num_typed: int) -> None:
    rest = written().rest(request("def f(a, b):\n    ret" + TEXT[3 : 3 + num_typed]))
    assert rest == TEXT[3 + num_typed :]


@pytest.mark.parametrize(
    "prefix",
    ["def f(a, b):\n    rex", "def f(a, b):\n    re", "def f(a, c):\n    ret", "", "def f(a, b):\n    return a + b()"],
    ids=["another letter", "deleted", "changed before", "empty", "beyond and other"],
)
def test_who_goes_another_way_gets_nothing(prefix: str) -> None:
    assert written().rest(request(prefix)) is None


def test_blanks_of_an_empty_line_belong_to_what_comes() -> None:
    made = Written.after(request("if x:\n        "))
    made.text = "    return\n"
    assert made.rest(request("if x:\n    ")) == "    return\n"
    assert made.rest(request("if x:\n    re")) == "turn\n"
    assert made.rest(request("if x:\n  re")) is None


def test_a_window_that_has_moved_on_is_recognised() -> None:
    before = "".join(f"x{number} = {number}\n" for number in range(200))
    made = written(before + "ret")
    assert made.rest(request(before[400:] + "retu")) == TEXT[4:]
    assert made.rest(request(before[400:] + "rex")) is None
    assert made.rest(request(before[-100:] + "retu")) is None, "too short to be known by"


def test_line_ends_make_no_difference() -> None:
    made = written("a\r\nret", "\r\nb")
    assert made.rest(request("a\r\nreturn a + b\r\n", "\r\nb")) == TEXT[len("return a + b\n") :]


@pytest.mark.parametrize(
    ("suffix", "same"),
    [(")\nb", True), ("\nb", True), ("\nb\nc", False), ("\nc", False), ("))\nb", False), ("x\nb", False), ("", False)],
)
def test_a_model_that_has_read_the_suffix_is_asked_again_with_another(suffix: str, same: bool) -> None:
    made = written(suffix="\nb", reads_suffix=True)
    assert (made.rest(request("def f(a, b):\n    retu", suffix)) is not None) == same
    assert written(suffix="\nb").rest(request("def f(a, b):\n    retu", suffix)) is not None


def test_nothing_after_the_cursor_stays_nothing() -> None:
    made = written(suffix="", reads_suffix=True)
    assert made.rest(request("def f(a, b):\n    retu", "")) == TEXT[4:]
    assert made.rest(request("def f(a, b):\n    retu", ")")) == TEXT[4:]
    assert made.rest(request("def f(a, b):\n    retu", "\nx = 1\n")) is None


def test_where_a_long_suffix_is_cut_makes_no_difference() -> None:
    lines = "".join(f"\nx{number} = {number}" for number in range(700))
    made = written(suffix=lines[:8000], reads_suffix=True)
    assert made.rest(request("def f(a, b):\n    retu", ")" + lines[:7900])) == TEXT[4:]
    assert made.rest(request("def f(a, b):\n    retu", lines[:100] + "y" + lines[100:7900])) is None
