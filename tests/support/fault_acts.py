"""The acts of a process that is failed or killed meanwhile, and what a store then holds, as users see it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alma import ALMA
from alma.encryption import decrypt_store, encrypt_store, rotate_key
from alma.errors import ConfigurationError

KEY, OTHER_KEY = bytes(range(32)), bytes(range(32, 64))
TASK = "Deploy the shop to the staging cluster"
WAYS = ("blue-green deployment", "a canary of five percent", "a rolling update by hand")
PROJECTS = ("shop", "lab")
LATER = "later"
"""The agent of the call that is made after a fault."""

Calls = list[Callable[[], object]]
Sight = dict[str, Any]


def open_in(place: Path, **options: Any) -> ALMA:
    """The store of a place. Another process reads the same clock."""
    return ALMA.open(place / "store", project_id="shop", embedding_provider="hash", embedding_dim=16, clock=_now, **options)


def _now() -> datetime:
    return datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)


def fill(place: Path, **options: Any) -> None:
    """Makes a store that holds something of everything, and an export of another project beside it."""
    with open_in(place, **options) as alma:
        for number, way in enumerate(WAYS):
            alma.learn("dev", TASK, "success" if number else "failure", way, error_message=None if number else "no such host")
        alma.learn("dev", "Sell the blue lantern", "success", "a personal letter", user_id="u1")
        alma.add_domain_knowledge("dev", "authentication", "Tokens live for a day. " * 40)
        alma.add_anti_pattern("dev", "sleep before a check", "it is flaky", "wait for the event")
        alma.add_user_preference("u1", "style", "Short answers")
        with alma.episode("dev", "Paint the fence") as episode:
            episode.step("buy paint", ok=False, error="sold out")
            episode.step("buy paint elsewhere", ok=True)
            episode.succeed(strategy="two thin coats")
        lab = alma.for_project("lab")
        lab.learn("dev", "Mix two liquids", "failure", "shaken", error_message="it broke")
        lab.export(place / "lab.export")
        lab.purge([memory.id for memory in lab.list_memories() if memory.kind == "outcome"])


def see(alma: ALMA) -> Sight:
    """What users see of each project, without ids and times, and apart from it the texts that were learned after a fault."""
    report = alma.verify()
    seen: Sight = {"problems": [str(problem) for problem in report.problems], "later": []}
    for name in PROJECTS:
        project = alma.for_project(name)
        memories = project.list_memories(limit=1_000)
        seen["later"] += [memory.text for memory in memories if memory.agent == LATER and memory.kind == "outcome"]
        seen[name] = {
            "memories": sorted(_line(project, memory) for memory in memories if memory.agent != LATER),
            "episodes": sorted(_attempt(record) for record in project.recent_episodes(100)),
            "retrieved": sorted(f"{memory.kind}: {memory.text}" for memory in project.retrieve(TASK, "dev", top_k=50)),
            "ways": sorted(f"{row.strategy}: {row.successes} of {row.trials}" for row in project.strategies(agent="dev")),
        }
    return seen


def _line(alma: ALMA, memory: Any) -> str:
    counted = [] if memory.metadata.get("learned") else [entry.operation for entry in alma.history(memory.id)][1:]
    return f"{memory.kind} of {memory.agent or memory.user_id}: {memory.text} {counted} {getattr(memory, 'outcome', '')}"


def _attempt(record: Any) -> str:
    status = "ended" if record.outcome else "under way"  # one whose process is gone is marked as abandoned, now or later
    return f"{record.task}: {status} {record.outcome} {[(step.action, step.ok) for step in record.steps]}"


def _learning(alma: ALMA, place: Path) -> Calls:
    return [lambda number=number: alma.learn("dev", TASK, "success", f"way {number}") for number in (1, 2, 3)]  # type: ignore[misc]


def _learning_many(alma: ALMA, place: Path) -> Calls:
    items = [
        {"agent": "dev", "task": TASK, "outcome": "success", "strategy_used": f"one way of {number}"} for number in range(40)
    ]
    return [lambda: alma.learn_many(items)]


def _using(alma: ALMA, place: Path) -> Calls:
    ids = alma.retrieve(TASK, "dev").ids
    return [
        lambda: alma.record_usage(ids, ids[:1], agent="dev"),
        lambda: alma.record_feedback(ids[0], signal="thumbs_up", agent="dev"),
    ]


def _attempting(alma: ALMA, place: Path) -> Calls:
    begun: list[Any] = []
    return [
        lambda: begun.append(alma.episode("dev", "Open the shop")),
        lambda: begun[0].step("turn the key", ok=False, error="it is stuck"),
        lambda: begun[0].step("turn the key", ok=True),
        lambda: begun[0].succeed(strategy="oil and patience"),
    ]


def _forgetting(alma: ALMA, place: Path) -> Calls:
    fact, lesson = (memory.id for memory in alma.list_memories("domain_knowledge") + alma.list_memories("anti_pattern")[:1])
    head = alma.get_stats().journal_records
    return [
        lambda: alma.forget(memory_ids=[fact]),
        lambda: alma.undo(head),
        lambda: alma.purge([lesson]),
        lambda: alma.forget_user("u1"),
    ]


def _importing(alma: ALMA, place: Path) -> Calls:
    return [lambda: alma.for_project("lab").import_from(place / "lab.export")]


def _exporting(alma: ALMA, place: Path) -> Calls:
    return [lambda: alma.export(place / "shop.export")]


def _backing_up(alma: ALMA, place: Path) -> Calls:
    return [lambda: alma.backup(place / "copy.db")]


def _compacting(alma: ALMA, place: Path) -> Calls:
    purged = [memory.id for memory in alma.list_memories("domain_knowledge")]
    alma.purge(purged)
    return [alma.compact]


def _closing(alma: ALMA, place: Path) -> Calls:
    alma.learn("dev", TASK, "success", "the last way")
    return [alma.close]


ACTS: Mapping[str, Callable[[ALMA, Path], Calls]] = {
    "learn": _learning,
    "learn_many": _learning_many,
    "use": _using,
    "episode": _attempting,
    "forget": _forgetting,
    "import": _importing,
    "export": _exporting,
    "backup": _backing_up,
    "compact": _compacting,
    "close": _closing,
}
"""Calls on a store that is open. Each is one transaction."""

PURGES = frozenset({("file", "forget", 2), ("file", "forget", 3)})
"""By store, act and number, the calls that may have landed though they raise: files are written anew before the call has ended."""

CHANGES: Mapping[str, Callable[[Path], object]] = {
    "open": lambda place: open_in(place).close(),
    "encrypt": lambda place: encrypt_store(place / "store", KEY),
    "decrypt": lambda place: decrypt_store(place / "store", KEY),
    "rotate": lambda place: rotate_key(place / "store", KEY, OTHER_KEY),
}
"""Acts on a store that is not open."""


@contextmanager
def opened_by_any_key(place: Path, **options: Any) -> Iterator[tuple[ALMA, str]]:
    """The store, by the one of the keys that opens it, and the name of this key."""
    keys: dict[str, bytes | None] = {"none": None, "key": KEY, "other": OTHER_KEY}
    for name, key in keys.items():
        try:
            alma = open_in(place, **options, **({"encryption_key": key} if key else {}), create=False)
        except ConfigurationError:
            continue
        with alma:
            yield alma, name
        return
    raise AssertionError("no key opens the store")
