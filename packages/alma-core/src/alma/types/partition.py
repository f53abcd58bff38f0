"""Location of a memory inside its project."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partition:
    """The memories of one kind of one owner. `row` is a handle of one database; `is_user` distinguishes a user from an agent of the same
    name."""

    row: int
    is_user: bool
    owner: str
    kind: str
