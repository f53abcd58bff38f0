"""Results of an import of what another program or another person recorded."""

from alma.types.value import Value


class Remark(Value):
    """A reason why rows were left out or changed: the number of rows, and the id of the first of them there."""

    reason: str
    rows: int
    first: str


class MigratedKind(Value):
    """One kind of memory: `read` rows are those `stored`, those `present` already from an earlier run, and the `skipped` ones.

    `changed` lists what was left out of rows that are stored all the same. A row may appear under several remarks.
    """

    kind: str
    read: int = 0
    stored: int = 0
    present: int = 0
    skipped: tuple[Remark, ...] = ()
    changed: tuple[Remark, ...] = ()


class MigrationReport(Value):
    """Result of an import from a database of alma-memory, or of an export whose word is not taken for more.

    `source_project` was read into `project`. `rules` counts the rules that were formed again, by kind. `not_read` counts the rows of
    tables that have no counterpart here, or the lines of an export that are no memories. With `dry_run` nothing was stored, and `stored` is
    what would be.
    """

    source: str
    source_project: str
    project: str
    dry_run: bool
    kinds: tuple[MigratedKind, ...]
    rules: dict[str, int]
    not_read: dict[str, int]

    @property
    def stored(self) -> int:
        """Number of memories stored, of all kinds, without the rules that were formed again."""
        return sum(kind.stored for kind in self.kinds)
