"""Protocols for reading the evidence of a project."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from alma.evidence import Tally
from alma.types.evidence import StoredEvidence


class Counted(Protocol):
    """Reads evidence by agent and by task."""

    def upto(self) -> int:
        """Returns the newest journal record that changed any evidence, 0 if there is none."""

    def newest(self, owners: Iterable[str], *, most: int) -> Mapping[str, Sequence[StoredEvidence]]:
        """Returns the newest evidence of each owner, newest first: at most `most` stored ones, and at most `most` that are single outcomes.

        A name that ends with the separator of owners (`alma.types.partition`) stands for all users of the agent before it: their stored evidence.
        """

    def of_tasks(self, class_ids: Iterable[str]) -> Sequence[StoredEvidence]:
        """Returns all evidence whose ids begin with one of these (see `class_id`). Where none is stored, that of the only outcome, if any."""

    def first_outcomes(self, evidence_ids: Iterable[str]) -> Mapping[str, tuple[int, float | None]]:
        """Returns, for each evidence, the row of the first outcome that it counts and how successful that was; `None` if it was not judged."""

    def total(self, agent: str) -> Tally:
        """Returns the sum of all judged attempts of an agent, single steps excluded."""


class Linked(Protocol):
    """Follows the links between evidence, rules and outcomes."""

    def behind(self, memories: Sequence[int]) -> Mapping[int, StoredEvidence]:
        """Returns the evidence that outcomes belong to or that rules rest on, by row of the memory."""

    def with_rules(self, agent: str) -> Sequence[StoredEvidence]:
        """Returns all evidence of an agent that a rule rests on, or once did."""

    def outcomes(self, evidence_id: str, *, newest: int) -> Sequence[int]:
        """Returns the rows of the outcomes that an evidence counts, newest first, archived ones included."""

    def uncounted(self, evidence_ids: Iterable[str]) -> str | None:
        """Returns one of the ids that outcomes refer to but whose evidence does not count them; `None` if all are counted as learning leaves
        them."""


class Learned(Counted, Linked, Protocol):
    """The evidence of one project."""
