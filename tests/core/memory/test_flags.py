"""Every flag of every public method is `True` or `False`, and nothing else stands for either."""

import asyncio
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import alma as face
from alma import ALMA, AsyncALMA, Episode, MemorySlice, ValidationError
from alma.aio import AsyncEpisode
from facade import OpenStore, held
from old_memory import OLD_MEMORY

PUBLIC = [*(found for name in face.__all__ if inspect.isclass(found := getattr(face, name))), AsyncEpisode]


@dataclass(frozen=True)
class Flag:
    """A flag of a public method."""

    cls: type
    method: str
    name: str
    is_optional: bool

    def __str__(self) -> str:
        return f"{self.cls.__name__}.{self.method}({self.name}=)"


def _flags() -> Iterator[Flag]:
    for cls in PUBLIC:
        for name in dir(cls):
            method = getattr(cls, name)
            is_ours = str(getattr(method, "__module__", "")).partition(".")[0] == "alma"
            if (name.startswith("_") and name != "__init__") or not is_ours or not inspect.isroutine(method):
                continue
            for parameter in inspect.signature(method).parameters.values():
                kinds = {part.strip() for part in inspect.formatannotation(parameter.annotation).split("|")}
                if "bool" in kinds and kinds <= {"bool", "None"}:
                    yield Flag(cls, name, parameter.name, "None" in kinds)


FLAGS = list(_flags())


class Undecided:
    """Says neither yes nor no, nor what it is."""

    def __bool__(self) -> bool:
        raise RuntimeError("undecided")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("undecided")

    def __repr__(self) -> str:
        raise RuntimeError("undecided")

    __hash__ = None  # type: ignore[assignment]


NO_FLAGS = [
    "false",
    "no",
    "true",
    "False",
    "",
    b"false",
    0,
    1,
    0.0,
    10**5000,
    [],
    [False],
    {},
    np.bool_(False),
    np.bool_(True),
    np.array(True),
    np.array([True, False]),
    np.array([]),
    Undecided(),
    object(),
]


def _arguments(flag: Flag, alma: ALMA, folder: Path) -> dict[str, Any]:
    """What the method needs besides, so that it would do its work if the flag were taken."""
    (memory,) = alma.list_memories(limit=1)
    needed: dict[str, dict[str, Any]] = {
        "forget": {"memory_ids": [memory.id]},
        "forget_user": {"user_id": "ann"},
        "purge": {"memory_ids": [memory.id]},
        "undo": {"to": 0},
        "retrieve": {"task": "Deploy", "agent": "helena"},
        "strategies": {"task": "Deploy", "agent": "helena"},
        "explain_retrieval": {"query": "Deploy", "memory_id": memory.id},
        "episode": {"agent": "helena", "task": "Deploy"},
        "export": {"target": folder / "export.jsonl"},
        "backup": {"path": folder / "copy.db"},
        "import_alma_memory": {"source": OLD_MEMORY, "project": "web-shop"},
        "import_untrusted": {"source": _exported(alma, folder)},
        "step": {"action": "kubectl apply"},
    }
    if flag.method in ("open", "from_config"):
        return _opening(flag, folder)
    return needed.get(flag.method, {})


def _opening(flag: Flag, folder: Path) -> dict[str, Any]:
    """What opens a memory that is there."""
    with ALMA.open(folder / "made", project_id="made"):
        config = folder / "config.yaml"
        config.write_text(f"alma: {{project_id: made, storage_dir: {folder / 'made'}}}\n", encoding="utf-8")
    return {"storage_dir": folder / "made", "project_id": "made"} if flag.method == "open" else {"path": config}


def _exported(alma: ALMA, folder: Path) -> Path:
    path = folder / "theirs.jsonl"
    if not path.exists():
        alma.export(path)
    return path


def _called(flag: Flag, alma: ALMA, episode: Episode, arguments: dict[str, Any]) -> Any:
    """The method called; what is asynchronous is awaited."""
    plain = {ALMA: alma, Episode: episode, MemorySlice: alma.retrieve("Deploy", "helena")}
    if flag.cls in plain:
        return getattr(plain[flag.cls], flag.method)(**arguments)

    async def call() -> Any:
        mirror = AsyncALMA(alma)
        owner: Any = mirror if flag.cls is AsyncALMA else AsyncEpisode(episode, mirror._workers)
        try:
            found = await getattr(owner, flag.method)(**arguments)
            if isinstance(found, AsyncALMA):
                await found.close()
            return found
        finally:
            mirror._workers.dismiss()

    return asyncio.run(call())


def test_the_flags_are_found() -> None:
    found = {(flag.cls.__name__, flag.method, flag.name) for flag in FLAGS}
    assert {
        ("ALMA", "forget", "purge"),
        ("ALMA", "redact_existing", "dry_run"),
        ("AsyncALMA", "forget", "dry_run"),
        ("ALMA", "list_memories", "newest_first"),
        ("ALMA", "explain_retrieval", "include_shared"),
        ("ALMA", "overview", "verify"),
        ("ALMA", "export", "vectors"),
        ("ALMA", "episode", "deferred"),
        ("Episode", "step", "ok"),
        ("AsyncEpisode", "step", "ok"),
    } <= found
    assert {flag.cls for flag in FLAGS} <= {ALMA, AsyncALMA, Episode, AsyncEpisode, MemorySlice}, (
        "say in _called how it is called"
    )


@pytest.mark.not_on("file", "postgres", reason="such a flag is refused before any store is asked")
@pytest.mark.parametrize("flag", FLAGS, ids=str)
def test_what_is_neither_true_nor_false_is_refused_and_nothing_is_done(open_store: OpenStore, tmp_path: Path, flag: Flag) -> None:
    alma = open_store()
    alma.learn(agent="helena", task="Deploy the auth service", outcome="success")
    episode = alma.episode(agent="helena", task="Deploy the mail service")
    arguments = _arguments(flag, alma, tmp_path)
    before, hashed = held(alma), alma.content_hash()

    for value in NO_FLAGS if flag.is_optional else [*NO_FLAGS, None]:
        with pytest.raises(ValidationError, match=f"^{flag.name} must be True") as caught:
            _called(flag, alma, episode, {**arguments, flag.name: value})
        assert len(str(caught.value)) < 200

    assert (held(alma), alma.content_hash(), episode.steps) == (before, hashed, ())
    assert not (tmp_path / "export.jsonl").exists()


def _of_any_store(flag: Flag) -> Any:
    is_of_a_file = flag.method == "backup" or (flag.method, flag.name) == ("verify", "rebuild")
    marks = [pytest.mark.not_on("file", "postgres", reason="only SQLite is copied and rebuilt by ALMA")] if is_of_a_file else []
    return pytest.param(flag, marks=marks, id=str(flag))


@pytest.mark.parametrize("flag", [_of_any_store(flag) for flag in FLAGS])
@pytest.mark.parametrize("value", [True, False])
def test_true_and_false_are_taken(open_store: OpenStore, tmp_path: Path, flag: Flag, value: bool) -> None:
    alma = open_store()
    alma.learn(agent="helena", task="Deploy the auth service", outcome="success")
    episode = alma.episode(agent="helena", task="Deploy the mail service")
    found = _called(flag, alma, episode, {**_arguments(flag, alma, tmp_path), flag.name: value})
    if isinstance(found, ALMA):
        found.close()
    assert alma.verify().problems == ()


@pytest.mark.parametrize("value", ["false", 1, np.bool_(True)])
def test_a_flag_given_by_its_place_is_checked_too(alma: ALMA, value: Any) -> None:
    with pytest.raises(ValidationError, match="dry_run must be True or False"):
        alma.maintain(value)
    with pytest.raises(ValidationError, match="ok must be True, False or None"), alma.episode("helena", "Deploy it") as episode:
        episode.step("kubectl apply", value)


def test_purge_false_as_text_erases_nothing(alma: ALMA) -> None:
    learned = alma.learn("helena", "Deploy the auth service", "success")
    with pytest.raises(ValidationError, match="purge must be True or False, not 'false'"):
        alma.forget("helena", memory_ids=[learned.id], purge="false")  # type: ignore[arg-type]
    assert alma.get(learned.id) == learned
