"""editors/neovim as a person has it: real keys, the real server, and a decoder that writes what the test says."""

import re

import pytest

from decoder.wire.messages import Answer, Feedback
from tests.fakes import ScriptedDecoder
from tests.journeys.neovim.author import author
from tests.journeys.neovim.desk import Desk, Step
from tests.journeys.neovim.play import play

pytestmark = pytest.mark.editor

WORD, LINE = "<C-Right>", "<C-Down>"

THREE_LINES = "def g(a):\n    if a:\n        return 1\n    return 2\n"
IN_THE_MIDDLE = "print(left, right)\n"
CHINESE = 'words = ["日本語の文章", "カナ"]\n'


@pytest.fixture
def plugin_desk(desk: Desk) -> Desk:
    desk.use_plugin()
    return desk


def stepwise(begin: str, key: str, number: int) -> list[Step]:
    """Begins in the file as it is on disk, presses a key so many times, and takes the last one back."""
    pressed: list[Step] = [step for n in range(1, number + 1) for step in ({"keys": key}, {"snapshot": f"{key} {n}"})]
    return [
        {"keys": f"<Esc>:e!<CR>gg{begin}"},
        {"await": "ghost"},
        {"snapshot": f"{key} 0"},
        *pressed,
        {"await": "quiet"},
        {"snapshot": f"{key} whole"},
        {"keys": "<Esc>u"},
        {"snapshot": f"{key} undone"},
    ]


@pytest.mark.parametrize(
    ("begun", "begin", "whole", "words", "lines"),
    [
        pytest.param(
            "def g(a):\n    if\n",
            "jA",
            THREE_LINES,
            [" a", ":", "\n        return", " 1", "\n    return", " 2"],
            [" a:", "\n        return 1", "\n    return 2"],
            id="three lines",
        ),
        pytest.param("print()\n", "$i", IN_THE_MIDDLE, ["left", ",", " right"], ["left, right"], id="in the middle"),
        pytest.param(
            'words = ["\n',
            "A",
            CHINESE,
            ["日", "本", "語", "の", "文", "章", '",', ' "', "カ", "ナ", '"]'],
            ['日本語の文章", "カナ"]'],
            id="chinese and japanese",
        ),
    ],
)
async def test_each_step_ends_at_the_cursor_and_is_one_undo(
    plugin_desk: Desk, decoder: ScriptedDecoder, begun: str, begin: str, whole: str, words: list[str], lines: list[str]
) -> None:
    """P32."""
    decoder.reply = author(whole)
    keys = {"<Tab>": ["".join(words)], WORD: words, LINE: lines}

    steps = [step for key, pieces in keys.items() for step in stepwise(begin, key, len(pieces))]
    shown = (await play(plugin_desk, begun, *steps)).snapshots

    for key, pieces in keys.items():
        start, whole_text, undone = shown[f"{key} 0"], shown[f"{key} whole"], shown[f"{key} undone"]
        for n in range(1, len(pieces) + 1):
            taken = shown[f"{key} {n}"]
            assert taken.before_cursor == start.before_cursor + "".join(pieces[:n])
            assert taken.after_cursor == start.after_cursor
            assert (taken.ghost.text if taken.ghost else "") == "".join(pieces[n:])
        assert whole_text.text + "\n" == whole
        assert whole_text.ghost is None, "it offers again what was just taken"
        assert undone.text == shown[f"{key} {len(pieces) - 1}"].text
    assert len(decoder.of(Feedback)) == len(keys)


async def test_tab_indents_a_blank_line_before_it_takes_ghost_text_that_is_further_in(
    plugin_desk: Desk, decoder: ScriptedDecoder
) -> None:
    """P33 (i), and its opposite: at the same indentation Tab takes."""
    decoder.reply = author("def f():\n    return 1\n")

    report = await play(
        plugin_desk,
        "def f():\n\n",
        {"keys": "jA"},
        {"await": "ghost"},
        {"keys": "<Tab>"},
        {"snapshot": "indented"},
        {"await": "ghost"},
        {"keys": "<Tab>"},
        {"snapshot": "taken"},
    )

    indented = report.snapshots["indented"]
    assert indented.text == "def f():\n    "
    assert indented.ghost is None or indented.ghost.text == "return 1"
    assert report.snapshots["taken"].text == "def f():\n    return 1"


async def test_tab_goes_on_in_a_completion_of_which_no_menu_is_drawn(
    plugin_desk: Desk, decoder: ScriptedDecoder
) -> None:
    """P33 (ii)."""
    plugin_desk.use_plugin("vim.o.completeopt = ''")
    decoder.reply = lambda request: Answer(request.id, " + 1", finish="stop")

    report = await play(
        plugin_desk,
        "value_two = 2\nvalue_one = 1\n",
        {"keys": "Goval<C-p>"},
        {"snapshot": "first"},
        {"await": "ghost"},
        {"keys": "<Tab>"},
        {"snapshot": "next"},
        {"await": "ghost"},
        {"keys": " "},
        {"keys": "<BS>x "},
        {"await": "ghost"},
        {"keys": "<Tab>"},
        {"snapshot": "taken"},
    )

    first, following = report.snapshots["first"].lines[-1], report.snapshots["next"].lines[-1]
    assert {first, following} <= {"value_one", "value_two", "val"}
    assert first != following
    assert report.snapshots["taken"].lines[-1] == following + "x  + 1"


async def test_tab_jumps_to_the_next_placeholder_of_a_snippet(plugin_desk: Desk, decoder: ScriptedDecoder) -> None:
    """P33 (iii), and its opposite: at the last placeholder Tab takes."""
    expand = "vim.keymap.set('i', '<F2>', function() vim.snippet.expand('range(${1:start}, ${2:stop})') end)"
    plugin_desk.use_plugin(expand)
    decoder.reply = lambda request: Answer(request.id, " + 1", finish="stop")

    report = await play(
        plugin_desk,
        "\n",
        {"keys": "A<F2>"},
        {"keys": "0"},
        {"await": "ghost"},
        {"keys": "<Tab>"},
        {"snapshot": "jumped"},
        {"keys": "9"},
        {"await": "ghost"},
        {"keys": "<Tab>"},
        {"snapshot": "taken"},
    )

    jumped, taken = report.snapshots["jumped"], report.snapshots["taken"]
    assert (jumped.text, jumped.mode) == ("range(0, stop)", "s")
    assert taken.text in ("range(0, 9 + 1)", "range(0, 9)")


@pytest.mark.parametrize("mapping", ["inoremap <Tab> <C-r>='mapped'<CR>", "inoremap <expr> <Tab> 'map' .. 'ped'"])
async def test_a_mapping_that_was_there_before_works_where_there_is_no_ghost_text(
    plugin_desk: Desk, decoder: ScriptedDecoder, mapping: str
) -> None:
    plugin_desk.use_plugin(f"vim.cmd([[{mapping}]])")
    decoder.reply = author("x = 1 + 2\n")

    report = await play(
        plugin_desk,
        "\n",
        {"keys": "A<Tab>"},
        {"snapshot": "mapped"},
        {"keys": "<C-u>x ="},
        {"await": "ghost"},
        {"keys": "<Tab>"},
        {"snapshot": "taken"},
    )

    assert report.snapshots["mapped"].text == "mapped"
    assert report.snapshots["taken"].text == "x = 1 + 2"


async def test_typing_along_keeps_ghost_text_and_typing_away_drops_it_at_once(
    plugin_desk: Desk, decoder: ScriptedDecoder
) -> None:
    """Neovim by itself shows ghost text that no longer fits until the next answer, and swallows a Tab there."""
    decoder.reply = author("x = left + right\n")

    report = await play(
        plugin_desk,
        "x =\n",
        {"keys": "A"},
        {"await": "ghost"},
        {"keys": " le"},
        {"snapshot": "along"},
        {"keys": "x"},
        {"snapshot": "away"},
        {"keys": "<Tab>"},
        {"snapshot": "tab"},
        {"await": "quiet"},
        {"snapshot": "later"},
        {"keys": "<BS><BS>f"},
        {"await": "ghost"},
        {"keys": "t"},
        {"keys": "<Tab>"},
        {"snapshot": "taken"},
    )

    along = report.snapshots["along"]
    assert along.text_with_ghost == "x = left + right"
    assert report.snapshots["away"].ghost is None
    assert re.fullmatch(r"x = lex\s+", report.snapshots["tab"].text)
    assert report.snapshots["later"].ghost is None
    assert report.snapshots["taken"].text == "x = left + right"


async def test_what_is_typed_after_a_step_is_another_undo(plugin_desk: Desk, decoder: ScriptedDecoder) -> None:
    decoder.reply = author("x = left + right\n")

    report = await play(
        plugin_desk,
        "x\n",
        {"keys": "A ="},
        {"await": "ghost"},
        {"keys": f"{WORD}.value<Esc>"},
        {"snapshot": "typed"},
        {"keys": "u"},
        {"snapshot": "one"},
        {"keys": "u"},
        {"snapshot": "two"},
        {"keys": "u"},
        {"snapshot": "three"},
    )

    texts = [report.snapshots[name].text for name in ("typed", "one", "two", "three")]
    assert texts == ["x = left.value", "x = left", "x =", "x"]


async def test_crlf_and_what_is_not_ascii_before_the_cursor(plugin_desk: Desk, decoder: ScriptedDecoder) -> None:
    whole = 'print("🎉 你好 👩‍🚀")\nif words:\n    print("日本語")\n'
    decoder.reply = author(whole)

    report = await play(
        plugin_desk,
        'print("🎉 你好 \r\n',
        {"keys": "A"},
        {"await": "ghost"},
        {"keys": WORD},
        {"snapshot": "word"},
        {"keys": LINE},
        {"snapshot": "line"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "all"},
        {"keys": "<Esc>:w<CR>"},
    )

    assert report.snapshots["word"].text == 'print("🎉 你好 👩‍🚀'
    assert report.snapshots["line"].text == 'print("🎉 你好 👩‍🚀")'
    assert report.snapshots["all"].text + "\n" == whole
    assert (plugin_desk.folder / "a.py").read_bytes() == whole.replace("\n", "\r\n").encode()


async def test_text_that_is_less_indented_is_drawn_where_it_will_stand(
    plugin_desk: Desk, decoder: ScriptedDecoder
) -> None:
    """P14."""
    decoder.reply = lambda request: Answer(request.id, "    return c", replaces=8, finish="stop")

    report = await play(
        plugin_desk,
        "def f(a):\n    for c in a:\n        print(c)\n",
        {"keys": "Go"},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "taken"},
        {"keys": "<Esc>u"},
        {"snapshot": "undone"},
    )

    shown, taken = report.snapshots["shown"], report.snapshots["taken"]
    assert shown.lines[-1] == " " * 8
    assert shown.ghost is not None
    assert (shown.ghost.column, shown.ghost.text) == (4, "return c")
    assert (taken.lines[-1], taken.column) == ("    return c", len("    return c"))
    assert report.snapshots["undone"].lines[-1] == " " * 8


async def test_text_that_begins_on_the_next_line_is_drawn_there(plugin_desk: Desk, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda request: Answer(request.id, "\n    return c", finish="stop")

    report = await play(
        plugin_desk,
        "def f(a):\n    for c in a:\n        print(c)\n",
        {"keys": "Go"},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "taken"},
    )

    assert report.snapshots["taken"].text == report.snapshots["shown"].text_with_ghost
    assert report.snapshots["taken"].lines[-2:] == [" " * 8, "    return c"]


async def test_checkhealth_says_how_it_is_and_why_nothing_was_shown(
    plugin_desk: Desk, decoder: ScriptedDecoder
) -> None:
    plugin_desk.use_plugin(
        "vim.api.nvim_create_autocmd('User', { pattern = 'DraftlineStatus', command = 'let g:d = 1' })"
    )
    decoder.reply = author("x = 1\n")

    report = await play(
        plugin_desk,
        "y =\n",
        {"keys": "A"},
        {"await": "quiet"},
        {"keys": " <C-r>=g:d<CR>"},
        {"snapshot": "told"},
        {"keys": "<Esc>:checkhealth draftline<CR>"},
        {"pause_ms": 1000},
        {"snapshot": "health"},
    )

    assert report.snapshots["told"].text == "y = 1"
    health = report.snapshots["health"].text
    assert "OK scripted is ready" in health
    assert "OK <Tab> takes ghost text" in health
    assert "ERROR" not in health
    assert "a.py, " in health
