"""What `retrieve` and `explain_retrieval` are asked."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from alma.memory.recall.search import ARMS


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveRequest:
    """The arguments of a retrieval as a caller gave them. They are checked in `alma.memory.recall.answering.asked`."""

    task: object
    agent: object
    top_k: object = 5
    user_id: object = None
    task_type: object = None
    include_shared: bool = True
    profile: str | None = None
    weights: Mapping[str, float] | None = None
    arms: Collection[str] = ARMS
    verified: bool = False
    since: object = None
    until: object = None
    as_of: object = None
    temporal_filter: object = None
