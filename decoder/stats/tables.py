"""What `draftline stats` prints for people."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from decoder.stats.answer_row import AnswerRow
from decoder.stats.learned_row import LearnedRow

NOT_KEPT_YET = (
    "What drafting learns is kept every five minutes, and when the decoder leaves (`draftline stop`): nothing yet."
)
NOTHING_YET = (
    "Nothing learned and nothing logged yet: type with an editor that runs `draftline serve`, and see here then."
    " `draftline doctor` tells whether everything is there for that."
)
_NO_FIGURE = "-"


def learned_tables(rows: Sequence[LearnedRow]) -> Iterator[RenderableType]:
    """One for each target model, and what to know of the figures."""
    for model in dict.fromkeys(row.model for row in rows):
        of_model = [row for row in rows if row.model == model]
        table = _table(f"What drafting has learned with {model}", "file type", "drafts by", numbers=_LEARNED)
        for row in of_model:
            table.add_row(row.language, row.source, f"{row.verifications:,}", _percent(row.first_stands), *_payoff(row))
        yield table
        yield Text(_remark(of_model), style="dim")


def answer_table(rows: Sequence[AnswerRow]) -> Table:
    """What the log says."""
    table = _table("Answers", "file type", numbers=_ANSWERS)
    table.add_column("accepted")
    for row in rows:
        table.add_row(
            row.language or _NO_FIGURE,
            f"{row.answers:,}",
            f"{row.shown:,}",
            _figure(row.median_ms, ",.0f"),
            _figure(row.p95_ms, ",.0f"),
            _figure(row.tokens_per_step, ".2f"),
            _figure(row.speedup, ".2f", "x"),
            ", ".join(f"{source} {_percent(share)}" for source, share in row.acceptance.items()) or _NO_FIGURE,
        )
    return table


_LEARNED = ("verified", "first stands", "gamma", "tokens/step", "speed-up")
_ANSWERS = ("answers", "with text", "median ms", "p95 ms", "tokens/step", "speed-up")


def _table(title: str, *names: str, numbers: Sequence[str]) -> Table:
    table = Table(
        *names, title=Text(title, "table.title"), title_justify="left", box=None, padding=(0, 1), pad_edge=False
    )
    for number in numbers:
        table.add_column(number, justify="right")
    return table


def _payoff(row: LearnedRow) -> tuple[str, str, str]:
    if row.payoff is None:
        return _NO_FIGURE, _NO_FIGURE, _NO_FIGURE
    return f"{row.payoff.gamma:.1f}", f"{row.payoff.tokens_per_step:.2f}", f"{row.payoff.speedup:.2f}x"


def _remark(rows: Sequence[LearnedRow]) -> str:
    """What to know of one model's figures."""
    sentences = []
    if any(row.payoff for row in rows):
        sentences.append(
            "gamma, tokens/step and speed-up over plain decoding are estimated from what passes cost here. They are for"
            " steps that have such a draft, one that is long enough and stays within its statement, not for all steps."
        )
    elif any(row.source != "model" for row in rows):
        sentences.append(
            "No draft lengths, as nobody has measured what passes cost with today's settings: the decoder does when it"
            " starts (`draftline decoder`)."
        )
    if any(row.source == "model" for row in rows):
        sentences.append("What the draft model's own passes cost is not remembered: its draft lengths are not told.")
    return " ".join(sentences)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _figure(value: float | None, form: str, unit: str = "") -> str:
    return _NO_FIGURE if value is None else format(value, form) + unit
