"""One process a user: owns the models and answers completions."""

import sys

# `import openvino` brings its converter along, which reports to an analytics service; nothing here converts models.
sys.modules.setdefault("openvino.tools.ovc", None)  # type: ignore[arg-type]


def version() -> str:
    """The installed version of draftline."""
    return installed("draftline")


def installed(name: str) -> str:
    """The version of a distribution, or "missing"."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
