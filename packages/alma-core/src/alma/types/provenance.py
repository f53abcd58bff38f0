"""Where a memory comes from: who recorded it, who judged it, and in which session, by which tool or from which document; and whether to doubt it."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from alma.text import one_line, shortened, words
from alma.types.identity import UtcDatetime, Value
from alma.types.kinds import VerdictSource
from alma.types.memories import AntiPattern, AnyMemory, Conversation, DomainKnowledge, Heuristic, Outcome, UserPreference
from alma_guard import reason_to_doubt

SESSION, TOOL, DOCUMENT = "session_id", "tool", "document"
"""Keys of the metadata that a caller may give to any memory."""

IMPORTED = "imported"
"""Key of the metadata under which `import_untrusted` notes what a file said of a memory; also the source of its facts."""

JUDGED = {
    VerdictSource.TOOL: "a tool (exit status, exception or test)",
    VerdictSource.PERSON: "a person",
    VerdictSource.EVALUATOR: "an evaluator",
    VerdictSource.CALLER: "the program that called ALMA",
    VerdictSource.AGENT: "the agent itself alone",
    VerdictSource.IMPORTED: "a file from elsewhere alone",
}
_SOURCES = {
    "user_stated": "stated by a user or a program",
    "explicit_instruction": "an explicit instruction of the user",
    "noted_by_agent": "noted by the agent itself",
}
_SHORT = 200


class MemoryProvenance(Value):
    """Where a memory comes from. A field is `None`, or empty, where it is not known or does not apply.

    `source` is that of a fact or a preference, `verdict_source` says who judged an outcome. `learned_from` counts who judged the newest 100
    outcomes behind a learned rule. `episode_id`, `step` and `run_id` name the attempt. `session_id`, `tool` and `document` are those of the
    attempt or the conversation, or what the metadata of the memory says under these names. `imported_from` has what an import noted.
    """

    memory_id: str
    kind: str
    agent: str
    user_id: str | None = None
    recorded_at: UtcDatetime
    seen_at: UtcDatetime
    source: str | None = None
    verdict_source: VerdictSource | None = None
    is_learned: bool = False
    learned_from: dict[VerdictSource, int] = Field(default_factory=dict)
    session_id: str | None = None
    run_id: str | None = None
    episode_id: str | None = None
    step: int | None = None
    tool: str | None = None
    document: str | None = None
    imported_from: str | None = None
    flagged: str | None = None

    def lines(self) -> list[str]:
        """Returns what is known in plain words, one topic per line."""
        by = f"by {self.agent}" if self.agent else ""
        user = f"for the user {self.user_id}" if self.user_id else ""
        lines = [" ".join(filter(None, ["recorded", by, user, f"on {self.recorded_at:%Y-%m-%d %H:%M} UTC"])), *self._words()]
        return [shortened(one_line(line), _SHORT + 100) for line in lines]

    def __str__(self) -> str:
        """Returns the source, session, tool and document in one line; "" where nothing of it is known."""
        return shortened(one_line("; ".join(self._words())), _SHORT)

    def _words(self) -> list[str]:
        parts = [self._judge(), self._learned(), self._attempt()]
        parts += [
            f"{name} {value}"
            for name, value in (("session", self.session_id), ("tool", self.tool), ("document", self.document))
            if value
        ]
        parts += [f"imported from {self.imported_from}" if self.imported_from else ""]
        parts += [f"suspicious: {self.flagged}" if self.flagged else ""]
        return [words for words in parts if words]

    def _judge(self) -> str:
        if self.verdict_source is not None:
            return f"judged by {JUDGED[self.verdict_source]}"
        return _SOURCES.get(self.source, f"source {self.source}") if self.source else ""

    def _learned(self) -> str:
        if not self.is_learned:
            return "stated, not learned" if self.kind in ("heuristic", "anti_pattern") and not self.imported_from else ""
        counts = [f"{count} judged by {JUDGED[source]}" for source, count in self.learned_from.items()]
        return f"learned from outcomes{': ' if counts else ''}{', '.join(counts)}"

    def _attempt(self) -> str:
        step = f", step {self.step}" if self.step is not None else ""
        run = f" of run {self.run_id}" if self.run_id else ""
        return f"episode {self.episode_id}{step}{run}" if self.episode_id else ""


def provenance_of(memory: AnyMemory) -> MemoryProvenance:
    """Returns what the memory itself says of where it comes from."""
    known = memory.metadata
    step = known.get("step")
    is_rule = isinstance(memory, Heuristic | AntiPattern)
    return MemoryProvenance(
        memory_id=memory.id,
        kind=memory.kind,
        agent=memory.agent,
        user_id=memory.user_id,
        recorded_at=memory.created_at,
        seen_at=memory.seen_at,
        source=memory.source if isinstance(memory, DomainKnowledge | UserPreference) else None,
        verdict_source=memory.verdict_source if isinstance(memory, Outcome) else None,
        is_learned=is_rule and bool(known.get("learned")),
        session_id=memory.session_id if isinstance(memory, Conversation) else _text(known, SESSION),
        episode_id=_text(known, "episode_id"),
        step=step if isinstance(step, int) and not isinstance(step, bool) else None,
        tool=_text(known, TOOL),
        document=_text(known, DOCUMENT),
        imported_from=_imported(known),
        flagged=_text(known, "flagged"),
    )


def _text(metadata: Mapping[str, Any], name: str) -> str | None:
    value = metadata.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _imported(metadata: Mapping[str, Any]) -> str | None:
    """Returns what an import from alma-memory, or of an export whose word is not taken for more, noted."""
    for key, name in (("alma_memory", "alma-memory"), (IMPORTED, "an export")):
        origin = metadata.get(key)
        if isinstance(origin, Mapping):
            known = ", ".join(f"{field} {origin[field]}" for field in ("project", "id") if origin.get(field))
            return f"{name} ({known})" if known else name
    return None


FLAGGED = "flagged"
"""The key of the metadata with the reason to doubt a memory, one of `alma_guard.DOUBTS`: the first that holds."""

_OWN_WORD = frozenset(
    ("agent", "assistant", "assumed", "extracted", "generated", "guessed", "import", "imported", "inferred", "llm", "model")
)
"""Words of a `source` for which no person, program or document vouches."""


def is_vouched_for(source: str, metadata: Mapping[str, Any]) -> bool:
    """Returns True if a fact or preference has a source beside the agent's own word, an import or a guess, and reads like no instruction."""
    return _OWN_WORD.isdisjoint(words(source.replace("_", " "))) and not metadata.get(FLAGGED)


def flagged(metadata: Mapping[str, Any], *texts: object) -> dict[str, Any]:
    """Returns the metadata of a memory with such texts, with the reason why one of them is suspicious, where one is."""
    reason = reason_to_doubt("\n".join(text for text in texts if isinstance(text, str)))
    return dict(metadata) if reason is None else {**metadata, FLAGGED: reason}
