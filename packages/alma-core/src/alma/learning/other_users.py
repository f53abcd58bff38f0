"""What crosses from the users of an agent to others: counts, and strategies, tasks and errors in words that at least two of them brought."""

from dataclasses import dataclass, field
from typing import NamedTuple

from alma.types.evidence import Evidence, Happening, bare_place
from alma.types.partition import SEPARATOR, user_in
from alma.types.reasons import joined, skeleton

ENOUGH_USERS = 2
"""Words that came from this number of users are those of no single one."""


def users_of(agent: str) -> str:
    """Returns the name that stands for all users of an agent together, in the place of an owner."""
    return f"{agent}{SEPARATOR}"


def stands_for_users(owner: str) -> bool:
    """Checks that a name stands for all users of an agent."""
    return owner.endswith(SEPARATOR)


class Held(NamedTuple):
    """A cell of a user, the row and worth of its first outcome, and the vectors of its task and its strategy."""

    evidence: Evidence
    first: tuple[int, float | None]
    task_vector: bytes | None
    strategy_vector: bytes | None


@dataclass(slots=True)
class _Brought:
    """Words that users brought: by whom, and what all of them said."""

    users: set[str] = field(default_factory=set)
    text: str = ""

    @property
    def is_common(self) -> bool:
        """Whether enough users brought them."""
        return len(self.users) >= ENOUGH_USERS


@dataclass(slots=True)
class OtherUsers:
    """The evidence of users whom a reader does not act for. With `is_shared` nothing of it is held back."""

    is_shared: bool = False
    own_strategies: set[str] = field(default_factory=set)
    """The hashes of the strategies that the reader may read of itself."""
    held: dict[str, dict[str, Held]] = field(default_factory=dict)
    """The cells that may not be shown yet, by the hash of their strategy and by their id."""
    _strategies: dict[str, _Brought] = field(default_factory=dict)
    _tasks: dict[str, _Brought] = field(default_factory=dict)
    _reasons: dict[tuple[str, str], _Brought] = field(default_factory=dict)

    def add(self, cell: Held) -> list[Held]:
        """Takes in a cell. Returns the cells that the reader may see from now on, as it may see them."""
        evidence = cell.evidence
        user, strategy = user_in(evidence.owner) or "", evidence.strategy_hash
        was_visible = self.is_visible(strategy)
        _bring(self._strategies.setdefault(strategy, _Brought()), user, evidence.strategy)
        if evidence.task:
            _bring(self._tasks.setdefault(bare_place(evidence.task_class), _Brought()), user, evidence.task)
        for what, _, _ in evidence.reasons:
            reason = self._reasons.setdefault((strategy, skeleton(what)), _Brought())
            reason.text = joined(reason.text, what) if reason.users else what
            reason.users.add(user)
        if was_visible:
            return [self._as_visible(cell)]
        self.held.setdefault(strategy, {})[evidence.id] = cell
        return self._released(strategy)

    def note_own(self, strategy: str) -> list[Held]:
        """Notes that the reader may read a strategy of itself. Returns the cells of others that it may see from now on."""
        if strategy in self.own_strategies:
            return []
        was_visible = self.is_visible(strategy)
        self.own_strategies.add(strategy)
        return [] if was_visible else self._released(strategy)

    def is_visible(self, strategy: str) -> bool:
        """Returns True if the reader may see the words of a strategy."""
        return strategy in self.own_strategies or self.is_common(strategy)

    def is_common(self, strategy: str) -> bool:
        """Returns True if enough users brought a strategy for a rule that all may read."""
        brought = self._strategies.get(strategy)
        return brought is not None and (self.is_shared or brought.is_common)

    def visible_task(self, evidence: Evidence) -> str:
        """Returns the words of a cell's task, "" if they are those of a single user."""
        if self.is_shared:
            return evidence.task or ""
        brought = self._tasks.get(bare_place(evidence.task_class))
        return brought.text if brought is not None and brought.is_common else ""

    def _released(self, strategy: str) -> list[Held]:
        """Returns the cells of a strategy as they may be shown, if it may be. They are held no more: the reader has them."""
        return [self._as_visible(cell) for cell in self.held.pop(strategy, {}).values()] if self.is_visible(strategy) else []

    def _as_visible(self, cell: Held) -> Held:
        if self.is_shared:
            return cell
        reasons: dict[str, Happening] = {}
        for what, count, last in cell.evidence.reasons:
            brought = self._reasons[cell.evidence.strategy_hash, skeleton(what)]
            if brought.is_common:
                reasons[brought.text] = (brought.text, count, last)
        visible = cell.evidence.without_rules(task=self.visible_task(cell.evidence), reasons=tuple(reasons.values()))
        return cell._replace(evidence=visible)


def _bring(brought: _Brought, user: str, text: str) -> None:
    brought.text = brought.text or text
    brought.users.add(user)
