"""Sessions and work items for asyncio: the same names, awaited."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, AsyncALMA, ConfigurationError, ScopeViolationError
from alma.progress import AsyncProgressTracker, ProgressTracker
from alma.session import AsyncSessionManager, SessionManager

PAIRS = [(SessionManager, AsyncSessionManager), (ProgressTracker, AsyncProgressTracker)]


@pytest.mark.parametrize(("sync", "mirror"), PAIRS, ids=["sessions", "progress"])
def test_every_method_is_mirrored_with_its_signature(sync: Any, mirror: Any) -> None:
    names = {name for name, member in vars(sync).items() if not name.startswith("_") and inspect.isfunction(member)}
    assert names
    for name in names:
        assert inspect.iscoroutinefunction(getattr(mirror, name)), name
        assert inspect.signature(getattr(mirror, name)) == inspect.signature(getattr(sync, name)), name


def test_a_hand_off_is_taken_up_in_an_event_loop(alma: ALMA) -> None:
    async def go() -> None:
        manager = AsyncSessionManager(alma=alma)
        context = await manager.start_session(agent="Helena", goal="Complete auth testing")
        await manager.create_handoff("Helena", context.session_id, last_action="completed_oauth_tests", last_outcome="success")
        again = await manager.start_session(agent="Helena", goal="Test refresh tokens")
        assert again.previous_handoff is not None
        assert again.previous_handoff.last_action == "completed_oauth_tests"
        assert "completed_oauth_tests" in await manager.get_quick_reload("Helena")
        with pytest.raises(ScopeViolationError):
            await manager.end_session(again.session_id, agent="Victor")

    asyncio.run(go())


def test_tasks_of_one_loop_claim_each_item_once(tmp_path: Path) -> None:
    async def go() -> list[str]:
        async with await AsyncALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma:
            tracker = AsyncProgressTracker(alma=alma)
            for number in range(6):
                await tracker.create_work_item(f"item {number}")
            claimed = await asyncio.gather(*(tracker.claim_next(f"agent-{number}") for number in range(6)))
            return [item.id for item in claimed if item]

    ids = asyncio.run(go())
    assert len(set(ids)) == len(ids) == 6


def test_a_bare_name_opens_the_project_at_the_first_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def go() -> int:
        tracker = AsyncProgressTracker("my-project")
        assert not (tmp_path / ".alma").exists()
        async with tracker:
            await tracker.create_work_item("Fix the login")
            return len(await tracker.items())

    assert asyncio.run(go()) == 1
    with pytest.raises(ConfigurationError):
        AsyncSessionManager(alma="no memory")  # type: ignore[arg-type]
