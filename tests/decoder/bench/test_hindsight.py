"""Whether drafts ever slowed the target down, and what another draft length would have done: by hand."""

from collections.abc import Sequence

import pytest

from decoder.bench.hindsight import WINDOW_STEPS, gamma_regrets, never_slower, speed_over_plain
from decoder.bench.replay import Survey, replay
from decoder.cost import PassCost
from drafting.interface import Draft
from tests.decoder.bench.texts import replayed, truth
from tests.fakes import FixedDrafter

COST = PassCost((1, 2, 3), (10.0, 15.0, 20.0))
"""5 ms a draft token."""

WASTED, PAID, PLAIN = (1, 0), (1, 1), (0, 0)
"""Steps as (drafted, accepted): 15 ms for one token, 15 ms for two, 10 ms for one."""


def test_the_speed_over_plain_is_one_pass_a_token_over_the_passes_taken() -> None:
    assert speed_over_plain([replayed([WASTED, PAID]), replayed([PLAIN])], COST) == 40.0 / 40.0
    assert speed_over_plain([replayed([WASTED])], COST) == pytest.approx(10 / 15)


def test_languages_with_few_tasks_are_not_judged() -> None:
    texts = [replayed([PAID], language="go") for _ in range(8)] + [replayed([WASTED], language="c")] * 7
    found = never_slower(texts, COST)
    assert found.language == "go"
    assert found.language_ratio == pytest.approx(20 / 15)
    assert never_slower(texts[8:], COST).language == ""
    slower = never_slower([*texts, replayed([WASTED], language="c")], COST)
    assert slower.language == "c"
    assert slower.language_ratio == pytest.approx(10 / 15)


def test_the_slowest_window_may_lie_across_texts() -> None:
    half = WINDOW_STEPS // 2
    texts = [replayed([PAID] * 400 + [WASTED] * half), replayed([WASTED] * half + [PAID] * 400)]
    assert never_slower(texts, COST).window_ratio == pytest.approx(10 / 15)
    few = never_slower([replayed([PAID] * 300 + [WASTED] * 100)], COST)
    assert few.window_steps == 400
    assert few.window_ratio == pytest.approx(7000 / 6000)


class Wordy(FixedDrafter):
    """Two draft tokens at most, the first of which stands."""

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        right = super().draft(context, min(gamma, 1)).tokens
        return Draft((*right, 99)[: min(gamma, 2)], "wordy")


def test_the_best_fixed_gamma_is_found_in_hindsight() -> None:
    # 300 tokens, first draft token always right, second always wrong: gamma 1 writes 2 tokens in 15 ms, gamma 2 in 20
    text = truth(range(1, 302))
    drafter = Wordy([0, *range(1, 302)])
    chosen = replay(text, drafter, 2)
    survey = Survey(text, drafted=(2,) * 299 + (1, 0), stood=(1,) * 300 + (0,))
    [(language, regret)] = gamma_regrets([chosen], [survey], COST, learning_steps=50).items()
    assert (language, regret.best_gamma) == ("go", 1)
    # judged: 201 tokens behind the first 100; 100 steps of two tokens and one of one
    assert regret.best_tokens_per_ms == pytest.approx(201 / (100 * 15 + 10))
    assert regret.tokens_per_ms == pytest.approx(201 / (99 * 20 + 20 + 10))
    assert regret.share == pytest.approx(1 - (100 * 15 + 10) / (100 * 20 + 10))


def test_a_language_with_few_steps_has_no_regret() -> None:
    text = truth(range(1, 302))
    found = gamma_regrets([replay(text, FixedDrafter([]), 0)], [Survey(text, (0,) * 301, (0,) * 301)], COST)
    assert found["go"].share == 0.0
    assert gamma_regrets([replayed([PLAIN] * 299)], [Survey(text, (0,) * 301, (0,) * 301)], COST) == {}
