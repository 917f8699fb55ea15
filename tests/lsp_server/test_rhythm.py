"""How long a request waits for the next key."""

import itertools

import pytest

from lsp_server.rhythm import MAX_WAIT, Rhythm


def typist(interval: float, latency: float | None, *, keys: int = 30) -> tuple[Rhythm, float]:
    """A rhythm after some keys, and the time of the last one."""
    rhythm = Rhythm()
    for number in range(keys):
        rhythm.changed(number * interval, "insertion")
    if latency is not None:
        rhythm.answered(latency)
    return rhythm, (keys - 1) * interval


def test_in_a_burst_half_the_usual_interval_has_to_pass() -> None:
    rhythm, now = typist(0.2, latency=0.5)
    assert rhythm.delay(now, is_urgent=False) == pytest.approx(0.1)
    assert rhythm.delay(now + 0.04, is_urgent=False) == pytest.approx(0.06)


def test_a_client_that_waits_itself_does_not_wait_twice() -> None:
    rhythm, now = typist(0.2, latency=0.5)
    assert rhythm.delay(now + 0.2, is_urgent=False) == 0.0


def test_who_waits_for_an_answer_does_not_wait_longer() -> None:
    rhythm, now = typist(0.2, latency=0.5)
    assert rhythm.delay(now, is_urgent=True) == 0.0
    assert rhythm.delay(now, is_urgent=True, fixed_ms=300.0) == 0.0


def test_answers_that_come_before_the_next_key_are_asked_for_at_once() -> None:
    rhythm, now = typist(0.2, latency=0.15)
    assert rhythm.delay(now, is_urgent=False) == 0.0


def test_a_slow_typist_waits_no_longer_than_the_most() -> None:
    rhythm, now = typist(0.9, latency=2.0)
    assert rhythm.delay(now, is_urgent=False) == MAX_WAIT


def test_what_is_not_known_is_not_waited_for() -> None:
    assert Rhythm().delay(0.0, is_urgent=False) == 0.0
    for rhythm, now in (typist(0.2, latency=None), typist(0.2, latency=1.0, keys=1)):
        assert rhythm.delay(now, is_urgent=False) == 0.0


def test_it_follows_both_the_typist_and_the_decoder() -> None:
    rhythm, now = typist(0.2, latency=0.5)
    for _ in range(30):
        now += 0.1
        rhythm.changed(now, "insertion")
    assert rhythm.delay(now, is_urgent=False) == pytest.approx(0.05, rel=0.05)
    for _ in range(30):
        rhythm.answered(0.05)
    assert rhythm.delay(now, is_urgent=False) == 0.0


def test_pauses_and_pasted_text_are_no_rhythm() -> None:
    rhythm, now = typist(0.2, latency=0.5)
    for pause, key in itertools.chain([(30.0, "insertion"), (0.01, None), (0.01, "deletion")] * 5):
        now += pause
        rhythm.changed(now, key)  # type: ignore[arg-type]
    assert rhythm.delay(now, is_urgent=False) == pytest.approx(0.1)


def test_a_fixed_wait_is_one_and_zero_is_none() -> None:
    rhythm, now = typist(0.2, latency=0.01)
    assert rhythm.delay(now, is_urgent=False, fixed_ms=300.0) == pytest.approx(0.3)
    assert rhythm.delay(now + 0.4, is_urgent=False, fixed_ms=300.0) == 0.0
    rhythm, now = typist(0.2, latency=0.5)
    assert rhythm.delay(now, is_urgent=False, fixed_ms=0.0) == 0.0
