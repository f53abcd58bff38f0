"""The contract of stores that keep all they hold in files of one folder."""

from pathlib import Path

from alma.protocols import Project, Store
from alma_testing.builders import make_outcome
from alma_testing.contracts.store_journal import TELLTALE
from alma_testing.contracts.stored import AT, WithStore, add


class FileStoreContract(WithStore):
    """Contract of a store for its files, beside `StoreContract`.

    A test class that inherits this defines a fixture `open_store`, as for `StoreContract`. The store keeps nothing outside of the folder.
    """

    def test_after_compacting_no_file_holds_what_was_purged(self, store: Store, project: Project, tmp_path: Path) -> None:
        secret = make_outcome(task_description=TELLTALE)
        add(store, project, secret)
        assert project.purge([secret.id], records=[], actor="agent", at=AT) is not None
        assert store.compact()
        for file in tmp_path.rglob("*"):
            assert not file.is_file() or TELLTALE.encode() not in file.read_bytes(), file
