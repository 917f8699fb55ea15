import math
import threading
import time
from collections import deque

import pytest

from decoder.governor import FULL, LIMITED, Governor, Ticket


def serve(governor: Governor, begin: float, seconds: float, *, every: float, count: int) -> float:
    """So many requests one after another, none of which waits; returns when the last one ended."""
    for number in range(count):
        now = begin + number * every
        ticket = governor.arrive(now)
        governor.start(ticket, now)
        governor.depart(ticket, now + seconds)
    return now + seconds


def overload(governor: Governor, seconds: int) -> deque[Ticket]:
    """Three requests a second, of which one is served; returns those that wait."""
    queue: deque[Ticket] = deque()
    for second in range(seconds):
        queue.extend(governor.arrive(float(second)) for _ in range(3))
        ticket = queue.popleft()
        governor.start(ticket, float(second))
        governor.depart(ticket, second + 1.0)
    return queue


def test_without_load_all_is_permitted() -> None:
    governor = Governor()
    assert governor.permit(0.0) == FULL
    end = serve(governor, 0.0, 0.3, every=1.0, count=100)
    assert governor.permit(end) == FULL
    assert governor.load(end).rho == pytest.approx(0.3, abs=0.02)


def test_two_that_wait_limit_speculation_to_what_is_free() -> None:
    governor = Governor()
    running, *waiting = [governor.arrive(0.0) for _ in range(3)]
    governor.start(running, 0.0)
    assert governor.permit(0.0) == LIMITED
    governor.depart(running, 0.1)
    governor.start(waiting[0], 0.1)
    assert governor.permit(0.1) == FULL
    assert governor.load(0.1).waiting == 1


def test_the_limit_comes_above_four_fifths_and_goes_below_three_fifths() -> None:
    governor = Governor()
    end = serve(governor, 0.0, 0.7, every=1.0, count=200)
    assert governor.permit(end) == FULL
    end = serve(governor, end, 0.9, every=1.0, count=200)
    assert governor.permit(end) == LIMITED
    end = serve(governor, end, 0.7, every=1.0, count=200)
    assert governor.load(end).rho == pytest.approx(0.7, abs=0.05)
    assert governor.permit(end) == LIMITED
    end = serve(governor, end, 0.5, every=1.0, count=200)
    assert governor.permit(end) == FULL


def test_keystrokes_that_supersede_each_other_are_no_load() -> None:
    # every one is begun and given up, so the thread never rests; but nobody waits for any of them
    governor = Governor()
    serve(governor, -10.0, 0.5, every=5.0, count=2)
    now, running = 0.0, governor.arrive(0.0)
    governor.start(running, 0.0)
    for _ in range(200):
        now += 0.15
        newer = governor.arrive(now)
        governor.withdraw(running, now + 0.03)
        governor.start(newer, now + 0.03)
        running = newer
        assert governor.permit(now + 0.03) == FULL
    governor.depart(running, now + 0.5)
    assert governor.load(now + 0.5).rho < 0.1


@pytest.mark.parametrize("begun", [False, True])
def test_a_withdrawn_request_leaves_no_trace(begun: bool) -> None:
    governor, other = Governor(), Governor()
    for each in (governor, other):
        serve(each, 0.0, 0.4, every=1.0, count=10)
    ticket = governor.arrive(12.0)
    if begun:
        governor.start(ticket, 12.5)
    governor.withdraw(ticket, 15.0)
    left, expected = governor.load(20.0), other.load(20.0)
    assert left.rho == pytest.approx(expected.rho)
    assert (left.waiting, left.service) == (0, expected.service)


def test_time_alone_brings_speculation_back() -> None:
    governor = Governor()
    end = serve(governor, 0.0, 0.95, every=1.0, count=100)
    assert governor.permit(end) == LIMITED
    assert governor.permit(end + 15.0) == FULL


def test_the_first_keystroke_after_a_pause_finds_speculation_on() -> None:
    governor = Governor()
    end = serve(governor, 0.0, 0.95, every=1.0, count=100)
    assert governor.permit(end) == LIMITED
    governor.start(governor.arrive(end + 15.0), end + 15.0)
    assert governor.permit(end + 15.0) == FULL


def test_speculation_is_back_soon_after_a_backlog_has_been_served() -> None:
    governor = Governor()
    queue = overload(governor, seconds=30)
    assert governor.load(30.0).rho > 2
    now = 30.0
    while queue:
        assert governor.permit(now) == LIMITED or len(queue) < 2
        ticket = queue.popleft()
        governor.start(ticket, now)
        now += 1.0
        governor.depart(ticket, now)
    assert governor.permit(now + 5.0) == FULL


def test_a_few_requests_to_a_slow_machine_are_no_load() -> None:
    # rho was computed over 10 s: one answer that takes 30 s counted as three times what can be served
    governor = Governor()
    end = serve(governor, 0.0, 30.0, every=90.0, count=10)
    assert governor.load(end).rho < 0.4
    assert governor.permit(end) == FULL


def test_times_slightly_out_of_order_count_as_now() -> None:
    governor = Governor()
    ticket = governor.arrive(5.0)
    governor.start(ticket, 4.9)
    governor.depart(ticket, 4.8)
    assert governor.load(0.0).service == 0.0


def test_a_load_tells_what_queueing_theory_expects() -> None:
    governor = Governor()
    end = serve(governor, 0.0, 0.5, every=1.0, count=300)
    load = governor.load(end)
    assert load.service == pytest.approx(0.5)
    assert load.variation == pytest.approx(0.0, abs=1e-9)
    assert load.expected_wait == pytest.approx(load.rho / (1 - load.rho) / 2 * 0.5)
    assert load.expected_waiting == pytest.approx(load.rho**2 / (1 - load.rho) / 2)


def test_services_of_which_every_second_takes_three_times_as_long() -> None:
    governor = Governor()
    for number in range(200):
        serve(governor, 4.0 * number, 1.0 if number % 2 else 3.0, every=1.0, count=1)
    load = governor.load(800.0)
    assert load.service == pytest.approx(2.0, abs=0.1)
    assert load.variation == pytest.approx(0.25, abs=0.03)


def test_more_than_can_be_served_waits_for_ever() -> None:
    governor = Governor()
    assert governor.load(0.0).expected_waiting == 0.0
    overload(governor, seconds=30)
    assert governor.load(30.0).expected_wait == governor.load(30.0).expected_waiting == math.inf


def test_threads_that_tell_at_once_lose_nothing() -> None:
    governor = Governor()
    arrived: list[Ticket] = []
    together = threading.Barrier(5)

    def work() -> None:
        together.wait()
        for number in range(500):
            ticket = governor.arrive(time.monotonic())
            if number % 2:
                governor.start(ticket, time.monotonic())
                governor.permit(time.monotonic())
                governor.depart(ticket, time.monotonic())
            elif number % 4:
                governor.withdraw(ticket, time.monotonic())
            else:
                arrived.append(ticket)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    together.wait()
    for thread in threads:
        thread.join()
    assert governor.load(time.monotonic()).waiting == len(arrived) == 4 * 125
    for ticket in arrived:
        governor.withdraw(ticket, time.monotonic())
    assert governor.load(time.monotonic()).waiting == 0
    assert governor.permit(time.monotonic()) == FULL
