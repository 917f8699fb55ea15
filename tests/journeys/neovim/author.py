"""A decoder's answers, from the text that somebody is about to write."""

from collections.abc import Callable

from decoder.wire.messages import Answer, Complete
from drafting.lines import to_lf


def author(text: str) -> Callable[[Complete], Answer]:
    """Answers what is missing of `text` (with LF) between prefix and suffix; nothing where they are of another one."""

    def answer(request: Complete) -> Answer:
        prefix, suffix = to_lf(request.prefix), to_lf(request.suffix)
        end = len(text) - len(suffix)
        fits = text.startswith(prefix) and text.endswith(suffix) and end > len(prefix)
        missing = text[len(prefix) : end] if fits else ""
        return Answer(request.id, missing, finish="stop", reason="" if missing else "model_wrote_nothing")

    return answer
