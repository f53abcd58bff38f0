"""The small records of one kind, as they are listed."""

import json
from collections.abc import Iterator
from typing import Any

from alma.storage.relational.hidden_keys import hide_key, reveal_key
from alma.storage.relational.logical import View


def small_records(view: View, kind: str, *, newest: int | None, under: str | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yields key, version and body: all, by key, or the `newest` that changed last, newest first; or those whose key begins with `under` and a
    slash, without looking at others."""
    of_kind = {"project": view.project, "kind": hide_key(view.seal, kind)}
    if under is not None:
        start = hide_key(view.seal, under)
        between = {"first": f"{start}/", "last": f"{start}0"}  # "0" is the character behind the slash
        found = list(view.session.all("records_under", {**of_kind, **between}))
    elif newest is None:
        found = list(view.session.all("records_of_kind", of_kind))
    else:
        found = list(view.session.all("records_newest", {**of_kind, "newest": newest}))
    named = [(reveal_key(view.seal, stored), version, body) for stored, version, body in found]
    if newest is None and view.seal.is_secret:
        named.sort()  # encrypted keys have another order
    for key, version, body in named:
        yield key, version, json.loads(view.seal.open(body, place="record.body", row=(view.project, kind, key)))
