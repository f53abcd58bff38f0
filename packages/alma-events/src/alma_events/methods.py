"""The method of `ALMA` that this package provides."""

from collections.abc import Collection
from typing import Any

from alma_events.reading import Events, Payload, read_events


class EventMethods:
    """Reads events. `ALMA` has this method."""

    def events(
        self,
        after: str | int | None = None,
        *,
        types: Collection[str] | None = None,
        agents: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        follow: bool = False,
        payload: Payload = "thin",
    ) -> Events:
        """Returns the events of the project in the order of its journal: from its beginning, or those after a position.

        A position is the `position` of an event, "seq.index", or the number of a journal record. `types`, `agents` and `kinds` select
        events by type, by the agent and by the kind of the memory. With `follow` it goes on with new events, of other processes too, until
        it is closed. `payload="full"` adds the memory as it is when it is read. Go through it with `for`, or with `async for`. Writes nothing.
        """
        alma: Any = self
        return read_events(alma, after=after, types=types, agents=agents, kinds=kinds, follow=follow, payload=payload)
