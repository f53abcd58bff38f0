"""The deliveries of one endpoint that wait, in lanes: within a lane they go one after another."""

import heapq
from collections import deque
from collections.abc import Iterable, Sequence

from alma_events.webhooks.rows import Position, Reference


class Lanes:
    """References that wait for an attempt. Not shared by threads."""

    def __init__(self) -> None:
        self._lanes: dict[str, deque[Reference]] = {}
        self._heads: list[tuple[float, Position, str]] = []
        self._away: set[str] = set()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, references: Iterable[Reference]) -> None:
        """Adds references in the order of the journal."""
        for each in references:
            lane = self._lanes.setdefault(each.lane, deque())
            lane.append(each)
            self._size += 1
            if len(lane) == 1 and each.lane not in self._away:
                self._offer(each)

    def next_due(self) -> float | None:
        """Returns when the next attempt is due, `None` while nothing waits that is not on its way."""
        return self._heads[0][0] if self._heads else None

    def take(self, now: float, most: int) -> list[Reference]:
        """Returns references that are due, at most `most`, in the order of the journal. Their lanes stand still until they are given back."""
        taken: list[Reference] = []
        while self._heads and self._heads[0][0] <= now and len(taken) < most:
            name = heapq.heappop(self._heads)[2]
            lane = self._lanes[name]
            self._away.add(name)
            while lane and lane[0].due <= now and len(taken) < most:
                taken.append(lane.popleft())
        return sorted(taken, key=lambda each: each.at)

    def give_back(self, taken: Sequence[Reference], *, waiting: Sequence[Reference] = ()) -> None:
        """Ends the way of references that were taken, but for those `waiting` for another attempt, which come first in their lanes again."""
        for each in reversed(waiting):
            self._lanes[each.lane].appendleft(each)
        self._size -= len(taken) - len(waiting)
        for name in {each.lane for each in taken}:
            self._away.discard(name)
            if lane := self._lanes[name]:
                self._offer(lane[0])
            else:
                del self._lanes[name]

    def _offer(self, head: Reference) -> None:
        heapq.heappush(self._heads, (head.due, head.at, head.lane))
