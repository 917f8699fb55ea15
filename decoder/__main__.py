"""The subcommands of `draftline` that need the decoder's room; `lsp_server.__main__` adds `serve`."""

import typer

from decoder import version
from decoder.bench.command import bench
from decoder.complete_command import complete
from decoder.decoder_command import decoder, stop
from decoder.doctor_command import doctor
from decoder.models.command import app as models
from decoder.stats_command import stats

app = typer.Typer(
    name="draftline",
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


for command in (decoder, stop, complete, bench, doctor, stats):
    app.command()(command)
app.add_typer(models, name="models", help="The models draftline knows, and those on this machine.")

if __name__ == "__main__":
    app()
