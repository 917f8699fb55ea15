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


def test_who_types_fast_before_a_slow_decoder_waits_a_tenth_of_the_answers_time() -> None:
    rhythm, now = typist(0.12, latency=1.5)
    assert rhythm.delay(now, is_urgent=False) == pytest.approx(0.15)
    assert rhythm.delay(now + 0.04, is_urgent=False) == pytest.approx(0.11)


@pytest.mark.parametrize(("interval", "latency"), [(0.12, 0.06), (0.12, 0.3), (0.12, 1.1), (0.2, 1.5), (0.9, 20.0)])
def test_a_wait_that_would_be_noticed_or_spare_little_is_none(interval: float, latency: float) -> None:
    # half an interval used to be waited: 60 ms later at every pause, to spare one request in ten
    rhythm, now = typist(interval, latency)
    assert rhythm.delay(now, is_urgent=False) == 0.0


def test_a_client_that_waits_itself_does_not_wait_twice() -> None:
    rhythm, now = typist(0.12, latency=5.0)
    assert rhythm.delay(now + 0.2, is_urgent=False) == 0.0


def test_who_waits_for_an_answer_does_not_wait_longer() -> None:
    rhythm, now = typist(0.12, latency=1.5)
    assert rhythm.delay(now, is_urgent=True) == 0.0
    assert rhythm.delay(now, is_urgent=True, fixed_ms=300.0) == 0.0


def test_nobody_waits_longer_than_the_most() -> None:
    rhythm, now = typist(0.1, latency=30.0)
    assert rhythm.delay(now, is_urgent=False) == MAX_WAIT


def test_what_is_not_known_is_not_waited_for() -> None:
    assert Rhythm().delay(0.0, is_urgent=False) == 0.0
    for rhythm, now in (typist(0.12, latency=None), typist(0.12, latency=1.5, keys=1)):
        assert rhythm.delay(now, is_urgent=False) == 0.0


def test_it_follows_both_the_typist_and_the_decoder() -> None:
    rhythm, now = typist(0.3, latency=1.5)
    assert rhythm.delay(now, is_urgent=False) == 0.0
    for _ in range(30):
        now += 0.1
        rhythm.changed(now, "insertion")
    assert rhythm.delay(now, is_urgent=False) == pytest.approx(0.15)
    for _ in range(30):
        rhythm.answered(0.05)
    assert rhythm.delay(now, is_urgent=False) == 0.0


def test_pauses_and_pasted_text_are_no_rhythm() -> None:
    rhythm, now = typist(0.12, latency=1.5)
    for pause, key in itertools.chain([(30.0, "insertion"), (0.01, None), (0.01, "deletion")] * 5):
        now += pause
        rhythm.changed(now, key)  # type: ignore[arg-type]
    assert rhythm.delay(now, is_urgent=False) == pytest.approx(0.15)


def test_a_fixed_wait_is_one_and_zero_is_none() -> None:
    rhythm, now = typist(0.2, latency=0.01)
    assert rhythm.delay(now, is_urgent=False, fixed_ms=300.0) == pytest.approx(0.3)
    assert rhythm.delay(now + 0.4, is_urgent=False, fixed_ms=300.0) == 0.0
    rhythm, now = typist(0.12, latency=1.5)
    assert rhythm.delay(now, is_urgent=False, fixed_ms=0.0) == 0.0
