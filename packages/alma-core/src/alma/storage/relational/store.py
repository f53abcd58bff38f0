"""A store over any SQL database: many projects, one embedder."""

import uuid
from collections.abc import Callable
from copy import copy
from typing import Self

from alma.errors import CorruptStoreError
from alma.storage.relational.copying import Copying, is_copy_of_another_state
from alma.storage.relational.project import SQLProject
from alma.storage.relational.reembedding import NextVectors, drop_left_over
from alma.storage.relational.session import Database, OpenSeal, Seal, Session, note_checksum
from alma.storage.relational.text_index import TextIndex
from alma.storage.relational.verify import Findings, examine
from alma.types.identity import Fingerprint
from alma.types.reports import VerifyReport
from alma.types.stored import Moved


class RelationalStore:
    """The truth: every memory, its passages and vectors, and the journal. What all SQL stores do alike."""

    def __init__(self, database: Database, text: TextIndex, *, seal: Seal | None = None) -> None:
        """Takes a database whose tables are there and filled by `begin`. `CorruptStoreError` if it does not say what it is."""
        self.text = text
        self.seal = seal or OpenSeal()
        self.sessions = database
        self.id, self.fingerprint, self.embedder, self.migrations = self._identity()

    @staticmethod
    def begin(session: Session, fingerprint: Fingerprint) -> None:
        """Notes in new tables which database this is, and which embedder makes its vectors."""
        values = {"id": str(uuid.uuid4()), "embedder": fingerprint.model_dump_json(), "embedder_number": "1"}
        session.run_many("store_put", [{"key": key, "value": value} for key, value in values.items()])
        note_checksum(session)

    def project(self, name: str) -> SQLProject:
        """One project of this store; made by its first write."""
        return SQLProject(self, name)

    def project_names(self) -> list[str]:
        """The projects that hold anything, by name."""
        with self.sessions.reading() as session:
            return sorted(str(name) for _, name in session.all("projects"))

    def verify(self) -> VerifyReport:
        """Lists what is wrong with what is stored. Reads only, and lets others write meanwhile."""
        with self.sessions.snapshot_apart() as session:
            return self._examine(session).report()

    def _examine(self, session: Session) -> Findings:
        """Returns what is wrong with all that a session sees, full text left out."""
        return examine(session, Findings(), seal=self.seal)

    def next_vectors(self, fingerprint: Fingerprint) -> NextVectors:
        """The vectors of another embedder, to be made while those of the present one serve; what was made of them before is still there."""
        return NextVectors.begin(self.sessions, self.seal, fingerprint)

    def copy_from(self, source: "RelationalStore", progress: Callable[[int, int], None] | None = None) -> Moved:
        """Makes this new store what the source is: all projects, journals included. What an earlier call copied stays."""
        copying = Copying(source.sessions, self.sessions, self.text, self.seal, self.continue_numbers, progress)
        return copying.run()

    def is_copy_of_another(self, source: "RelationalStore") -> bool:
        """Returns True if a copy of something else than what the source holds now was begun here."""
        return is_copy_of_another_state(source.sessions, self.sessions)

    def continue_numbers(self, session: Session) -> None:
        """Has row numbers go on after all that were copied, also after those of passages that are gone. Each dialect does so in its own way."""

    def drop_left_over(self) -> int:
        """Deletes the vectors of embedders that are gone, and returns how many. Others may write meanwhile."""
        return drop_left_over(self.sessions)

    def renewed(self) -> Self:
        """The same open database, seen with the embedder that it has now. Closing either closes both."""
        other = copy(self)
        other.id, other.fingerprint, other.embedder, _ = other._identity()
        return other

    def _identity(self) -> tuple[str, Fingerprint, int, int]:
        with self.sessions.reading() as session:
            values = dict(session.all("store_values"))
            ((migrations,),) = session.all("migrations_run")
        try:
            number = int(values["embedder_number"])
            return str(uuid.UUID(values["id"])), Fingerprint.model_validate_json(values["embedder"]), number, int(migrations)
        except (KeyError, ValueError) as error:
            raise CorruptStoreError(
                f"{self.sessions.name} does not say which database it is and which embedder made it; restore it from a backup"
            ) from error
