"""The model's thread: who comes first, what giving up means, and that it survives whatever work does."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from decoder.model_thread import ModelThread, Priority, Work


@pytest.fixture
async def thread() -> AsyncIterator[ModelThread]:
    made = ModelThread("test")
    yield made
    await asyncio.to_thread(made.close)


class Log:
    """Work that writes down its steps; `gate` holds the first step of all."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.gate = threading.Event()
        self.reached = threading.Event()

    def work(self, name: str, num_steps: int, *, held: bool = False) -> Work[str]:
        try:
            for number in range(num_steps):
                self.lines.append(f"{name}{number}")
                if held and number == 0:
                    self.reached.set()
                    self.gate.wait(10)
                yield
        finally:
            self.lines.append(f"{name} ends")
        return name


async def test_the_most_urgent_goes_first_and_equals_in_their_order(thread: ModelThread) -> None:
    log = Log()
    first = thread.submit(log.work("a", 2, held=True), Priority.BACKGROUND)
    await asyncio.to_thread(log.reached.wait, 10)
    jobs = [
        thread.submit(log.work("w", 1), Priority.WARM_UP),
        thread.submit(log.work("r", 2), Priority.REQUEST),
        thread.submit(log.work("s", 2), Priority.REQUEST),
    ]
    log.gate.set()
    assert await asyncio.gather(*(thread.result(job) for job in (first, *jobs))) == ["a", "w", "r", "s"]
    assert log.lines == ["a0", "r0", "r1", "r ends", "s0", "s1", "s ends", "w0", "w ends", "a1", "a ends"]


async def test_cancelling_ends_the_work_after_its_step_and_is_told_after_that(thread: ModelThread) -> None:
    log = Log()
    waiting = asyncio.ensure_future(thread.result(thread.submit(log.work("a", 9, held=True), Priority.REQUEST)))
    await asyncio.to_thread(log.reached.wait, 10)
    waiting.cancel()
    await asyncio.sleep(0)
    log.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert log.lines == ["a0", "a ends"]


async def test_what_is_given_up_in_the_queue_is_never_begun(thread: ModelThread) -> None:
    log = Log()
    running = thread.submit(log.work("a", 1, held=True), Priority.REQUEST)
    await asyncio.to_thread(log.reached.wait, 10)
    queued = thread.submit(log.work("b", 1), Priority.REQUEST)
    thread.give_up(queued)
    assert queued.done.cancelled()
    assert not queued.begun
    log.gate.set()
    await thread.result(running)
    assert log.lines == ["a0", "a ends"]


async def test_a_fault_is_the_callers_and_the_thread_goes_on(thread: ModelThread) -> None:
    def fails() -> Work[None]:
        yield
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await thread.result(thread.submit(fails(), Priority.REQUEST))
    assert await thread.result(thread.submit(Log().work("a", 1), Priority.REQUEST)) == "a"


async def test_work_that_cannot_be_ended_well_costs_nobody_else(
    thread: ModelThread, caplog: pytest.LogCaptureFixture
) -> None:
    begun = threading.Event()

    def stubborn() -> Work[None]:
        try:
            while True:
                begun.set()
                yield
        finally:
            raise OSError("the device has gone")

    job = thread.submit(stubborn(), Priority.BACKGROUND)
    await asyncio.to_thread(begun.wait, 10)
    thread.give_up(job)
    assert await thread.result(thread.submit(Log().work("a", 1), Priority.WARM_UP)) == "a"
    assert job.done.cancelled()
    assert "did not end well" in caplog.text


async def test_closing_gives_up_everything_and_takes_nothing_more() -> None:
    thread, log = ModelThread("test"), Log()
    jobs = [
        thread.submit(log.work("a", 9, held=True), Priority.REQUEST),
        thread.submit(log.work("b", 1), Priority.REQUEST),
    ]
    await asyncio.to_thread(log.reached.wait, 10)
    closing = asyncio.ensure_future(asyncio.to_thread(thread.close))
    late = thread.submit(log.work("c", 1), Priority.REQUEST)
    while not late.done.cancelled():
        await asyncio.sleep(0)
        jobs.append(late)
        late = thread.submit(log.work("c", 1), Priority.REQUEST)
    log.gate.set()
    await closing
    assert all(job.done.cancelled() for job in jobs)
    assert "b0" not in log.lines
    assert "c0" not in log.lines


async def test_giving_up_at_any_moment_leaves_the_thread_alive(thread: ModelThread) -> None:
    # between being chosen and being begun it was taken out of the queue twice, and the thread ended
    log = Log()
    jobs = [thread.submit(log.work("a", 2), Priority.REQUEST) for _ in range(20)]
    for _ in range(3000):
        job = thread.submit(log.work("b", 1), Priority.BACKGROUND)
        thread.give_up(job)
        jobs.append(job)
    async with asyncio.timeout(10):
        assert await thread.result(thread.submit(log.work("c", 1), Priority.BACKGROUND)) == "c"
    assert all(job.done.done() for job in jobs)


async def test_what_was_begun_is_told_that_it_ends() -> None:
    """Whoever counts what begins and ends never loses one."""
    thread, num_open = ModelThread("test"), [0]

    def counted() -> Work[None]:
        num_open[0] += 1
        try:
            yield
        finally:
            num_open[0] -= 1

    jobs = [thread.submit(counted(), Priority.REQUEST) for _ in range(1000)]
    for job in jobs:
        thread.give_up(job)
    await asyncio.to_thread(thread.close)
    assert num_open == [0]
    assert all(job.done.done() for job in jobs)
