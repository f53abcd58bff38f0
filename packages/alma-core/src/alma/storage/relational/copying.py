"""Copies a whole store into a new one of any dialect: every row as it is, the journal included, then the full text.

What is copied is committed portion by portion, so a copy that was interrupted goes on. The values of the store are written last: until then the
new one has no content of its own.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from alma import journal
from alma.errors import StorageError
from alma.storage.relational.logical import View, read_rows
from alma.storage.relational.session import Database, Seal, Session, check_whole, note_checksum
from alma.storage.relational.text_index import TextIndex, fill
from alma.types.stored import Moved, MovedProject

COPIED = ("journal", "memory", "partition", "passage", "project", "record", "removed", "touched", "usage", "vector")
"""The tables whose rows go along, by name; `store` goes last, in another way. Named here, since opening a store loads no SQLAlchemy."""

ROWS_AT_ONCE = 2_000
MARK, TEXTS = "copy_of", "copied_texts"
"""Keys of the `store` table while a copy is under way: of which state it is one, and the projects whose full text is done."""

Progress = Callable[[int, int], None]


def mark_of(session: Session) -> str:
    """Names the state of a store: its id, and where each journal ends."""
    values = dict(session.all("store_values"))
    ends = [(name, *_end(session, row)) for row, name in session.all("projects")]
    return hashlib.sha256(json.dumps([values.get("id"), sorted(ends)]).encode()).hexdigest()


def is_copy_of_another_state(source: Database, target: Database) -> bool:
    """Returns True if the target has begun to be a copy of something else than what the source holds now."""
    with source.reading() as session:
        mark = mark_of(session)
    with target.reading() as session:
        return bool(dict(session.all("store_values")).get(MARK, mark) != mark)


@dataclass(slots=True)
class Copying:
    """A copy under way. `finish` continues the numbers of rows where the source's end."""

    source: Database
    target: Database
    text: TextIndex
    seal: Seal
    finish: Callable[[Session], None]
    progress: Progress | None = None

    def run(self) -> Moved:
        """Copies what is missing, compares both, and makes the target what the source is. `StorageError` if they differ."""
        with self.source.snapshot_apart() as view:
            check_whole(view)
            self._begin(mark_of(view))
            total = sum(self._count(view, name) for name in COPIED)
            kept = done = 0
            for name in COPIED:
                with self.target.reading() as session:
                    there = self._count(session, name)
                kept, done = kept + there, done + there
                for rows in self._read_missing(view, name, there):
                    with self.target.transaction() as session:
                        session.run_many(f"copied_{name}", rows)
                    done += len(rows)
                    if self.progress is not None:
                        self.progress(done, total)
            projects = [(int(row), str(name)) for row, name in view.all("projects")]
            for row, name in projects:
                self._copy_text(view, row, name)
            moved = [self._compare(view, row, name) for row, name in projects]
            self._end(view)
        return Moved(rows=total, kept=kept, projects=moved)

    def _begin(self, mark: str) -> None:
        with self.target.transaction() as session:
            values = dict(session.all("store_values"))
            if MARK not in values and self._count(session, "project"):
                raise StorageError(f"{self.target.name} holds projects of its own; copy into a new store")
            session.run("store_put", {"key": MARK, "value": mark})
            note_checksum(session)

    def _read_missing(self, view: Session, name: str, there: int) -> Iterator[list[dict[str, object]]]:
        rows = islice(view.each(f"copy_{name}"), there, None)
        while portion := list(islice(rows, ROWS_AT_ONCE)):
            yield portion

    def _copy_text(self, view: Session, row: int, name: str) -> None:
        """The full text of a project, in one transaction: it follows from its passages."""
        with self.target.transaction() as session:
            done = json.loads(dict(session.all("store_values")).get(TEXTS, "[]"))
            if name in done:
                return
            fill(View(view, row, self.seal), self.text, into=session)
            session.run("store_put", {"key": TEXTS, "value": json.dumps([*done, name])})
            note_checksum(session)

    def _compare(self, view: Session, row: int, name: str) -> MovedProject:
        with self.target.snapshot_apart() as copied:
            sides = [(_end(session, row), _content(View(session, row, self.seal))) for session in (view, copied)]
        if sides[0] != sides[1]:
            raise StorageError(f"project {name!r} in {self.target.name} is not what it is in {self.source.name}; verify both")
        (seq, _), content = sides[0]
        return MovedProject(name, seq, content)

    def _end(self, view: Session) -> None:
        given = dict(view.all("store_values"))
        with self.target.transaction() as session:
            for key in dict(session.all("store_values")).keys() - given.keys():
                session.run("store_delete", {"of_key": key})
            for key, value in given.items():
                session.run("store_put", {"key": key, "value": value})
            note_checksum(session)
            self.finish(session)

    @staticmethod
    def _count(session: Session, name: str) -> int:
        ((count,),) = session.all(f"copied_count_{name}")
        return int(count)


def _end(session: Session, row: int) -> tuple[int, str]:
    ((seq, digest, _),) = session.all("project_ends", {"project": row})
    return int(seq), digest.hex()


def _content(view: View) -> str:
    return journal.rows_hash((stored.table, stored.key, stored.row or {"fault": stored.fault}) for stored in read_rows(view))
