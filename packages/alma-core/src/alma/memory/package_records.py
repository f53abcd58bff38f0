"""Small versioned records that packages keep beside memories: sessions, checkpoints, work items."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.text import quoted
from alma.types.identity import from_micros
from alma.types.package_records import KIND, REFERENCES, Record, references_in

LARGEST_BODY = (1 << 20) + (1 << 15)
"""Characters of a record's body as JSON, at most: a state of 1 MiB and what describes it."""

MOST_LISTED = 100_000


def checked_kind(value: object) -> str:
    """Returns the kind of a package's records: two words joined by a dot."""
    if not isinstance(value, str) or not KIND.fullmatch(value):
        raise ValidationError(
            f"a kind of records is two lower-case words joined by a dot, as workflow.checkpoint, not {quoted(value)}"
        )
    return value


@dataclass(frozen=True, slots=True)
class Records:
    """The small records of one kind in one project. Thread-safe; processes share them.

    They are part of the project's journal: `undo`, `export`, `import_from`, `migrate` and `verify` cover them. Secrets in a body are
    replaced before it is stored. A body's `agent` and `user_id`, where it has them, say whose it is: an export of that agent or user
    contains it, and `forget_user` erases it. Its `references`, a list of ids, say which memories it speaks of: where one that it names or ever
    named is purged, the record is erased with it, and with it the memories of its own agent and user that its `made` lists. `ValidationError` for
    an id that the project does not have.
    """

    _room: Room
    kind: str

    def now(self) -> datetime:
        """Returns the time by the clock of the store."""
        return from_micros(self._room.latest.now())

    @property
    def holder(self) -> str:
        """Name of this open store, which no other opening has. It says nothing of whether a process still runs: give a record a time for that."""
        return self._room.latest.store.name

    def as_stored(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a body as `put` would store it: checked, with its secrets replaced. Writes nothing."""
        return self._checked_body(self._room.latest, body)

    def get(self, key: str) -> Record | None:
        """Returns the record of a key, `None` if there is none."""
        return self.find([key]).get(key)

    def find(self, keys: Iterable[str]) -> dict[str, Record]:
        """Returns the records of some keys by key, in their order. Keys without a record are left out."""
        wanted = [_checked_key(key) for key in keys]
        found = self._room.latest.project.record(self.kind, wanted).items()
        return {key: Record(key=key, version=version, body=body) for key, (version, body) in found if version}

    def listed(self, *, under: str | None = None, newest: int | None = None) -> list[Record]:
        """Returns all records by key, or the `newest` that changed last, newest first.

        `under` restricts them to keys that begin with it and a slash; it cannot be given with `newest`.
        """
        if under is not None and newest is not None:
            raise ValidationError("give under or newest, not both")
        most = None if newest is None else args.checked_count(newest, "newest", largest=MOST_LISTED)
        start = None if under is None else _checked_key(under)
        found = self._room.latest.project.records(self.kind, newest=most, under=start)
        return [Record(key=key, version=version, body=body) for key, version, body in found]

    def put(self, key: str, body: Mapping[str, Any], *, version: int = 0, actor: str = "") -> Record:
        """Stores a record in place of version `version`, 0 for a new one. `ConflictError` if it is at another by now."""
        return self.put_many([(key, body, version)], actor=actor)[0]

    def put_many(self, records: Iterable[tuple[str, Mapping[str, Any], int]], *, actor: str = "") -> list[Record]:
        """Stores records, each a key, a body and the version that it replaces, in one transaction: all or none."""
        room = self._room.latest
        wanted = [
            (_checked_key(key), self._checked_body(room, body), _checked_version(version)) for key, body, version in records
        ]
        if not wanted:
            return []
        with room.project.write(actor=_checked_actor(actor), operation=self.kind, at=room.now()) as write:
            named = list(dict.fromkeys(one for _, body, _ in wanted for one in references_in(body)))
            known = write.stored.find(named) if named else {}
            if unknown := [one for one in named if one not in known]:
                raise ValidationError(f"{REFERENCES} names {quoted(unknown[0])}, which is no memory of this project")
            for key, body, version in wanted:
                write.put_record(self.kind, key, body, version=version)
        return [Record(key=key, version=version + 1, body=body) for key, body, version in wanted]

    def erase(self, keys: Iterable[str], *, actor: str = "") -> int:
        """Erases records for good, from the journal too, and returns how many there were."""
        room = self._room.latest
        found = list(self.find(keys))
        if not found:
            return 0
        room.project.purge([], records=[f"{self.kind}/{key}" for key in found], actor=_checked_actor(actor), at=room.now())
        return len(found)

    def _checked_body(self, room: Room, body: object) -> dict[str, Any]:
        """Returns the body as it is stored. Redaction may lengthen a text, so the limit holds for what comes out, too."""
        plain = args.checked_json(body, f"a record of {self.kind}", largest=LARGEST_BODY)
        if REFERENCES in plain and not isinstance(plain[REFERENCES], list):
            raise ValidationError(f"{REFERENCES} must be a list of ids, not {quoted(plain[REFERENCES])}")
        args.checked_ids(plain.get(REFERENCES, []), REFERENCES)
        return args.checked_json(room.store.redaction.value(plain), f"a record of {self.kind}", largest=2 * LARGEST_BODY)


def _checked_key(value: object) -> str:
    key = args.checked_label(value, "key")
    if key.startswith("/") or key.endswith("/"):
        raise ValidationError(f"a key neither begins nor ends with a slash: {quoted(key)}")
    return key


def _checked_version(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValidationError(f"version is {quoted(value)}; it is the number of the record that is replaced, 0 for a new one")
    return value


def _checked_actor(value: object) -> str:
    return "" if value == "" else args.checked_name(value, "actor")
