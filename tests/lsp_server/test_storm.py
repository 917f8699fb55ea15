"""Whatever an editor sends in whatever order: one reply to each request, and a status that never repeats itself."""

import asyncio
import itertools
import random

import pytest

from decoder.wire.messages import Answer
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import A, Editor

TEXTS = ["x = \n", "x = a", "y\n\n\nx = ab", "x = abc(", "x = abc()", "def f():\n        ", ""]
SETTINGS = [{}, {"enabled": False}, {"exclude": ["a.py"]}, {"languages": ["rust"]}, {"debounceMs": 0}]


class Storm:
    """Messages at random; `asked` are the ids of the requests among them."""

    def __init__(self, editor: Editor, seed: int) -> None:
        self.asked: list[int] = []
        self._editor = editor
        self._random = random.Random(seed)
        self._ids, self._versions = itertools.count(1), itertools.count(2)
        self._text = TEXTS[0]
        editor.open(self._text)

    def say_something(self) -> None:
        actions = [self._ask, self._change, self._cancel, self._configure, self._reopen]
        self._random.choices(actions, weights=[8, 5, 2, 1, 1])[0]()

    def _ask(self) -> None:
        lines = self._text.split("\n")
        line = self._random.randrange(len(lines))
        self.asked.append(next(self._ids))
        self._editor.ask(self.asked[-1], line, len(lines[line]), trigger=self._random.choice([1, 2]))

    def _change(self) -> None:
        self._text = self._random.choice(TEXTS)
        identifier = {"uri": A, "version": next(self._versions)}
        changes = {"textDocument": identifier, "contentChanges": [{"text": self._text}]}
        self._editor.say(method="textDocument/didChange", params=changes)

    def _cancel(self) -> None:
        for id in self.asked[-2:]:
            self._editor.say(method="$/cancelRequest", params={"id": id})

    def _configure(self) -> None:
        self._editor.settings({"draftline": self._random.choice(SETTINGS)})

    def _reopen(self) -> None:
        self._editor.rename(A, A, self._text)


@pytest.mark.parametrize("seed", range(4))
async def test_every_request_gets_one_reply(editor: Editor, decoder: ScriptedDecoder, seed: int) -> None:
    decoder.reply = lambda request: Answer(request.id, "abc(d)\n    e") if request.id % 5 else None
    await editor.begin(options={"debounceMs": 3})
    await editor.until_ready()
    storm = Storm(editor, seed)
    for number in range(300):
        storm.say_something()
        if number % 3 == seed % 3:
            await asyncio.sleep(0.001 * (number % 4))
    editor.say(id="end", method="shutdown")
    await editor._until(lambda: all(editor.answers(id) for id in storm.asked))
    await editor.answer("end")
    for id in storm.asked:
        (reply,) = editor.answers(id)
        assert "result" in reply or reply["error"]["code"] == -32800
    states = [told["state"] for told in editor.notifications("draftline/status")]
    assert all(one != next_one for one, next_one in itertools.pairwise(states))
