"""`AsyncALMA` at work: on threads of its own, cancelled and closed."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alma import ALMA, AsyncALMA, ConfigurationError, ConflictError, StorageError
from alma.embedding import create_embedder
from alma.memory.pool import WORKERS
from alma.types import EpisodeStatus
from alma.types.identity import Fingerprint
from facade import START, Place, StoredIn

TASK = "Deploy auth service"


class GatedEmbedder:
    """Embeds like `hash`, but waits at a gate, and tells when a call has come to it."""

    compares_words = True

    def __init__(self) -> None:
        self._inner = create_embedder("hash", dimension=None)
        self.gate = threading.Event()
        self.reached = threading.Semaphore(0)
        self.gate.set()

    @property
    def fingerprint(self) -> Fingerprint:
        return self._inner.fingerprint

    def embed(self, texts: Sequence[str], /) -> Any:
        self.reached.release()
        assert self.gate.wait(30)
        return np.asarray(self._inner.embed(texts))


class GatedClock:
    """Tells the time once it may, and tells when it was asked."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.reached = threading.Semaphore(0)

    def __call__(self) -> datetime:
        self.reached.release()
        assert self.gate.wait(30)
        return START


def _run(place: Place, work: Callable[[AsyncALMA], Awaitable[None]], embedder: Any = "hash") -> None:
    async def run() -> None:
        async with AsyncALMA.open(place.folder, project_id="shop", embedding_provider=embedder, **place.options) as alma:
            await work(alma)

    asyncio.run(run())


def _kept(place: Place) -> list[str]:
    with place.open() as alma:
        assert alma.verify().ok
        return sorted(outcome.task_description for outcome in alma.retrieve("task", "dev", top_k=100).outcomes)


async def _reached(embedder: GatedEmbedder) -> None:
    """Waits until a call stands at the gate."""
    assert await asyncio.to_thread(embedder.reached.acquire, timeout=30)


async def _opened(opening: Awaitable[Any]) -> Any:
    return await opening


def _assert_all_threads_end() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("alma-aio"):
            thread.join(30)
            assert not thread.is_alive()


def test_every_call_is_awaited_under_the_same_name(place: Place) -> None:
    async def work(alma: AsyncALMA) -> None:
        rule = await alma.add_heuristic("dev", TASK, "blue-green")
        outcome = await alma.learn(agent="dev", task=TASK, outcome="success", strategy_used="by hand")
        memories = await alma.retrieve(task=TASK, agent="dev")
        assert memories.heuristics == [rule]
        assert memories.outcomes == [outcome] == [await alma.get(outcome.id)]
        assert (await alma.get_stats()).total == 2
        assert (await alma.verify()).ok
        other = await alma.for_project("lab")
        assert (other.project_id, alma.project_id, alma.agents) == ("lab", "shop", {})
        assert (await other.get_stats()).total == 0
        assert repr(alma).startswith("<AsyncALMA project 'shop'")

    _run(place, work)


def test_it_is_opened_by_await_or_by_async_with_and_from_a_configuration(tmp_path: Path) -> None:
    configuration = tmp_path / ".alma" / "config.yaml"
    configuration.parent.mkdir()
    configuration.write_text('project_id: "shop"\nembedding_provider: hash\n', encoding="utf-8")

    async def work() -> None:
        alma = await AsyncALMA.from_config(configuration)
        await alma.learn("dev", "task", "success")
        await alma.close()
        await alma.close()
        with pytest.raises(StorageError, match="closed"):
            await alma.retrieve("task", "dev")
        async with AsyncALMA.from_config(configuration) as again:
            assert (await again.get_stats()).total == 1

    asyncio.run(work())


def test_an_episode_is_begun_by_async_with_or_by_await(place: Place) -> None:
    async def work(alma: AsyncALMA) -> None:
        rule = await alma.add_heuristic("dev", TASK, "blue-green")
        async with alma.episode(agent="dev", task=TASK, episode_id="run-7") as episode:
            assert episode.memories.ids == [rule.id]
            await episode.step("kubectl apply", ok=False, error="no such image")
            assert await episode.observe("[H1]") == [rule.id]
            await episode.succeed(strategy="blue-green")
        assert (episode.id, episode.is_open, len(episode.steps)) == ("run-7", False, 1)
        assert await alma.get_episode("run-7") == episode.record
        with pytest.raises(ConflictError):
            await alma.episode(agent="dev", task=TASK, episode_id="run-7")
        begun = await alma.episode(agent="dev", task=TASK)
        await begun.suspend()
        async with alma.resume_episode(begun.id) as resumed:
            await resumed.used([])
        assert (await alma.settle(begun.id, "success")).outcome == "success"
        assert "AsyncEpisode" in repr(begun)

    _run(place, work)


def test_the_ways_of_leaving_an_async_block_mean_what_they_mean_elsewhere(place: Place) -> None:
    async def work(alma: AsyncALMA) -> None:
        entered = asyncio.Event()

        async def attempt(name: str, error: Exception | None) -> None:
            async with alma.episode("dev", TASK, episode_id=name):
                if error:
                    raise error
                if name == "cancelled":
                    entered.set()
                    await asyncio.get_running_loop().create_future()

        await attempt("returned", None)
        with pytest.raises(ValueError, match="no such tag"):
            await attempt("failed", ValueError("no such tag"))
        cancelled = asyncio.ensure_future(attempt("cancelled", None))
        await asyncio.wait_for(entered.wait(), timeout=30)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        records = {record.id: record for record in await alma.recent_episodes()}
        assert records["returned"].outcome == "unverified"
        assert (records["failed"].outcome, records["failed"].error) == ("failure", "ValueError: no such tag")
        assert records["cancelled"].status == EpisodeStatus.ABANDONED

    _run(place, work)


def test_a_cancelled_call_that_was_begun_lands_whole(place: Place) -> None:
    embedder = GatedEmbedder()

    async def work(alma: AsyncALMA) -> None:
        embedder.gate.clear()
        call = asyncio.ensure_future(alma.learn("dev", "a task", "success"))
        await _reached(embedder)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        embedder.gate.set()

    _run(place, work, embedder)
    assert _kept(place) == ["a task"]


def test_a_cancelled_call_that_was_not_begun_is_absent(place: Place) -> None:
    embedder = GatedEmbedder()

    async def work(alma: AsyncALMA) -> None:
        embedder.gate.clear()
        begun = [asyncio.ensure_future(alma.learn("dev", f"task {number}", "success")) for number in range(WORKERS)]
        for _ in begun:
            await _reached(embedder)
        waiting = asyncio.ensure_future(alma.learn("dev", "one task too many", "success"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        embedder.gate.set()
        await asyncio.gather(*begun)

    _run(place, work, embedder)
    assert _kept(place) == [f"task {number}" for number in range(WORKERS)]


def test_close_waits_for_the_calls_that_were_made(place: Place) -> None:
    embedder = GatedEmbedder()

    async def work() -> None:
        alma = await AsyncALMA.open(place.folder, project_id="shop", embedding_provider=embedder, **place.options)
        embedder.gate.clear()
        calls = [asyncio.ensure_future(alma.learn("dev", f"task {number}", "success")) for number in range(2 * WORKERS)]
        for _ in range(WORKERS):
            await _reached(embedder)
        closing = asyncio.ensure_future(alma.close())
        done, _ = await asyncio.wait([closing], timeout=0.05)
        assert not done
        embedder.gate.set()
        await closing
        assert [outcome.agent for outcome in await asyncio.gather(*calls)] == ["dev"] * len(calls)

    asyncio.run(work())
    assert _kept(place) == [f"task {number}" for number in range(2 * WORKERS)]


def test_the_event_loop_runs_on_while_a_call_waits(place: Place) -> None:
    embedder = GatedEmbedder()

    async def work(alma: AsyncALMA) -> None:
        embedder.gate.clear()
        call = asyncio.ensure_future(alma.learn("dev", "a task", "success"))
        await _reached(embedder)
        ticks = [await asyncio.sleep(0, number) for number in range(100)]
        assert (len(ticks), call.done()) == (100, False)
        embedder.gate.set()
        await call

    _run(place, work, embedder)


def test_many_calls_at_once_are_all_made_by_few_threads(place: Place) -> None:
    async def work(alma: AsyncALMA) -> None:
        outcomes = await asyncio.gather(*(alma.learn("dev", f"task {number}", "success") for number in range(40)))
        assert len({outcome.id for outcome in outcomes}) == 40
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("alma-aio")]
        assert 1 <= len(threads) <= WORKERS

    _run(place, work)
    _assert_all_threads_end()


def test_a_call_sees_the_context_of_who_made_it(place: Place) -> None:
    wanted: ContextVar[str] = ContextVar("wanted", default="nobody")
    seen: list[str] = []

    class Embedder(GatedEmbedder):
        def embed(self, texts: Sequence[str], /) -> Any:
            seen.append(wanted.get())
            return super().embed(texts)

    async def work(alma: AsyncALMA) -> None:
        wanted.set("ann")
        await alma.learn("dev", "a task", "success")

    _run(place, work, Embedder())
    assert seen == ["ann"]


def test_an_end_that_cannot_be_written_hides_no_error_of_the_block(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async def work(alma: AsyncALMA) -> None:
        async def attempt() -> None:
            async with alma.episode("dev", TASK):
                await alma.close()
                raise ValueError("my own")

        with pytest.raises(ValueError, match="my own"):
            await attempt()
        assert "was not recorded" in caplog.text

    _run(place, work)


def test_an_opening_that_fails_raises_and_leaves_no_thread(tmp_path: Path, stored_in: StoredIn) -> None:
    (tmp_path / "store").write_text("a file", encoding="utf-8")

    async def work() -> None:
        with pytest.raises(ConfigurationError):
            await AsyncALMA.open(
                tmp_path / "store", project_id="shop", embedding_provider="hash", **stored_in(tmp_path / "store")
            )

    asyncio.run(work())
    _assert_all_threads_end()


def test_an_opening_that_is_cancelled_is_closed_again(place: Place) -> None:
    clock = GatedClock()

    async def work() -> None:
        opening = asyncio.ensure_future(
            _opened(AsyncALMA.open(place.folder, project_id="shop", embedding_provider="hash", clock=clock, **place.options))
        )
        assert await asyncio.to_thread(clock.reached.acquire, timeout=30)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        clock.gate.set()

    asyncio.run(work())
    _assert_all_threads_end()
    assert _kept(place) == []


def test_an_episode_whose_beginning_is_cancelled_is_abandoned(place: Place) -> None:
    embedder = GatedEmbedder()

    async def work(alma: AsyncALMA) -> None:
        await alma.learn("dev", "another task", "success")
        embedder.gate.clear()
        await _reached(embedder)
        beginning = asyncio.ensure_future(_opened(alma.episode("dev", TASK, episode_id="run-7")))
        await _reached(embedder)
        beginning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        embedder.gate.set()

    _run(place, work, embedder)
    with ALMA.open(place.folder, project_id="shop", embedding_provider="hash", **place.options) as alma:
        record = alma.get_episode("run-7")
        assert (record.status, record.reason) == (EpisodeStatus.ABANDONED, None)


def test_a_block_that_is_cancelled_twice_is_left_in_order_all_the_same(place: Place) -> None:
    embedder = GatedEmbedder()

    async def work(alma: AsyncALMA) -> None:
        async def attempt() -> None:
            async with alma.episode("dev", TASK, episode_id="run-7"):
                inside.set()
                await asyncio.get_running_loop().create_future()

        inside = asyncio.Event()
        attempting = asyncio.ensure_future(attempt())
        await inside.wait()
        embedder.gate.clear()
        calls = [asyncio.ensure_future(alma.learn("dev", f"task {number}", "success")) for number in range(WORKERS)]
        for _ in calls:
            await _reached(embedder)
        for _ in range(2):
            attempting.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await attempting
        embedder.gate.set()
        await asyncio.gather(*calls)

    _run(place, work, embedder)
    with ALMA.open(place.folder, project_id="shop", embedding_provider="hash", **place.options) as alma:
        record = alma.get_episode("run-7")
        assert (record.status, record.reason) == (EpisodeStatus.ABANDONED, None)
