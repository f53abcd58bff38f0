"""One call of the API as a value: what it will change if it lands. Written to a ledger before the call, read by whoever checks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Made:
    """A memory that a call makes. `token` is a word that no other memory has; `owner` an agent, or a user if `is_user`.

    `tried` is the task type and the strategy that the outcome counts for. Where others have the same text (steps and the ending of one episode),
    it is not `is_findable`: a search may return one of the others.
    """

    token: str
    kind: str
    owner: str
    text: str = ""
    is_user: bool = False
    verdict: str | None = None
    tried: tuple[str, str] | None = None
    is_findable: bool = True


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that is about to be made, and everything that it changes.

    `operations` are its journal records. `usage` is what it adds to the counts of memories. `episode` is an id with its status and number of steps
    afterwards, `saves` a small record with its version afterwards. `copies` names the project whose content an import brings.
    """

    call: str
    project: str = ""
    actor: str = ""
    operations: tuple[str, ...] = ()
    made: tuple[Made, ...] = ()
    archives: tuple[str, ...] = ()
    purges: tuple[str, ...] = ()
    undoes_to: int | None = None
    usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    episode: tuple[str, str, int] | None = None
    saves: tuple[str, int] | None = None
    verdicts: Mapping[str, str] = field(default_factory=dict)
    copies: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The fields that say something."""
        return {name: value for name, value in asdict(self).items() if value or value == 0}


def intent_from(told: Mapping[str, Any]) -> Intent:
    """The intent that `as_json` described."""
    made = tuple(Made(**{**each, "tried": tuple(each["tried"]) if each["tried"] else None}) for each in told.get("made", ()))
    tuples = {name: tuple(told[name]) for name in ("operations", "archives", "purges", "episode", "saves") if name in told}
    return Intent(**{**told, **tuples, "made": made})


@dataclass(frozen=True, slots=True)
class Done:
    """A call with its result, as far as the ledger has it.

    `fate` is "acknowledged" (it returned), "refused" (it raised an error that it may raise), "failed" (it raised another) or "unknown" (its process
    was killed). `ids` are those of the memories made, by token. `wrote` is false for a call that had nothing to do. `error` is the error that it
    raised, `seconds` how long it took.
    """

    intent: Intent
    fate: str
    ids: Mapping[str, str] = field(default_factory=dict)
    wrote: bool = True
    error: str = ""
    seconds: float = 0.0
