"""The subcommands of `draftline` that need the decoder's room; `lsp_server.__main__` adds `serve`."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from decoder import version

_WHERE = {
    "decoder": "decoder.decoder_command",
    "stop": "decoder.decoder_command",
    "complete": "decoder.complete_command",
    "bench": "decoder.bench.command",
    "doctor": "decoder.doctor_command",
    "stats": "decoder.stats_command",
    "explain": "decoder.explain_command",
    "models": "decoder.models.command",
}
"""The module of each command: it has a function of that name, or an `app` with commands of its own."""


class Commands(TyperGroup):
    """Imports a command's module when it is asked for: most need no model library, and start at once."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*_WHERE, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in _WHERE:
            return _command(cmd_name)
        return super().get_command(ctx, cmd_name)


def _command(name: str) -> Any:
    """What the group runs, of a class that typer keeps to itself."""
    module = import_module(_WHERE[name])
    if (commands := getattr(module, "app", None)) is None:
        commands = typer.Typer(add_completion=False, rich_markup_mode=None)
        commands.command(name)(getattr(module, name))
    command = typer.main.get_command(commands)
    command.name = name
    return command


app = typer.Typer(
    name="draftline",
    cls=Commands,
    help="Ghost text for every LSP editor: lossless speculative decoding on your own machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"draftline {version()}")
        raise typer.Exit


@app.callback()
def options(
    _version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Options of every command."""


if __name__ == "__main__":
    app()
