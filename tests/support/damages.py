"""A store that holds a row of every sort, every change that damage could make to a cell or a row of it, and every public call."""

import inspect
import io
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import Column, Integer, LargeBinary, MetaData, String, Table, UniqueConstraint

from alma import ALMA, AlmaError, CustomMemoryType, Passage
from facade import ManualClock

_BESIDE = MetaData()
BESIDE = (
    Table("sqlite_sequence", _BESIDE, Column("name", String, primary_key=True), Column("seq", Integer, nullable=False)),
    Table("text_1_data", _BESIDE, Column("id", Integer, primary_key=True), Column("block", LargeBinary, nullable=False)),
    Table(
        "text_1_idx",
        _BESIDE,
        Column("segid", Integer, primary_key=True),
        Column("term", LargeBinary, primary_key=True),
        Column("pgno", Integer, nullable=False),
    ),
    Table("text_1_config", _BESIDE, Column("k", String, primary_key=True), Column("v", Integer, nullable=False)),
)
"""Tables of SQLite's own that our calls rest on: row numbers given out, and what lies behind the full text of the first project."""

TASK, RUN = "Test the login form of the shop", "run-7"
TICKET = CustomMemoryType("ticket", {"title": str, "size": int}, ["title"])
_MOST_VALUES = 9
UNREADABLE = b"\xff\xfe"


def fill_whole(folder: Path, clock: ManualClock) -> Path:
    """Something in every table and of every sort, two projects, and the traces of an undo, a purge and a forgetting. No row is left over."""
    with open_whole(folder, clock) as shop:
        shop.add_domain_knowledge("victor", "auth", "Tokens live a day. " * 240)
        head = shop.get_stats().journal_records
        shop.add_domain_knowledge("victor", "moods", "Blue on Mondays")
        shop.undo(head)
        shop.learn("victor", "Print the page", "partial")
        shop.purge([shop.learn("victor", "Print the secret page", "failure").id])
        for number in range(3):
            clock.advance(minutes=3)
            shop.learn("helena", f"{TASK} {number}", "success", "Empty fields first", task_type="testing")
            shop.learn("helena", f"{TASK} {number}", "failure", "Wait with sleep", task_type="testing", error_message="Timed out")
        alone = shop.learn("helena", "Write the invoice of March", "success", "From the template")
        shop.add_heuristic("victor", "On deploy", "Go blue-green")
        shop.add_anti_pattern("victor", "Using sleep for waits", "Flaky tests", "Explicit waits", metadata={"page": 3})
        turns = [
            Passage(text="When does the shop close?", speaker="user", position=0, time=clock()),
            Passage(text="At nine, said the manual.", keywords="hours", speaker="tool", position=1, is_own=False),
        ]
        shop.add_domain_knowledge("helena", "hours", "The shop closes at nine", passages=turns)
        shop.add_user_preference("u1", "style", "Strict mode")
        shop.register_memory_type(TICKET)
        shop.add("ticket", "helena", title="Login is slow", size=3)
        shop.record_usage([alone.id], [alone.id], agent="helena")
        shop.record_feedback(alone.id, signal="thumbs_up", agent="helena")
        shop.compact()
        with shop.episode("helena", "Test the sign-up form", run_id=RUN) as episode:
            episode.step("curl /signup", ok=False, error="404")
            episode.step("curl /sign-up", ok=True)
            episode.succeed(strategy="Ask for the right path")
        shop.episode("helena", "Paint the door").suspend()
        shop.forget(memory_ids=[shop.learn("helena", "Draw a logo", "partial", "By hand").id])
        lab = shop.for_project("lab")
        lab.learn("helena", "Mix two liquids", "failure", "Shaken", error_message="It broke")
        lab.add_domain_knowledge("helena", "liquids", "Water boils at 100 degrees")
    return folder / "alma.db"


def open_whole(folder: Path, clock: ManualClock) -> ALMA:
    """Opens such a store."""
    agents = {"helena": {"share_with": ["victor"]}}
    return ALMA.open(folder, project_id="shop", embedding_provider="hash", embedding_dim=16, agents=agents, clock=clock)


@dataclass(frozen=True, slots=True)
class Whole:
    """Such a store, closed, and what its calls need and give."""

    path: Path
    now: datetime
    ids: Sequence[str]
    episode: str
    ended: str
    exported: bytes
    hashes: Mapping[str, str]
    recalled: Sequence[str]

    @classmethod
    def made_in(cls, folder: Path) -> "Whole":
        clock, exported = ManualClock(), io.BytesIO()
        path = fill_whole(folder, clock)
        with open_whole(folder, clock) as shop:
            shop.export(exported, vectors=True)
            ids = [memory.id for memory in shop.list_memories(limit=1000)]
            episodes = {one.task: one.id for one in shop.recent_episodes()}
            suspended, ended = episodes["Paint the door"], episodes["Test the sign-up form"]
            return cls(path, clock.now, ids, suspended, ended, exported.getvalue(), *_answers(shop))

    def calls(self, shop: ALMA) -> Mapping[str, Callable[[], object]]:
        return public_calls(shop, self.ids, self.episode, self.ended, self.exported)

    def is_same(self, shop: ALMA) -> bool:
        """Returns True when both projects have the same content and the same search results."""
        return (self.hashes, self.recalled) == _answers(shop)


def _answers(shop: ALMA) -> tuple[Mapping[str, str], Sequence[str]]:
    hashes = {name: shop.for_project(name).content_hash() for name in ("shop", "lab")}
    return hashes, [*shop.retrieve(TASK, "helena").ids, *shop.for_project("lab").retrieve("boil water", "helena").ids]


@dataclass(frozen=True, slots=True)
class Damage:
    """One change of the file. `does` is what it changes, for messages."""

    table: str
    does: str
    statement: str
    values: Mapping[str, Any]

    def done_to(self, path: Path) -> bool:
        """Makes the change behind ALMA's back. Whether the table's own constraints allow it."""
        with closing(sqlite3.connect(path, isolation_level=None)) as connection, suppress(sqlite3.IntegrityError):
            return connection.execute(self.statement, self.values).rowcount > 0
        return False


def damages_of(path: Path, table: Table, column: Column[Any], *, choice: Random | None = None) -> Iterator[Damage]:
    """Every damage to a cell of the column: of each row, or each damage of a row that is chosen."""
    rows = _rows(path, table)
    others = [row[column.name] for row in rows]
    if choice is None:
        pairs = [(row, value) for row in rows for value in _values(column, row[column.name], others)]
    else:
        pairs = [
            (row, value)
            for number in range(_MOST_VALUES)
            for row in [choice.choice(rows)]
            for value in [*_values(column, row[column.name], others)][number : number + 1]
        ]
    for row, value in pairs:
        where = " AND ".join(f'"{key.name}" IS :_{key.name}' for key in table.primary_key)
        keys = {f"_{key.name}": row[key.name] for key in table.primary_key}
        cast = "CAST(:_value AS TEXT)" if isinstance(value, bytes) and isinstance(row[column.name], str) else ":_value"
        yield Damage(
            table.name,
            f"{column.name} = {value!r:.40} instead of {row[column.name]!r:.60} in {keys}",
            f'UPDATE "{table.name}" SET "{column.name}" = {cast} WHERE {where}',
            {**keys, "_value": value},
        )


def damages_of_rows(path: Path, table: Table) -> Iterator[Damage]:
    """Each row deleted, and each doubled under another key."""
    rows = _rows(path, table)
    names = [column.name for column in table.columns]
    quoted, made = ", ".join(f'"{name}"' for name in names), ", ".join(f":{name}" for name in names)
    renewed = {"row": max(row["row"] for row in rows) + 1} if "row" in names else {}
    for row in rows:
        where = " AND ".join(f'"{key.name}" IS :{key.name}' for key in table.primary_key)
        keys = {key.name: row[key.name] for key in table.primary_key}
        yield Damage(table.name, f"row {keys} deleted", f'DELETE FROM "{table.name}" WHERE {where}', keys)
        for column in _unique(table):
            other = {**row, **renewed, column: _next(row[column])}
            insertion = f'INSERT INTO "{table.name}" ({quoted}) VALUES ({made})'
            yield Damage(table.name, f"row {keys} doubled with another {column}", insertion, other)


def _rows(path: Path, table: Table) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(f'SELECT * FROM "{table.name}"')
        names = [column[0] for column in found.description]
        return [dict(zip(names, values, strict=True)) for values in found]


def _unique(table: Table) -> list[str]:
    together = [c.columns for c in table.constraints if isinstance(c, UniqueConstraint)]
    single = [column for column in table.columns if column.unique]
    return list(dict.fromkeys(column.name for columns in (table.primary_key, *together, single) for column in columns))


def _next(value: Any) -> Any:
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1, *value[1:]]) if value else b"\x01"
    return value + 1 if isinstance(value, int | float) else f"{value}x"


def _values(column: Column[Any], value: Any, others: Sequence[Any]) -> Iterator[Any]:
    """Other values of the column, all of which a STRICT table takes: the likeliest to hurt first."""
    wanted: list[Any] = [None] if column.nullable else []
    match str(column.type):
        case "INTEGER" | "BIGINT":
            wanted += [(value or 0) + 1, 2**62, -1, 7, 0, 1, (value or 0) - 1]
        case "FLOAT":
            wanted += [(value or 0.0) + 0.25, float("inf"), -1.0, 1e300]
        case "BLOB":
            wanted += [_next(value or b"x"), b"", UNREADABLE, b"[" * 20_000, (value or b"xx")[:-1], b"\x00"]
        case _:
            wanted += [UNREADABLE, "", f"{value}x", "\0", "[" * 20_000, "[1e999]", "9" * 5000]
    wanted.insert(1, next((other for other in others if other != value), value))
    seen: list[Any] = []
    for other in wanted:
        if (type(other), other) != (type(value), value) and (other is None or other != value) and other not in seen:
            seen.append(other)
            yield other


def public_names() -> set[str]:
    """The public methods of ALMA that work on an open store."""
    return {name for name, value in inspect.getmembers(ALMA) if not name.startswith("_") and callable(value)} - {
        "open",
        "from_config",
    }


def public_calls(
    shop: ALMA, ids: Sequence[str], episode_id: str, ended: str, exported: bytes
) -> Mapping[str, Callable[[], object]]:
    """Every one of them, by name, as a program makes it. What changes least comes first."""
    learn = lambda: shop.learn("helena", TASK, "success", "Empty fields first", task_type="testing")  # noqa: E731
    calls: dict[str, Callable[[], object]] = {
        "verify": shop.verify,
        "for_project": lambda: shop.for_project("lab").retrieve("liquids", "helena"),
        "before_close": lambda: shop.before_close(int),
        "retrieve": lambda: _told(shop.retrieve(TASK, "victor", user_id="u1", explain=True)),
        "explain_retrieval": lambda: [_quietly(shop.explain_retrieval, TASK, i, "victor", "u1") for i in ids[:2]],
        "strategies": lambda: [shop.strategies(agent="helena"), shop.strategies(TASK, "helena", include_steps=True)],
        "outcomes_behind": lambda: [_quietly(shop.outcomes_behind, memory_id) for memory_id in ids],
        "check": lambda: shop.check("helena", "sleep(5)"),
        "assess": lambda: shop.assess("Empty fields first", TASK, "helena", task_type="testing"),
        "get_episode": lambda: shop.get_episode(episode_id),
        "recent_episodes": shop.recent_episodes,
        "run_episodes": lambda: shop.run_episodes(RUN),
        "review": shop.review,
        "get": lambda: [_quietly(shop.get, memory_id) for memory_id in ids],
        "history": lambda: [_quietly(shop.history, memory_id) for memory_id in ids],
        "undo_preview": lambda: shop.undo_preview(0),
        "content_hash": shop.content_hash,
        "get_stats": shop.get_stats,
        "overview": lambda: shop.overview(verify=False),
        "list_memories": lambda: shop.list_memories(limit=1000),
        "export": lambda: shop.export(io.BytesIO(), vectors=True),
        "memory_types": shop.memory_types,
        "learn": learn,
        "learn_many": lambda: shop.learn_many(
            [{"agent": "helena", "task": f"{TASK} {n}", "outcome": "failure"} for n in range(3)]
        ),
        "add_user_preference": lambda: shop.add_user_preference("u1", "style", "Short names"),
        "add_domain_knowledge": lambda: shop.add_domain_knowledge("victor", "auth", "Tokens are short"),
        "add_anti_pattern": lambda: shop.add_anti_pattern("victor", "Push on Friday", "It broke"),
        "add_heuristic": lambda: shop.add_heuristic("victor", "On review", "Read it twice"),
        "add": lambda: shop.add("ticket", "helena", title="Log-out is slow", size=1),
        "add_many": lambda: shop.add_many([]),
        "register_memory_type": lambda: shop.register_memory_type(TICKET),
        "record_usage": lambda: shop.record_usage(ids, ids[:2], agent="helena", user_id="u1"),
        "record_feedback": lambda: [_quietly(shop.record_feedback, i, signal="used", agent="helena") for i in ids[:4]],
        "episode": lambda: _attempted(shop),
        "resume_episode": lambda: shop.resume_episode(episode_id).abandon(),
        "settle": lambda: shop.settle(ended, "failure", reason="It was seen later"),
        "maintain": shop.maintain,
        "forget": lambda: shop.forget(older_than_days=0, below_confidence=1),
        "undo": lambda: shop.undo(max(0, shop.get_stats().journal_records - 4)),
        "purge": lambda: shop.purge(ids[:3]),
        "reindex": lambda: shop.reindex("hash", embedding_dim=32),
        "import_from": lambda: shop.import_from(io.BytesIO(exported), on_conflict="skip"),
        "compact": shop.compact,
        "close": shop.close,
    }
    return calls


def _told(found: Any) -> object:
    return found.to_prompt(), [item.model_dump() for item in found]


def _quietly(call: Callable[..., object], *given: object, **named: object) -> object:
    """The answer or the error of ALMA, so that the next one is asked too."""
    with suppress(AlmaError):
        return call(*given, **named)
    return None


def _attempted(shop: ALMA) -> object:
    with shop.episode("helena", "Test the sign-up form") as episode:
        episode.step("curl /signup", ok=False, error="404")
        return episode.fail("The page is gone", strategy="Ask for the right path")
