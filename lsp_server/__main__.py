"""The `draftline` command: `serve` is started here and quickly, everything else belongs to the decoder."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code of `serve`, other commands raise SystemExit with theirs."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["serve"]:
        from lsp_server.serve import serve

        return serve(arguments[1:])
    _run_decoder_command(arguments)
    return 0


def _run_decoder_command(arguments: list[str]) -> None:
    from decoder.__main__ import app

    @app.command("serve", help="Run the language server, which editors start: on standard input and output, or TCP.")
    def serve_for_help(tcp: str = "") -> None:
        """Only listed: `main` has run it before the application is built."""
        raise SystemExit(main(["serve", *(["--tcp", tcp] if tcp else [])]))

    app(args=arguments, prog_name="draftline")


if __name__ == "__main__":
    sys.exit(main())
