"""`draftline serve` as it would be without its ghost: `python -m benchmarks.typing.without_ghost`.

The one name is replaced here, so that the product has no switch for it.
"""

import sys

from decoder.wire.messages import Answer, Complete
from lsp_server import session
from lsp_server.ghost import Ghost
from lsp_server.serve import serve


class NoGhost(Ghost):
    """Never has anything left to show: every key asks the decoder."""

    def rest(self, request: Complete) -> Answer | None:  # noqa: ARG002
        """Nothing."""
        return None


if __name__ == "__main__":
    assert session.Ghost is Ghost, "the session makes its ghost elsewhere now"  # type: ignore[attr-defined]
    session.Ghost = NoGhost  # type: ignore[attr-defined]
    sys.exit(serve([]))
