"""One process a user: owns the models and answers completions."""


def version() -> str:
    """The installed version of draftline."""
    from importlib.metadata import version as installed

    return installed("draftline")
