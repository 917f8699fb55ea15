"""When a server is left in peace, and when it is asked again."""

import pytest

from decoder.remote.breaker import FAILURES, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, Breaker
from decoder.remote.errors import RemoteError


class Clock:
    """Stands still."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Watched:
    """A breaker, its clock, and what it has told."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.told: list[str] = []
        self.breaker = Breaker(self.told.append, clock=self.clock)

    def fail(self, times: int = 1, error: RemoteError | None = None) -> None:
        for _ in range(times):
            self.breaker.enter()
            self.breaker.failed(error or RemoteError("it is down"))

    def is_open(self) -> bool:
        try:
            if self.breaker.enter():
                self.breaker.abandoned()
        except RemoteError:
            return True
        return False


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_it_opens_after_failures_in_a_row(watched: Watched) -> None:
    watched.fail(FAILURES - 1)
    assert not watched.is_open()
    watched.fail()
    assert watched.is_open()
    assert watched.told == ["it is down"]


def test_failures_with_a_success_between_do_not_open_it(watched: Watched) -> None:
    for _ in range(5):
        watched.fail(FAILURES - 1)
        watched.breaker.succeeded()
    assert not watched.is_open()
    assert watched.told == []


def test_what_is_refused_meanwhile_is_told_why(watched: Watched) -> None:
    watched.fail(FAILURES)
    with pytest.raises(RemoteError, match=r"^it is down$"):
        watched.breaker.enter()


def test_one_probe_passes_after_the_pause_and_closes_it(watched: Watched) -> None:
    watched.fail(FAILURES)
    watched.clock.now += FIRST_PAUSE_SECONDS
    watched.breaker.enter()
    with pytest.raises(RemoteError):
        watched.breaker.enter()
    watched.breaker.succeeded()
    assert not watched.is_open()
    assert watched.told[1:] == [""]
    watched.fail(FAILURES - 1)
    assert not watched.is_open()


def test_a_probe_that_fails_doubles_the_pause_up_to_the_longest(watched: Watched) -> None:
    watched.fail(FAILURES)
    pause = FIRST_PAUSE_SECONDS
    for _ in range(10):
        watched.clock.now += pause - 0.01
        assert watched.is_open()
        watched.clock.now += 0.02
        watched.fail()
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    assert len(watched.told) == 1, "the same trouble is told once"


def test_a_probe_that_nobody_waits_for_is_followed_by_another(watched: Watched) -> None:
    watched.fail(FAILURES)
    watched.clock.now += FIRST_PAUSE_SECONDS
    assert watched.breaker.enter(), "a probe"
    watched.breaker.abandoned()
    assert watched.breaker.enter(), "another"


def test_wrong_settings_open_it_at_once(watched: Watched) -> None:
    watched.fail(1, RemoteError("no such model", "settings"))
    assert watched.is_open()


def test_what_is_certain_opens_it_at_once(watched: Watched) -> None:
    watched.fail(1, RemoteError("nobody listens", is_certain=True))
    assert watched.is_open()


def test_a_wrong_request_does_not_open_it_and_shows_that_the_server_is_up(watched: Watched) -> None:
    watched.fail(FAILURES - 1)
    watched.fail(5, RemoteError("too long", "request"))
    watched.fail(FAILURES - 1)
    assert not watched.is_open()


def test_a_server_that_asks_for_peace_gets_it(watched: Watched) -> None:
    watched.fail(1, RemoteError("too many requests", retry_seconds=30))
    watched.clock.now += 29
    assert watched.is_open()
    watched.clock.now += 1
    assert not watched.is_open()
