"""Looks for damage in projects: each one's chain, its rows against the replayed journal, its vectors against their checksums."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from alma.protocols import StoredRow
from alma.storage.relational.logical import TABLES, LogicalTable, View
from alma.storage.relational.readback import Expected, Report, replay
from alma.storage.relational.reembedding import dimensions_of
from alma.storage.relational.rows import TEXT, UNREADABLE, vector_checksum
from alma.storage.relational.session import Seal, Session, hide_touched, is_whole, reveal_touched, revealed_hash
from alma.types.reports import StoreProblem, VerifyReport

MOST_PROBLEMS = 100

ProjectName = tuple[int, str]
"""Row and name of a project."""


@dataclass(slots=True)
class Findings:
    """The result of looking through a database, as it grows. `damaged` has the rows of damaged projects, `unembedded` the texts without a sound
    vector by project row, `stopping` the errors of the driver that damage may raise."""

    stopping: tuple[type[Exception], ...] = ()
    problems: list[StoreProblem] = field(default_factory=list)
    damaged: set[int] = field(default_factory=set)
    unembedded: dict[int, list[str]] = field(default_factory=dict)
    projects: list[ProjectName] = field(default_factory=list)
    heads: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, place: str, what: str, *, project: ProjectName | None = None) -> None:
        """Notes a problem of a project or of the whole file. The first hundred are kept: one page can make thousands."""
        if project is not None:
            self.damaged.add(project[0])
        if len(self.problems) < MOST_PROBLEMS:
            name = project and _printable(project[1])
            self.problems.append(StoreProblem(project_id=name, place=_printable(place), what=_printable(what)))

    @contextmanager
    def reading(self, part: str, project: ProjectName | None = None) -> Iterator[Report]:
        """Gives the report of a part of the search. Damage that stops it is a finding, not the end."""

        def report(place: str, what: str) -> None:
            self.add(place, what, project=project)

        stopping: tuple[type[Exception], ...] = (ArithmeticError, MemoryError, *UNREADABLE, *self.stopping)
        try:
            yield report
        except stopping as error:
            report(f"database file ({part})", f"cannot be read any further: {error}")

    def report(self, rebuilt: tuple[StoreProblem, ...] = ()) -> VerifyReport:
        """Returns the findings as callers get them."""
        counts = {name: self.counts[name] for name in ("records", "memories", "vectors", "purged")}
        found = tuple(self.problems)
        return VerifyReport(problems=found, rebuilt=rebuilt, projects=len(self.projects), heads=self.heads, **counts)


def _printable(text: str) -> str:
    """Returns the text as UTF-8 can carry it: a damaged value may be no text at all."""
    return text.encode("utf-8", "backslashreplace").decode()


def examine(
    session: Session,
    findings: Findings,
    *,
    seal: Seal,
    check_store: Callable[[], None] | None = None,
    check_text: Callable[[View, Report], None] | None = None,
) -> Findings:
    """Looks through all that a session sees. `check_store` runs once the projects are known, `check_text` for each of them."""
    dimensions: dict[int, int] = {}
    with findings.reading("projects"):
        findings.projects += [(row, str(name)) for row, name in session.all("projects")]
    with findings.reading("embedder"):
        dimensions |= dimensions_of(session)
    with findings.reading("store") as report:
        if not is_whole(session):
            report("store", "its values, the database's id and embedder, are not those that its checksum was made of")
    if check_store is not None:
        check_store()
    for project in findings.projects:
        view, wanted = View(session, project[0], seal), Expected()
        with findings.reading("journal", project) as report:
            replay(wanted, view, project[1], report)
            _check_head(view, wanted, report)
        findings.counts += Counter(records=wanted.records, purged=wanted.purged)
        findings.heads[project[1]] = wanted.head.hex()
        for table in TABLES.values():
            with findings.reading("tables", project) as report:
                found = _check_rows(view, table, wanted, report)
                findings.counts["memories"] += found if table.name == "memory" else 0
        with findings.reading("lists", project) as report:
            _check_lists(view, wanted, report)
        with findings.reading("vectors", project) as report:
            findings.counts["vectors"] += _check_vectors(view, wanted, dimensions, findings, report)
        with findings.reading("full text", project) as report:
            if check_text is not None:
                check_text(view, report)
    return findings


def _check_head(view: View, wanted: Expected, report: Report) -> None:
    seq, head, learned = view.ends()
    if (wanted.seq, wanted.head) != (seq, head):
        report(f"journal record {seq}", f"the newest record should be {seq}; the journal ends at {wanted.seq}")
    if wanted.learned_seq != learned:
        report("project", f"its learned_seq is {learned}, but record {wanted.learned_seq} is the newest that may change it")


def _check_rows(view: View, table: LogicalTable, wanted: Expected, report: Report) -> int:
    """Compares the rows of a table with the journal, and returns their number."""
    keys, found = wanted.keys(table.name), dict[str, None]()
    for stored in table.rows(view):
        fault = "is there twice" if stored.key in found else _fault(stored, wanted, table)
        found[stored.key] = None
        if fault:
            report(f"{table.name} {stored.key}", fault)
    for key in keys:
        if key not in found:
            report(f"{table.name} {key}", "is in the journal, but its row is gone")
    if table.is_numbered and [key for key in keys if key in found] != [key for key in found if (table.name, key) in wanted.rows]:
        report(table.name, "has row numbers in another order than that in which the rows were made")
    return len(found)


def _fault(stored: StoredRow, wanted: Expected, table: LogicalTable) -> str | None:
    row = wanted.rows.get((stored.table, stored.key))
    if row is None:
        return "is in no journal record"
    if stored.row is None:
        return stored.fault
    found = {**stored.row, "seq": stored.seq} if table.is_numbered else stored.row
    columns = sorted(name for name in {*found, *row} if found.get(name) != row.get(name))
    return f"differs from the journal in {', '.join(columns)}" if columns else None


def _check_lists(view: View, wanted: Expected, report: Report) -> None:
    """Compares partitions, histories and removed passages with the journal. After a purge, a partition may be of an owner whom no record names."""
    seal, given = view.seal, {"project": view.project}
    for row, is_user, owner, kind, is_used in view.session.all("partitions_used", given):
        if is_user not in (0, 1) or not (is_used or wanted.purged or (bool(is_user), owner, kind) in wanted.owners):
            report(f"partition {row}", f"is of {owner} and of {kind} memories, of which there never was one")
    held = set(view.session.all("touched_all", given))
    for key, seq in sorted(held ^ {(hide_touched(seal, key), seq) for key, seq in wanted.touched}):
        says = f"lists record {seq}, which did not change it" if (key, seq) in held else f"does not list record {seq}"
        report(f"history of {reveal_touched(seal, key)}", says)
    removed = dict(view.session.all("removed_counts", given))
    for seq in sorted({*removed, *wanted.removals}):
        count = wanted.removals.get(seq, 0)
        if count not in (None, removed.get(seq, 0)):
            report(f"removed passages of record {seq}", f"lists {removed.get(seq, 0)}, but the record removed {count}")


def _check_vectors(view: View, wanted: Expected, dimensions: Mapping[int, int], findings: Findings, report: Report) -> int:
    """Compares the vectors with their checksums and with the texts that need one, and returns how many serve. A strategy may have none: it is
    embedded when it is compared."""
    if not dimensions:
        return 0
    rows = (row for (table, _), row in wanted.rows.items() if table == "passage" and row["text_hash"] is not None)
    needed = {bytes.fromhex(row["text_hash"]): row for row in rows}
    held: dict[bytes, bool] = {}
    for _, digest, embedder, fault in stored_vectors(view, dimensions):
        if embedder == next(iter(dimensions)):
            held[digest] = fault is None
        if fault is not None:
            report(f"vector {digest.hex()}", f"{fault}{_owner_hint(needed.get(digest))}")
    for digest in needed.keys() - held.keys():
        report(f"vector {digest.hex()}", f"is missing{_owner_hint(needed[digest])}")
    findings.unembedded[view.project] = [row["text"] for digest, row in needed.items() if not held.get(digest)]
    return len(held)


def _owner_hint(row: Mapping[str, str] | None) -> str:
    return f"; it belongs to memory {row['memory']}" if row else ""


def stored_vectors(view: View, dimensions: Mapping[int, int]) -> Iterator[tuple[int, bytes, int, str | None]]:
    """Yields row, text hash and embedder of each vector of the project, and what is wrong with it. Those of embedders that were given up are left
    over, and not looked at. `dimensions` are the lengths of vectors by the number of their embedder."""
    for row, hidden, embedder, sealed, checksum in view.session.all("vector_rows", {"project": view.project}):
        fault = None
        if embedder in dimensions:
            fault = "was changed"
            with suppress(ValueError):  # one that cannot be opened is damaged
                size = len(view.seal.open(sealed, place="vector.vector", row=(view.project, hidden, embedder)))
                if size == 2 * dimensions[embedder] and vector_checksum(hidden, sealed) == checksum:
                    fault = None
        elif embedder > max(dimensions):
            fault = f"is of embedder {embedder}, and the newest is {max(dimensions)}"
        yield row, revealed_hash(view.seal, hidden, place=TEXT), embedder, fault
