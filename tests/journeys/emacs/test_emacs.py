"""editors/emacs with lsp-mode, the real server, and a decoder that writes what the test says."""

import pytest

from decoder.wire.messages import Answer, Feedback
from tests.fakes import ScriptedDecoder
from tests.journeys.emacs.desk import Desk, Step
from tests.journeys.neovim.author import author

pytestmark = pytest.mark.editor

TAB: Step = {"call": "draftline-accept-or-indent"}
WORD: Step = {"call": "draftline-accept-word"}
LINE: Step = {"call": "draftline-accept-line"}
ASK: Step = {"ask": True}


async def test_ghost_text_is_shown_and_taken_and_the_decoder_learns_of_it(desk: Desk, decoder: ScriptedDecoder) -> None:
    decoder.reply = author("x = left + right\n")

    shown = await desk.play(
        "x\n",
        {"goto": "x"},
        {"type": " ="},
        ASK,
        {"snapshot": "shown"},
        TAB,
        {"snapshot": "taken"},
        {"call": "undo"},
        {"snapshot": "undone"},
    )

    assert shown["shown"].ghost == " left + right"
    assert shown["shown"].drawn.endswith(" left + right")
    assert shown["taken"].before == "x = left + right"
    assert shown["undone"].text == "x =\n"
    assert len(decoder.of(Feedback)) == 1


@pytest.mark.parametrize(
    ("begun", "goto", "whole", "words", "lines"),
    [
        pytest.param(
            "if left\n",
            "left",
            "if left:\n    return 1\nx = 2\n",
            [":", "\n    return", " 1", "\nx", " =", " 2"],
            [":", "\n    return 1", "\nx = 2"],
            id="three lines",
        ),
        pytest.param("print()\n", "(", "print(left, 1)\n", ["left", ",", " 1"], ["left, 1"], id="in the middle"),
        pytest.param(
            'a = ["🎉\n',
            "🎉",
            'a = ["🎉日本語の", "カナ"]\n',
            ["日", "本", "語", "の", '"', ",", ' "', "カ", "ナ", '"', "]"],
            ['日本語の", "カナ"]'],
            id="behind an emoji, in japanese",
        ),
    ],
)
async def test_each_step_ends_at_point_and_the_rest_stays(
    desk: Desk, decoder: ScriptedDecoder, begun: str, goto: str, whole: str, words: list[str], lines: list[str]
) -> None:
    decoder.reply = author(whole)

    for key, pieces in ((WORD, words), (LINE, lines)):
        steps: list[Step] = [step for n in range(1, len(pieces) + 1) for step in (key, {"snapshot": str(n)})]
        shown = await desk.play(begun, {"goto": goto}, ASK, {"snapshot": "0"}, *steps)

        for n in range(1, len(pieces) + 1):
            assert shown[str(n)].before == shown["0"].before + "".join(pieces[:n])
            assert shown[str(n)].ghost == "".join(pieces[n:])
        assert shown[str(len(pieces))].text == whole


async def test_typing_along_and_away(desk: Desk, decoder: ScriptedDecoder) -> None:
    decoder.reply = author("x = left\n")

    shown = await desk.play(
        "x =\n",
        {"goto": "="},
        ASK,
        {"type": " l"},
        ASK,
        {"snapshot": "along"},
        {"type": "x"},
        {"snapshot": "away"},
    )

    assert shown["along"].ghost == "eft"
    assert (shown["away"].text, shown["away"].drawn) == ("x = lx\n", "")


async def test_tab_indents_a_blank_line_before_it_takes_ghost_text_that_is_further_in(
    desk: Desk, decoder: ScriptedDecoder
) -> None:
    """P33 (i), and its opposite: at the same indentation Tab takes."""
    decoder.reply = author("def f():\n    return 1\n")

    shown = await desk.play(
        "def f():\n\n", {"goto": "\n"}, ASK, TAB, {"snapshot": "indented"}, ASK, TAB, {"snapshot": "taken"}
    )

    assert shown["indented"].before == "def f():\n    "
    assert shown["taken"].text == "def f():\n    return 1\n"


async def test_crlf_gets_no_stray_carriage_returns(desk: Desk, decoder: ScriptedDecoder) -> None:
    whole = "if left:\n    return right\n"
    decoder.reply = author(whole)

    shown = await desk.play("if left\r\n", {"goto": "left"}, ASK, TAB, {"snapshot": "taken"}, {"call": "save-buffer"})

    assert shown["taken"].text == whole
    assert (desk.folder / "a.py").read_bytes() == whole.replace("\n", "\r\n").encode()


async def test_text_that_is_less_indented_replaces_the_blanks(desk: Desk, decoder: ScriptedDecoder) -> None:
    """P14."""
    decoder.reply = lambda request: Answer(request.id, "    return c", replaces=8, finish="stop")

    shown = await desk.play(
        "def f(a):\n    for c in a:\n        print(c)\n        \n",
        {"goto": "print(c)\n        "},
        ASK,
        {"snapshot": "shown"},
        TAB,
        {"snapshot": "taken"},
    )

    assert shown["shown"].ghost == "    return c"
    assert shown["taken"].before.endswith("print(c)\n    return c")
