"""Learning from a whole conversation: its facts are stored at once, each of them once, with where it was said."""

import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Protocol
from uuid import UUID

from alma import ALMA, AntiPattern, DomainKnowledge, Heuristic, Outcome, UserPreference
from alma.errors import ConfigurationError, ConflictError, MemoryNotFoundError, ScopeViolationError, ValidationError
from alma.memory.alma import checked_alma, open_records, redacted
from alma.memory.arguments import checked_items, checked_name, checked_time, optional_label, optional_name
from alma.text import normalised, telling_words
from alma.types import Memory
from alma.types.kinds import VerdictSource
from alma.types.package_records import MADE, REFERENCES
from alma_knowledge.extraction.facts import ExtractedFact, ExtractionResult, FactExtractor, FactType
from alma_knowledge.extraction.model import LLMFactExtractor
from alma_knowledge.extraction.rules import USERS, RuleBasedExtractor, read_messages

_LOG = logging.getLogger("alma")
SOURCE = "extracted"
KIND, SOURCE_KIND = "knowledge.extraction", "knowledge.source"
RULES = ("auto", "rule-based")
_ITEM = re.compile(r"item (\d+): (.*?)(?:; nothing was stored)*", re.DOTALL)
MOST_COMPARED = 1_000
KNOWN = "known already, or forgotten: it is not added again"


class _HasMessages(Protocol):
    """An object that a method can be put on."""

    learn_from_conversation: Any


class AutoLearner:
    """Stores what a conversation states. Thread-safe.

    Rules find it, or the `extractor`, or with `use_llm` the model of the configuration's block `llm:`; never one because a key is at hand.
    """

    def __init__(
        self,
        alma: ALMA,
        extractor: FactExtractor | None = None,
        auto_commit: bool = True,
        min_confidence: float = 0.5,
        *,
        use_llm: bool = False,
    ) -> None:
        """With `auto_commit=False` nothing is stored unless a call says so. Facts of less than `min_confidence`, from 0 to 1, are rejected."""
        self._alma = checked_alma(alma)
        least: object = min_confidence
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
            raise ValidationError(f"min_confidence is {min_confidence!r}; it must be from 0 to 1")
        if extractor is not None and not callable(getattr(extractor, "extract", None)):
            raise ValidationError("extractor must have extract(messages, agent_context=None, existing_facts=None)")
        self._extractor = extractor or (_configured(alma) if use_llm else RuleBasedExtractor())
        self._commits, self._least = auto_commit, least

    def learn_from_conversation(
        self,
        messages: Iterable[Any],
        agent: str,
        user_id: str | None = None,
        commit: bool | None = None,
        *,
        at: datetime | None = None,
        session_id: str | None = None,
        conversation_id: str | None = None,
    ) -> dict[str, Any]:
        """Stores the facts of a conversation in one transaction, and returns what became of each.

        With a `user_id` all of it belongs to that user; preferences need one. `at` is when it took place, now by default; `session_id` your name
        for it, which `provenance` shows. `conversation_id` is the memory that holds the conversation, if one does: its purge erases the facts, too.
        `MemoryNotFoundError` if there is none. The same conversation again, also one that has grown, adds only what is new.

        Keys: `extracted_count, valid_count, committed_count, rejected_count`, `committed` with the text and id of each, `rejected` with text and
        reason, `valid_facts`, `method` ("rules", "llm" or which failed), `problems`, `tokens_used`, `extraction_time_ms`.
        """
        owner, user = checked_name(agent, "agent"), optional_name(user_id, "user_id")
        moment, session = checked_time(at, "at"), optional_label(session_id, "session_id")
        commits = self._commits if commit is None else commit
        source = None if conversation_id is None else self._alma.get(conversation_id).id
        given = self._redacted(messages)
        origins = _origins(given)
        marks = [_id_of(owner, user or "", origin) for origin in origins] if self._asks_a_model and commits else []
        read_upto = self._read_upto(marks)
        if marks and read_upto == len(marks):
            result = ExtractionResult(
                method="llm", problems=("this conversation was read before; the model was not asked again",)
            )
        else:
            result = self._extract(given, moment)
        rejected = [_refused(fact, reason) for fact, reason in result.rejected]
        made: dict[str, tuple[ExtractedFact, Memory]] = {}
        for fact in result.facts:
            turn = fact.metadata.get("turn")
            place = turn if isinstance(turn, int) and 0 <= turn < len(origins) else len(origins) - 1
            if max(fact.metadata.get("turns") or [place]) < read_upto:
                rejected.append(_refused(fact, KNOWN))
                continue
            memory = self._checked(fact, owner, user, moment, session, origins[place], result.method)
            if isinstance(memory, str):
                rejected.append(_refused(fact, memory))
                continue
            if said := made.pop(memory.id, None):  # it holds since it was said last
                rejected.append(_refused(said[0], "said again later in this conversation"))
            made[memory.id] = fact, memory
        committed: list[dict[str, str]] = []
        if commits:
            stored, refused = self._store([memory for _, memory in made.values()], source)
            rejected += [_refused(made[name][0], reason) for name, reason in refused.items()]
            committed = [{"fact": made[name][0].content, "id": as_stored} for name, as_stored in stored.items()]
            if marks and not result.problems and all(reason == KNOWN for reason in refused.values()):
                self._mark(marks[-1], owner, user)
        return {
            "extracted_count": len(result.facts) + len(result.rejected),
            "valid_count": len(made),
            "committed_count": len(committed),
            "rejected_count": len(rejected),
            "extraction_time_ms": result.extraction_time_ms,
            "tokens_used": result.tokens_used,
            "committed": committed,
            "rejected": rejected,
            "valid_facts": [fact for fact, _ in made.values()],
            "method": result.method,
            "problems": list(result.problems),
        }

    def _redacted(self, messages: Iterable[Any]) -> list[dict[str, str]]:
        """Returns what was said, each message in its place, without the secrets that the store would not keep."""
        given = checked_items(messages, "messages")
        kept = [{"role": "system", "content": ""} for _ in given]
        for one in read_messages(given):
            text = redacted(self._alma, one.text)
            kept[one.place] = {"role": "user" if one.is_own else "assistant", "name": one.speaker, "content": text}
        return kept

    @property
    def _asks_a_model(self) -> bool:
        return isinstance(self._extractor, LLMFactExtractor)

    def _read_upto(self, marks: list[str]) -> int:
        """Returns how many messages, from the first on, a model has read before for this owner: it would word the same facts differently."""
        found = open_records(self._alma, KIND).find(marks)
        return max((place + 1 for place, mark in enumerate(marks) if mark in found), default=0)

    def _mark(self, mark: str, agent: str, user: str | None) -> None:
        """Marks a conversation as read, for its owner: `forget_user` erases the mark of a user."""
        try:
            open_records(self._alma, KIND).put(mark, {"agent": agent} if user is None else {"agent": agent, "user_id": user})
        except ConflictError:
            _LOG.debug("another caller has marked the conversation as read")

    def _name_source(self, source: str, made: Iterable[Memory]) -> None:
        """Notes, before they are stored, of which conversation facts are made."""
        records = open_records(self._alma, SOURCE_KIND)
        for memory in made:
            key = _id_of(source, memory.id)
            if records.get(key) is None:
                with suppress(ConflictError):  # another caller noted the same
                    whose = {"agent": memory.agent, "user_id": memory.user_id}
                    records.put(key, {**whose, REFERENCES: [source], MADE: [memory.id]})

    def _extract(self, messages: list[dict[str, str]], at: datetime | None) -> ExtractionResult:
        if isinstance(self._extractor, LLMFactExtractor):
            return self._extractor.extract(messages, at=at)
        return self._extractor.extract(messages)

    def _checked(
        self,
        fact: ExtractedFact,
        agent: str,
        user: str | None,
        at: datetime | None,
        session: str | None,
        origin: str,
        method: str,
    ) -> Memory | str:
        """Returns the memory of a fact, or why there is none."""
        if fact.confidence < self._least:
            return f"its confidence of {fact.confidence:g} is less than {self._least:g}"
        now = open_records(self._alma, KIND).now()
        facts = {name: value for name, value in fact.metadata.items() if name in ("turn", "turns", "request_turn", "speaker")}
        metadata: dict[str, Any] = {
            "extracted": {**facts, "span": fact.source_text or fact.content, "origin": origin, "method": method}
        }
        if session is not None:
            metadata["session_id"] = session
        task = str(fact.metadata.get("task") or "")
        about = (session or "", normalised(task)) if fact.fact_type is FactType.OUTCOME else ()
        turn = fact.metadata.get("turn")
        known = {
            "id": _id_of(agent, user or "", fact.fact_type.value, normalised(fact.content) or fact.content, *about),
            "agent": agent,
            "user_id": user,
            "confidence": fact.confidence,
            "metadata": metadata,
            "created_at": now,
            "updated_at": now,
        }
        after = timedelta(microseconds=turn if isinstance(turn, int) else 0)
        return _memory(fact, known, min(at or now, datetime.max.replace(tzinfo=UTC) - after) + after)

    def _store(self, made: list[Memory], source: str | None) -> tuple[dict[str, str], dict[str, str]]:
        """Stores memories in one transaction. Returns the ids of those that are stored, and the reasons of the others, by their ids as given."""
        refused: dict[str, str] = {}
        chosen: dict[str, Memory] = {}
        for memory in made:
            new = self._new(memory)
            if new is None:
                refused[memory.id] = KNOWN
            else:
                chosen[memory.id] = new
        if source is not None:
            self._name_source(source, chosen.values())
        while chosen:
            try:
                self._alma.add_many(chosen.values())
            except ConflictError as conflict:  # archived, or stored by another caller meanwhile
                there = [name for name, memory in chosen.items() if memory.id in str(conflict)]
                if not there:
                    raise
                refused |= dict.fromkeys(there, KNOWN)
            except (ScopeViolationError, ValidationError) as error:
                found = _ITEM.fullmatch(str(error))
                if found is None:
                    raise
                refused[list(chosen)[int(found[1])]] = found[2]
            else:
                break
            chosen = {name: memory for name, memory in chosen.items() if name not in refused}
        return {name: memory.id for name, memory in chosen.items()}, refused

    def _new(self, memory: Memory) -> Memory | None:
        """Returns the memory to store, `None` if an equal one says as much.

        What was said before and is said again after an edit, or after something else on its subject, holds again, so it is stored once more.
        """
        known = self._named(memory.id)
        if known is None:
            return memory
        origin = memory.metadata["extracted"]["origin"]
        if _origin_of(known) == origin:
            return None
        again = memory.model_copy(update={"id": _id_of(memory.id, origin)})
        if self._named(again.id) is not None:
            return None
        said = normalised(redacted(self._alma, memory.text))
        is_edited = normalised(known.text) != said
        if not (is_edited or isinstance(memory, UserPreference | DomainKnowledge)):
            return None
        listed = self._alma.list_memories(memory.kind, memory.agent, memory.user_id, limit=MOST_COMPARED)
        listed = [one for one in listed if one.user_id == memory.user_id]
        alike = [one for one in listed if normalised(one.text) == said]
        if is_edited and not alike:
            return again
        last = max(one.seen_at for one in (alike if is_edited else (known, *alike)))
        mine = set(telling_words(memory.text))
        between = (one for one in listed if last < one.seen_at <= memory.seen_at and normalised(one.text) != said)
        return again if any(not mine.isdisjoint(telling_words(one.text)) for one in between) else None

    def _named(self, name: str) -> Memory | None:
        try:
            return self._alma.get(name)
        except MemoryNotFoundError:
            return None


def _origins(messages: list[dict[str, str]]) -> list[str]:
    """Returns a name for each message: what was said up to it, which stays the same when the conversation grows."""
    said, names = blake2b(digest_size=16), list[str]()
    for message in messages:
        said.update(f"{message['role']}\0{message.get('name', '')}\0{message['content']}\0".encode("utf-8", "surrogatepass"))
        names.append(said.hexdigest())
    return names


def _origin_of(memory: Memory) -> str:
    known = memory.metadata.get("extracted")
    return str(known.get("origin")) if isinstance(known, dict) else ""


def _id_of(*parts: str) -> str:
    return str(UUID(bytes=blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()))


def _configured(alma: ALMA) -> LLMFactExtractor:
    from alma_knowledge.llm.configured import open_llm

    model = open_llm(alma)
    if model is None:
        raise ConfigurationError("use_llm needs a block `llm:` in the configuration, with provider and model")
    _LOG.info("facts of conversations are found by the language model of the configuration")
    return LLMFactExtractor(llm=model)


def _refused(fact: ExtractedFact, reason: str) -> dict[str, str]:
    return {"fact": fact.content, "reason": reason}


def _memory(fact: ExtractedFact, known: dict[str, Any], at: datetime) -> Memory | str:
    content, facts = fact.content, fact.metadata
    if fact.fact_type is FactType.PREFERENCE:
        speaker = str(facts.get("speaker", "user"))
        if known["user_id"] is None:
            return "a preference needs the user_id of its user"
        if speaker.lower() not in USERS:
            return f"a preference of {speaker}, who is not the user"
        return UserPreference(**known, category=fact.category or "stated", preference=content, source=SOURCE, timestamp=at)
    if fact.fact_type is FactType.ANTI_PATTERN:
        why = str(facts.get("why") or "")
        return AntiPattern(**known, pattern=content, why_bad=why, last_seen=at) if why else "an anti-pattern needs a reason"
    if fact.fact_type is FactType.HEURISTIC:
        if not (fact.condition and fact.strategy):
            return "a heuristic needs a condition and a strategy"
        return Heuristic(**known, condition=fact.condition, strategy=fact.strategy, last_validated=at)
    if fact.fact_type is FactType.OUTCOME:
        if not facts.get("task") or facts.get("outcome") not in ("success", "failure", "partial"):
            return "an outcome needs a task and a verdict"
        return Outcome(
            **known,
            task_description=str(facts["task"]),
            outcome=facts["outcome"],
            strategy_used=fact.strategy or "",
            error_message=str(facts["why"]) if facts.get("why") else None,
            verdict_source=VerdictSource.AGENT,
            timestamp=at,
        )
    return DomainKnowledge(**known, domain=fact.domain or "stated", fact=content, source=SOURCE, last_verified=at)


def create_extractor(
    provider: str = "auto",
    model: str | None = None,
    api_key: str | None = None,
    *,
    base_url: str | None = None,
    temperature: float = 0.0,
) -> RuleBasedExtractor | LLMFactExtractor:
    """Returns an extractor: the rules for "auto" and "rule-based", else the model of a provider. No variable of the environment is read."""
    if provider in RULES:
        return RuleBasedExtractor()
    return LLMFactExtractor(provider, model, api_key, temperature, base_url=base_url)


def add_auto_learning_to_alma(alma: ALMA, extractor: FactExtractor | None = None, **options: Any) -> ALMA:
    """Puts `learn_from_conversation` on a memory, with the options of an `AutoLearner`, and returns the memory."""
    learner = AutoLearner(alma, extractor, **options)
    holder: _HasMessages = alma  # type: ignore[assignment] # a method of this object alone
    holder.learn_from_conversation = learner.learn_from_conversation
    return alma
