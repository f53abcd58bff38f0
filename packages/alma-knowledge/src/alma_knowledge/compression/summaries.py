"""Summaries of memories: small records that name their sources, are valid only as long as these are as they were, and go with them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from typing import Any

from alma import ALMA
from alma.errors import ValidationError
from alma.memory.alma import opened_room
from alma.memory.arguments import checked_choice, checked_name, optional_name
from alma.memory.room import Room
from alma.text import estimate_tokens, quoted
from alma.types.identity import Partition
from alma.types.memories import AnyMemory, Conversation, CustomMemory, DomainKnowledge, Outcome
from alma.types.package_records import references_in
from alma.types.provenance import FLAGGED
from alma_knowledge.compression.compressor import summarise
from alma_knowledge.compression.extractive import Usual, find_kept_first, read_sentences
from alma_knowledge.compression.results import CompressionStrategy, CompressReport, Summary
from alma_knowledge.llm import MeteredLLM

KIND = "compression.summary"
OPERATION = "compress"
"""The operation of the journal record."""

MEMORY, WEEK, DOMAIN = "memory", "week", "domain"
SHARE, LEAST_TOKENS, NODE_TOKENS = 1 / 3, 60, 400
"""Share of a memory's tokens that its summary has at most, tokens below which a memory stays as it is, and tokens of a week or a domain."""

SURE = 0.9
"""Confidence above which facts are kept as they are."""

CHUNK = 2_000
LONGEST_AGE = 365_000.0


@dataclass(slots=True)
class _Node:
    """A summary to be kept: its place in the tree, and its text once it is made."""

    key: str
    level: str
    title: str
    scope: tuple[str, str | None]
    memories: list[AnyMemory]
    children: list["_Node"] = field(default_factory=list)
    text: str = ""
    method: str = "extractive"

    @property
    def hash(self) -> str:
        return hash_sources(self.memories)

    def body(self, strategy: str) -> dict[str, Any]:
        agent, user = self.scope
        found = {"level": self.level, "title": self.title, "text": self.text, "method": self.method, "strategy": strategy}
        owner = {"agent": agent, **({} if user is None else {"user_id": user})}
        children = [child.key for child in self.children]
        return {**owner, **found, "hash": self.hash, "references": [one.id for one in self.memories], "children": children}


def hash_sources(memories: Iterable[AnyMemory]) -> str:
    """Returns a hash of the texts of memories in any order."""
    parts = sorted(f"{one.id}\0{sha256(said(one).encode('utf-8', 'replace')).hexdigest()}" for one in memories)
    return sha256("\n".join(parts).encode()).hexdigest()


def said(memory: AnyMemory) -> str:
    """Returns the text of a memory, of a conversation with its speakers."""
    if isinstance(memory, Conversation):
        return "\n".join(f"{turn.speaker}: {turn.text}" for turn in memory.turns)
    return memory.text


def compress(
    alma: ALMA,
    *,
    older_than_days: float,
    strategy: str,
    preserve_high_confidence: bool,
    dry_run: bool,
    agent: str | None = None,
    model: MeteredLLM | None = None,
) -> CompressReport:
    """Summarises memories older than some days, in one journal record, or with `dry_run` only says which. Sources stay as they are."""
    room, how = opened_room(alma), CompressionStrategy(checked_choice(strategy, "strategy", [*CompressionStrategy]))
    owner = None if agent is None else checked_name(agent, "agent")
    before = room.store.clock() - timedelta(days=_checked_days(older_than_days))
    skipped, items = Counter[str](), list[_Node]()
    for partition in room.project.partitions().values() if how is not CompressionStrategy.NONE else ():
        if partition.agent is not None and owner in (None, partition.agent):
            for memory in _memories(room, partition):
                reason = _why_left(memory, sure=preserve_high_confidence) if memory.seen_at < before else "newer"
                if reason:
                    skipped[reason] += 1
                else:
                    items.append(_Node(memory.id, MEMORY, "", (partition.agent, partition.user_id), [memory]))
    nodes = [*items, *(_group(items) if how is CompressionStrategy.HIERARCHICAL else ())]
    known = {key: (version, body) for key, version, body in room.project.records(KIND)}
    errors = _write(nodes, known, how, model, room.store.redaction.text)
    new = [node for node in nodes if node.key not in known or known[node.key][1] != node.body(how)]
    seq = None if dry_run or not new else _store(room, new, known, how, owner or "")
    return CompressReport(
        dry_run=dry_run,
        strategy=how,
        summaries=tuple(_summary(node.key, node.body(how)) for node in new),
        unchanged=len(nodes) - len(new),
        tokens_before=sum(estimate_tokens(said(node.memories[0])) for node in items),
        tokens_after=sum(estimate_tokens(node.text) for node in items),
        skipped=dict(sorted(skipped.items())),
        errors=tuple(errors),
        journal_seq=seq,
    )


def read_summaries(
    alma: ALMA, agent: str, *, user_id: str | None = None, level: str | None = None, memory_id: str | None = None
) -> list[Summary]:
    """Returns an agent's summaries that are valid: all their sources are there, and as they were. Of what was recorded for a user only with its
    `user_id`. `level` is "memory", "week" or "domain"; `memory_id` selects those of one memory."""
    room, owner, user = opened_room(alma), checked_name(agent, "agent"), optional_name(user_id, "user_id")
    found = []
    for key, version, body in room.project.records(KIND):
        is_readable = body.get("agent") == owner and body.get("user_id") in (None, user)
        is_wanted = level in (None, body.get("level")) and (memory_id is None or memory_id in references_in(body))
        if version and is_readable and is_wanted and _is_valid(room, body):
            found.append(_summary(key, body))
    return found


def _is_valid(room: Room, body: Mapping[str, Any]) -> bool:
    ids = list(references_in(body))
    places = room.project.find(ids)
    live = [one for one in ids if one in places and not places[one].is_archived]
    return len(live) == len(ids) and hash_sources(room.project.named(ids).values()) == body.get("hash")


def _summary(key: str, body: Mapping[str, Any]) -> Summary:
    level, title, text, method = (str(body.get(name, "")) for name in ("level", "title", "text", "method"))
    return Summary(key, level, title, text, method, tuple(references_in(body)), tuple(body.get("children", ())))


def _checked_days(days: object) -> float:
    if isinstance(days, bool) or not isinstance(days, int | float) or not 0 <= days <= LONGEST_AGE:
        raise ValidationError(f"older_than_days must be a number from 0 to {LONGEST_AGE:g}, not {quoted(days)}")
    return float(days)


def _memories(room: Room, partition: Partition) -> Iterator[AnyMemory]:
    rows = room.project.listed([partition.row], since=None, limit=2**62, newest_first=False)
    for start in range(0, len(rows), CHUNK):
        yield from room.project.memories(rows[start : start + CHUNK]).values()


def _why_left(memory: AnyMemory, *, sure: bool) -> str:
    """Returns why a memory is left as it is, "" if it is compressed."""
    if not isinstance(memory, Conversation | DomainKnowledge | Outcome | CustomMemory):
        return "preferences and rules"
    if memory.metadata.get(FLAGGED):
        return "suspicious"
    if sure and isinstance(memory, DomainKnowledge | CustomMemory) and memory.confidence > SURE:
        return "of high confidence"
    return "short" if estimate_tokens(said(memory)) < LEAST_TOKENS else ""


def _group(items: Sequence[_Node]) -> Iterator[_Node]:
    """Yields a node for each week of each domain, and above these one for the domain. A node's children come in the order of time."""
    domains = defaultdict[tuple[str, str | None, str], dict[str, list[_Node]]](lambda: defaultdict(list))
    for item in sorted(items, key=lambda each: (each.memories[0].seen_at, each.key)):
        memory = item.memories[0]
        domain = memory.domain if isinstance(memory, DomainKnowledge) else memory.kind
        domains[(*item.scope, domain)][memory.seen_at.strftime("%G-W%V")].append(item)
    for (agent, user, domain), weeks in domains.items():
        scope, above = (agent, user), list[_Node]()
        for week, children in weeks.items():
            every = [child.memories[0] for child in children]
            above.append(_Node(_key(scope, domain, week), WEEK, f"{domain}, {week}", scope, every, children))
        yield from above
        yield _Node(_key(scope, domain, ""), DOMAIN, domain, scope, [one for week in above for one in week.memories], above)


def _key(scope: tuple[str, str | None], domain: str, week: str) -> str:
    return sha256(repr((*scope, domain, week)).encode()).hexdigest()[:32]


def _write(
    nodes: Sequence[_Node],
    known: Mapping[str, tuple[int, Mapping[str, Any]]],
    how: CompressionStrategy,
    model: MeteredLLM | None,
    redact: Callable[[str], str],
) -> list[str]:
    """Gives each node its text, children first: the kept one where no source changed, and returns what a language model failed at."""
    usual, errors = Usual.of(said(node.memories[0]) for node in nodes if node.level == MEMORY), list[str]()
    for node in nodes:
        _, body = known.get(node.key, (0, {}))
        if body.get("hash") == node.hash and body.get("strategy") == how:
            node.text, node.method = str(body.get("text", "")), str(body.get("method", ""))
            continue
        if how is CompressionStrategy.TRUNCATE:
            node.text, node.method = truncate(said(node.memories[0])), "truncated"
            continue
        text = "\n".join(child.text for child in node.children) or said(node.memories[0])
        most = NODE_TOKENS if node.children else max(1, int(estimate_tokens(text) * SHARE))
        node.text, node.method, error = summarise(text, most, model, node.level, usual)
        node.text = redact(node.text)
        errors += [error] if error else []
    return errors


def truncate(text: str) -> str:
    """Returns the first sentences of a text within a third of its tokens, and what must be kept of the rest, listed."""
    most, spent, sentences = estimate_tokens(text) * SHARE, 0.0, read_sentences(text)
    kept = []
    for sentence in sentences:
        spent += sentence.tokens
        if spent > most:
            break
        kept.append(sentence)
    rest = "\n".join(sentence.text for sentence in sentences[len(kept) :])
    cut = ", ".join(dict.fromkeys(find_kept_first(rest)))
    return "\n".join([*(sentence.text for sentence in kept), *([f"(cut: {cut})"] if cut else [])])


def _store(
    room: Room, nodes: Sequence[_Node], known: Mapping[str, tuple[int, Mapping[str, Any]]], how: CompressionStrategy, actor: str
) -> int | None:
    """Stores summaries in one journal record, those whose sources are all still there, and that no other caller wrote meanwhile."""
    with room.project.write(actor=actor, operation=OPERATION, at=room.now()) as write:
        there = write.stored.find({one.id for node in nodes for one in node.memories})
        now = {key: version for key, (version, _) in write.stored.record(KIND, [node.key for node in nodes]).items()}
        read = {node.key: known.get(node.key, (0, {}))[0] for node in nodes}
        kept = [node for node in nodes if now[node.key] == read[node.key] and all(one.id in there for one in node.memories)]
        write.put_records({(KIND, node.key): (read[node.key], node.body(how)) for node in kept})
        return write.seq if kept else None
