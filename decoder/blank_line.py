"""A line on which nothing but blanks stands: a model is asked from its beginning, so that it may indent less."""

from decoder.wire.messages import Complete
from drafting.lines import to_lf

_BLANKS = " \t"


def prompted_prefix(request: Complete) -> str:
    r"""The LF text before the cursor that a model is prompted with.

    It is without the blanks of a line that has nothing else: from behind them the model could not go back to the left.
    What the model writes then begins at the line's first column.

    >>> prompted_prefix(Complete(1, "x", "python", "if a:\r\n    ", "\r\nb()\r\n"))
    'if a:\n'
    >>> prompted_prefix(Complete(1, "x", "python", "f(\n    ", ")\n"))
    'f(\n    '
    """
    text = to_lf(request.prefix)
    bare = text.rstrip(_BLANKS)
    rest = request.suffix.lstrip(_BLANKS)
    if bare.endswith("\n") or not bare:
        return bare if rest[:1] in ("", "\r", "\n") else text
    return text
