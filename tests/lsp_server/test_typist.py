"""Somebody types a suggestion out in an editor that closes brackets and quotes by itself; `▮` is the cursor."""

import re

import pytest

from decoder.wire.messages import Answer, Complete
from lsp_server.ghost import NEARBY, Ghost

CLOSERS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "`": "`"}

TEXTS = [
    'print(f(a, [1, 2]), "x)")',
    "x = {\"a\": [b(1)], 'c': d}",
    'foo("it\'s", bar) + baz(1)',
    "if (a) {\n    return b(c);\n}",
    'f(() => {\n    g(")");\n});',
    'f(() => {\n    g([a], "b");\n    h(`${i}`);\n});',
    's = "a" + "b" + f("c")',
    "`${a(b)} c` + d",
    "a[b[c]] = (d)(e)",
    "m = {'k': (1, 2)}\nprint(m['k'])",
]


class ClosingEditor:
    """Puts closers behind what is opened, lets the person type over them, and indents after Enter between brackets."""

    def __init__(self, before: str, after: str) -> None:
        self.before, self.after = before, after
        self._pending: list[str] = []

    def type(self, character: str) -> None:
        if self._pending and self.after.startswith(character) and self._pending[-1] == character:
            self._pending.pop()
            self.before, self.after = self.before + character, self.after[1:]
        elif character == "\n":
            self._enter()
        else:
            self.before += character
            self._close(character)

    def _enter(self) -> None:
        blanks = re.match(" *", self.before.rpartition("\n")[2])
        assert blanks is not None
        if self.before[-1:] in ("(", "[", "{") and self.after[:1] in (")", "]", "}"):
            self._pending.clear()
            self.before, self.after = f"{self.before}\n{blanks[0]}    ", f"\n{blanks[0]}{self.after}"
        else:
            self.before += f"\n{blanks[0]}"

    def _close(self, opener: str) -> None:
        closer, left = CLOSERS.get(opener), self.before[-2:-1]
        is_apostrophe = closer == opener and (left.isalnum() or left == opener)
        if closer and not is_apostrophe and self.after[:1] in ("", " ", "\n", ")", "]", "}", *self._pending[-1:]):
            self._pending.append(closer)
            self.after = closer + self.after


def typed_out(text: str, before: str, after: str) -> tuple[ClosingEditor, list[tuple[str, str, Answer | None]]]:
    """The editor after the last key; the text before and after the cursor and the rest that is offered at each key."""
    ghost, editor, offers = Ghost(), ClosingEditor(before, after), []
    ghost.remember(Complete(1, "a", "", before, after), Answer(1, text))
    for key in re.sub("\n +", "\n", text.partition("\n}")[0]):
        editor.type(key)
        offers.append((editor.before, editor.after, ghost.rest(Complete(2, "a", "", editor.before, editor.after))))
    return editor, offers


@pytest.mark.parametrize("before", ["", "    ", "a(", "x = 1\n" * NEARBY])
@pytest.mark.parametrize("after", ["", "\nend\n", ")\n", "}\n", " )\n"])
@pytest.mark.parametrize("text", TEXTS)
def test_whatever_is_offered_on_the_way_no_closer_stands_there_twice(text: str, before: str, after: str) -> None:
    _, offers = typed_out(text, before, after)
    for left, right, offer in offers:
        if offer is None:
            continue
        taken = left[: len(left) - offer.replaces] + offer.text + right
        closers = right[: len(right) - len(after)]
        closer = re.escape(closers.strip()[:1])
        ends = [found.start() for found in re.finditer(closer, text)] if closers else [len(text)]
        heads = [text[:end] for end in ends]
        if closers.startswith("\n"):
            heads = [head.rstrip() for head in heads]
        assert taken in [before + head + closers + after for head in heads]


@pytest.mark.parametrize("text", [text for text in TEXTS if "\n" not in text])
def test_who_types_all_of_it_gets_all_of_it_and_is_offered_the_rest_all_along(text: str) -> None:
    editor, offers = typed_out(text, "", "\n")
    assert editor.before + editor.after == text + "\n"
    silent = [f"{left}▮{right}" for left, right, offer in offers if offer is None]
    for marked in silent:
        rest = text[marked.index("▮") :]
        closer = marked.partition("▮")[2][:1]
        assert rest.startswith(closer) or rest == "", "nothing is left before the closer that stands there"
