"""`draftline doctor --plan PAIR [--devices LIST]`: what a pair needs, and whether the devices have it."""

from rich.console import Console

from decoder.config import DecoderConfig
from decoder.plan.devices import parse_devices
from decoder.plan.errors import NoRoomError, PlanError
from decoder.plan.found import found_devices
from decoder.plan.pair import Pair
from decoder.plan.plan import Plan, plan
from decoder.plan.report import choices_table, devices_table, models_table
from decoder.plan.sentences import sentences
from decoder.plan.wording import gib, named
from decoder.terminal import fail, plain_errors

_WIDTH = 80


def show_plan(pair: str, devices: str = "") -> None:
    """Prints the plan of `pair` on `devices`, by default those found.

    Ends the command with exit code 1 where the pair does not fit, with 2 where a name is not known.
    """
    if not pair:
        fail("--devices needs --plan PAIR, as in --plan llama3-70b --devices h200:1", code=2)
    with plain_errors():
        context_tokens = DecoderConfig.load().context_tokens
        try:
            _show(Pair.parse(pair), devices or "found", context_tokens)
        except PlanError as error:
            fail(str(error), code=2)
        except NoRoomError as error:
            fail(str(error))


def _show(pair: Pair, device_list: str, asked_tokens: int) -> None:
    devices = parse_devices(device_list, found_devices)
    context_tokens = min(asked_tokens, pair.target.context_length)
    console = Console(width=_WIDTH, highlight=False, emoji=False)
    made: Plan | None = None
    try:
        made = plan(pair, devices, context_tokens)
    finally:  # the figures are wanted all the more where it does not fit
        usable = sum(device.usable_bytes for device in devices)
        console.print(models_table(pair, context_tokens))
        console.print(f"\nOn {named(devices)}, {gib(usable)} to use, for {context_tokens:,} tokens of context:")
        console.print(choices_table(pair, devices, context_tokens, made.choice if made else None))
    console.print()
    console.print(devices_table(made))
    console.print("\nRecommended (>):")
    for sentence in sentences(made):
        console.print(sentence, markup=False)
