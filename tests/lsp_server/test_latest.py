"""Only the newest question about a document is answered."""

import asyncio

import pytest

from lsp_server.latest import Latest


async def test_a_newer_one_ends_the_older_at_once_with_none() -> None:
    latest, forever = Latest(), asyncio.Event()
    older = asyncio.create_task(latest.run("a", forever.wait()))
    other = asyncio.create_task(latest.run("b", asyncio.sleep(0.02, "b")))
    await asyncio.sleep(0)
    assert await latest.run("a", asyncio.sleep(0, "newer")) == "newer"
    async with asyncio.timeout(0.1):
        assert await older is None
    assert await other == "b"


async def test_a_cancellation_from_outside_reaches_the_work_and_the_caller() -> None:
    latest, ended = Latest(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(latest.run("a", work()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]
    assert await latest.run("a", asyncio.sleep(0, "next")) == "next"


async def test_work_that_is_superseded_before_it_began_never_begins() -> None:
    latest, began = Latest(), []

    async def work() -> None:
        began.append(True)

    task = asyncio.create_task(latest.run("a", work()))
    await asyncio.sleep(0)
    latest.supersede("a")
    await task
    assert began == []


async def test_work_that_nobody_waits_for_makes_way_for_any_other() -> None:
    latest, forever = Latest(), asyncio.Event()
    latest.run_unwatched("a", forever.wait())
    assert latest.is_running("a")
    assert not latest.is_running("b")
    assert await latest.run("a", asyncio.sleep(0, "asked")) == "asked"
    assert not latest.is_running("a")


async def test_work_that_has_ended_is_forgotten() -> None:
    latest = Latest()
    latest.run_unwatched("a", asyncio.sleep(0))
    while latest.is_running("a"):  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert await latest.run("a", asyncio.sleep(0, "next")) == "next"


async def test_the_end_of_the_window_ends_all_work() -> None:
    latest, forever = Latest(), asyncio.Event()
    asked = asyncio.create_task(latest.run("a", forever.wait()))
    latest.run_unwatched("b", forever.wait())
    await asyncio.sleep(0)
    latest.supersede_all()
    assert await asked is None
    assert not latest.is_running("b")
