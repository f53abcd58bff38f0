"""A store whose truth is a folder of readable journals."""

import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from alma.errors import ConfigurationError, ConflictError, CorruptStoreError
from alma.files import STORE_ENDING, STORE_HEADER
from alma.storage.relational.session import Session
from alma.storage.relational.store import RelationalStore
from alma.storage.sqlite import connections
from alma.storage.sqlite.connections import continue_numbers, storage_errors
from alma.storage.sqlite.files import compact
from alma.storage.sqlite.fulltext import FTS5Index
from alma.types.identity import Fingerprint, to_micros
from alma.types.stored import Moved, StoreRequest
from alma_files.database import FileDatabase
from alma_files.layout import Layout
from alma_files.locking import locked_file
from alma_files.projecting import SEAL

DRAFT = ".moving"


class FileStorage(RelationalStore):
    """A store in readable files, which a person may keep in git. Shared by threads and processes."""

    def __init__(self, database: FileDatabase, *, at: int) -> None:
        """Takes a database and reads the files."""
        self.database = database
        try:
            if not database.is_draft:
                database.catch_up()
                if database.layout.is_former():
                    database.upgrade(at=at)
            super().__init__(database, FTS5Index(SEAL))
        except BaseException:
            database.close()
            raise

    @property
    def file(self) -> str:
        """The path of the folder."""
        return str(self.database.layout.folder)

    def use_embedder(self, embed: Callable[[Sequence[str]], Sequence[bytes]]) -> None:
        """Has float16 vectors made by this function where the cache holds none, now and later."""
        self.database.use_embedder(embed)

    def size(self) -> int:
        """Bytes of the files, caches left out."""
        return sum(size for _, size, _ in self.database.layout.state().values())

    def compact(self) -> bool:
        """Writes all files anew, caches too, without what was deleted."""
        self.database.erase()
        return compact(self.database, seal=self.seal)

    def copy_from(self, source: RelationalStore, progress: Callable[[int, int], None] | None = None) -> Moved:
        """Makes this new store what the source is, and writes its files."""
        moved = super().copy_from(source, progress)
        with self.database.transaction() as connection:
            self.database.write_all(connection)
        return moved

    def continue_numbers(self, session: Session) -> None:
        """Has row numbers go on after all that were copied."""
        continue_numbers(session)

    def take_place(self) -> None:
        """Closes a draft and gives it the name that it was made for."""
        self.close()
        folder = self.database.layout.folder
        target = folder.with_name(folder.name.removesuffix(DRAFT))
        _check_free(Layout(target))
        with storage_errors(folder):
            folder.rename(target)

    def discard(self) -> None:
        """Closes a draft and deletes it."""
        self.close()
        with storage_errors(self.database.layout.folder):
            shutil.rmtree(self.database.layout.folder)

    def close(self) -> None:
        """Ends the use of the files here. Using the store afterwards is a `StorageError`."""
        self.database.close()


def open_files(request: StoreRequest) -> FileStorage:
    """Opens the files of a folder, made if they are not there yet. The `StorageFactory` of `file`."""
    if request.encryption_key is not None:
        raise ConfigurationError(
            "encryption: the store 'file' is readable text and does not encrypt; remove the key, or use sqlite"
        )
    folder = str(request.options.get("url", request.folder)).removeprefix("file://")
    layout = Layout(Path(request.folder, folder, f"{Path(request.db_name).stem}{STORE_ENDING}"))
    if request.is_draft:
        _check_free(layout)
        layout = Layout(layout.folder.with_name(f"{layout.folder.name}{DRAFT}"))
    values = layout.read_header()
    if values is None:
        values = _made(layout, request)
    else:
        layout.begin()
    at = to_micros(request.at)
    database = FileDatabase(layout, values, at=at, lock_timeout=request.lock_timeout, is_draft=request.is_draft)
    return FileStorage(database, at=at)


def _made(layout: Layout, request: StoreRequest) -> dict[str, str]:
    fingerprint = request.fingerprint()
    layout.begin()
    with locked_file(layout.lock, seconds=request.lock_timeout or connections.BUSY_SECONDS):
        values = layout.read_header()
        if values is None:
            _check_empty(layout)
            values = _new_values(fingerprint)
            layout.write_header(values)
        return values


def _check_empty(layout: Layout) -> None:
    """`CorruptStoreError` if there are journals: a new header would make them those of another store."""
    if found := layout.state():
        raise CorruptStoreError(
            f"{layout.folder / STORE_HEADER} is missing, though {min(found)} is there; restore it, from git say, or move the folder away"
        )


def _new_values(fingerprint: Fingerprint) -> dict[str, str]:
    return {"id": str(uuid.uuid4()), "embedder": fingerprint.model_dump_json(), "embedder_number": "1"}


def _check_free(layout: Layout) -> None:
    if layout.folder.exists() and layout.read_header() is not None:
        raise ConflictError(f"there is a store in {layout.folder} already")
