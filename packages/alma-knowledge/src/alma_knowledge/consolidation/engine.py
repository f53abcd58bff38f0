"""Consolidation of an agent's stated memories: those that say the same become one."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from alma import ALMA
from alma.errors import ConfigurationError, ValidationError
from alma.memory.alma import alma_of, opened_room
from alma.memory.arguments import checked_label, checked_name
from alma.memory.room import Room
from alma.protocols import Embedder
from alma.text import matched_text, quoted
from alma.types.identity import Partition
from alma.types.kinds import KINDS, MemoryType
from alma.types.memories import UserPreference
from alma_knowledge.consolidation.disputing import LEAST_COSINE, find_open, judge_contrary
from alma_knowledge.consolidation.grouping import Vectors, Wording, find_alike, find_near, fold_copies, group_wordings
from alma_knowledge.consolidation.judging import ModelJudge
from alma_knowledge.consolidation.merging import (
    APART,
    Found,
    Union,
    Written,
    check_words,
    choose_survivor,
    find_undone,
    merge,
    read_pairs,
)
from alma_knowledge.consolidation.naming import name_ways
from alma_knowledge.consolidation.results import Apart, ConsolidationResult, Merge
from alma_knowledge.consolidation.sameness import Verdict
from alma_knowledge.consolidation.stated import Stated, read_stated
from alma_knowledge.llm import MeteredLLM, as_llm, find_lost
from alma_knowledge.llm.configured import open_llm
from alma_learning.background import scale

THRESHOLD = 0.85
ALL = "all"
CHUNK = 2_000
MOST_QUEUED = 100
"""Unsure pairs of an owner and kind that one consolidation lists for a person, the nearest."""

_PUBLISHED = {"preferences": MemoryType.USER_PREFERENCE, **{spec.listed_as: kind for kind, spec in KINDS.items()}}
_COUNTED = (MemoryType.HEURISTIC, MemoryType.ANTI_PATTERN)
"""Kinds with counts of their own, which would speak for a model's words: a model is not asked about these."""
_DISPUTED = (MemoryType.DOMAIN_KNOWLEDGE, MemoryType.USER_PREFERENCE)
_STATED = (MemoryType.HEURISTIC, MemoryType.ANTI_PATTERN, MemoryType.USER_PREFERENCE, MemoryType.DOMAIN_KNOWLEDGE)


class ConsolidationEngine:
    """Merges the stated memories of an agent that say the same. `storage` is an open `ALMA`, or its `storage`.

    `llm_client` is any model that `as_llm` takes; it is asked only with `use_llm`. `embedder` makes the vectors that are compared, by default
    those of the store.
    """

    def __init__(self, storage: object, llm_client: object = None, embedder: Embedder | None = None) -> None:
        self._storage = storage
        self._model = None if llm_client is None else as_llm(llm_client)
        self._embedder = embedder

    async def consolidate(
        self,
        agent: str,
        project_id: str | None = None,
        memory_type: str | MemoryType | None = "heuristics",
        similarity_threshold: float = THRESHOLD,
        use_llm: bool = True,
        dry_run: bool = False,
    ) -> ConsolidationResult:
        """Merges memories of a kind, or of all kinds with "all". Without an `llm_client` the rules decide alone.

        `project_id` names another project of the same store. The work runs in a worker thread.
        """
        alma = self._storage if isinstance(self._storage, ALMA) else alma_of(self._storage)
        alma = alma if project_id is None else alma.for_project(project_id)
        judge = ModelJudge(_metered(self._model)) if use_llm and self._model is not None else None
        return await asyncio.to_thread(
            consolidate,
            alma,
            agent=agent,
            kind=memory_type,
            threshold=similarity_threshold,
            judge=judge,
            dry_run=dry_run,
            embedder=self._embedder,
        )


def _metered(model: Any) -> MeteredLLM:
    return model if isinstance(model, MeteredLLM) else MeteredLLM(model)


def configured_judge(alma: ALMA) -> ModelJudge:
    """Returns the model of a memory's configuration. `ConfigurationError` if it names none."""
    model = open_llm(alma)
    if model is None:
        raise ConfigurationError("use_llm needs a language model: name one in the block llm of the configuration")
    return ModelJudge(model)


def consolidate(
    alma: ALMA,
    *,
    agent: str,
    kind: str | MemoryType | None = None,
    threshold: float = THRESHOLD,
    judge: ModelJudge | None = None,
    dry_run: bool = True,
    embedder: Embedder | None = None,
) -> ConsolidationResult:
    """Merges the stated memories of an agent that say the same, in one journal record, or with `dry_run` only finds them.

    Only what belongs to the agent is merged, of each user apart, and preferences that it or no agent recorded. Suspicious memories are left
    alone. Outcomes are never merged: a model names the strategies that they tried, so that those in other words are counted together.
    """
    room, owner = opened_room(alma), checked_name(agent, "agent")
    kinds, least = _checked_kinds(alma, kind), _checked_threshold(threshold)
    return consolidate_room(room, owner, kinds, least, judge=judge, dry_run=dry_run, embedder=embedder, actor=owner)


def consolidate_all(room: Room, *, dry_run: bool, is_wanted: Callable[[], bool]) -> tuple[int, tuple[int, ...]]:
    """Merges what says the same for each agent, by the rules alone, and returns how many memories are fewer, and the journal records.

    The step of maintenance. `is_wanted` is called between agents, and can stop it.
    """
    merged, seqs, partitions = set[str](), list[int](), room.project.partitions().values()
    kinds = {each.kind for each in partitions if each.kind in _STATED or each.kind not in {*KINDS}}
    owners = sorted({each.agent for each in partitions if each.agent})
    for owner in owners or [""]:
        if not is_wanted():
            break
        found = consolidate_room(room, owner, kinds, THRESHOLD, judge=None, dry_run=dry_run, embedder=None, actor="")
        merged |= {one for each in found.merge_details for one in each["merged_from"] if one != each["merged_into"]}
        seqs += [] if found.journal_seq is None else [found.journal_seq]
    return len(merged), tuple(seqs)


def consolidate_room(
    room: Room,
    owner: str,
    kinds: Collection[str],
    threshold: float,
    *,
    judge: ModelJudge | None,
    dry_run: bool,
    embedder: Embedder | None,
    actor: str,
) -> ConsolidationResult:
    """As `consolidate`, with arguments that were checked."""
    before = judge.model.used if judge is not None else None
    found = Found()
    for partition in room.project.partitions().values():
        if partition.kind in {*kinds} - {MemoryType.OUTCOME} and partition.agent in (owner, None):
            _find(room, _read(room, partition, owner), partition.kind, threshold, judge, embedder, found)
    names = name_ways(room, owner, judge) if judge is not None and MemoryType.OUTCOME in kinds else {}
    seq, done, named, marked = (
        Written(None, found.unions, len(names), found.disputes) if dry_run else merge(room, found, names, actor=actor)
    )
    used = judge.model.used if judge is not None else None
    return ConsolidationResult(
        dry_run=dry_run,
        method="rules" if judge is None else "llm",
        memories_processed=found.processed,
        groups_found=len(done),
        named=named,
        merged_count=sum(len(each.others) for each in done),
        merge_details=[Merge(merged_from=each.ids, merged_into=each.survivor.id, count=len(each.ids)) for each in done],
        kept_apart=found.apart,
        contradictions=[
            Apart(ids=[each.one.id, each.other.id], reason=f"“{each.mine}” against “{each.theirs}”") for each in marked
        ],
        errors=[*(judge.errors if judge else []), *_changed(len(found.unions) - len(done))],
        journal_seq=seq,
        llm_calls=used.calls - before.calls if used and before else 0,
        tokens=used.tokens - before.tokens if used and before else 0,
    )


def _find(
    room: Room,
    stated: Sequence[Stated],
    kind: str,
    threshold: float,
    judge: ModelJudge | None,
    embedder: Embedder | None,
    found: Found,
) -> None:
    """Adds what is found among the memories of one partition."""
    undone = find_undone(room, [each.memory.id for alike in find_alike(stated) for each in alike])
    undone |= read_pairs(room, APART, [each.memory.id for each in stated])
    wordings = fold_copies(stated, undone)
    vectors = _vectors(room, wordings, embedder)
    asked = None if kind in _COUNTED else judge
    groups = group_wordings(wordings, vectors, threshold, undone, None if asked is None else partial(_judge, room, asked))
    found.processed += len(stated)
    found.undone |= undone
    found.unions += [_union(room, each, asked) for each in groups.merged]
    apart = [_apart(wordings[one], wordings[other], reason) for (one, other), reason in groups.apart]
    found.apart += apart
    found.unsure += [frozenset(each["ids"]) for each in apart if each["reason"] == Verdict.UNSURE][:MOST_QUEUED]
    if judge is not None and kind in _DISPUTED:
        grouped = {id(each) for group in groups.merged for each in group}
        near = [[wordings[place] for place in pair] for pair, _ in find_near(vectors, LEAST_COSINE)]
        left = [(one.first, other.first) for one, other in near if grouped.isdisjoint((id(one), id(other)))]
        found.disputes += judge_contrary(judge, find_open(room, left))


def _judge(room: Room, judge: ModelJudge, pairs: Sequence[tuple[Stated, Stated]]) -> list[bool]:
    """Returns which pairs say the same, as a model judges; those whose merge a person undid, or would lose a number or name, do not."""
    undone = find_undone(room, {each.memory.id for pair in pairs for each in pair})
    left = [
        place
        for place, (one, other) in enumerate(pairs)
        if frozenset((one.memory.id, other.memory.id)) not in undone
        and not (find_lost(one.shown, [other.shown]) or find_lost(other.shown, [one.shown]))
    ]
    answers = dict(zip(left, judge.judge([pairs[place] for place in left]), strict=True))
    return [answers.get(place, False) for place in range(len(pairs))]


def _changed(count: int) -> list[str]:
    return [f"{count} groups were left as they are, because a memory changed meanwhile"] if count else []


def _checked_threshold(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ValidationError(f"the threshold must be a number above 0, at most 1, not {quoted(value)}")
    return float(value)


def _checked_kinds(alma: ALMA, kind: object) -> set[str]:
    """Returns the kinds to consolidate. `ValidationError` lists those that there are."""
    own = alma.memory_types()
    named = ALL if kind is None else checked_label(kind, "kind")
    if named == ALL:
        return {*_STATED, *own, MemoryType.OUTCOME}
    name = _PUBLISHED.get(named, named)
    known = [*_STATED, MemoryType.OUTCOME, *own, ALL]
    if name in known:
        return {name}
    near = get_close_matches(named, [*_PUBLISHED, *known], n=1)
    hint = f", did you mean {near[0]!r}?" if near else ";"
    raise ValidationError(f"there is no kind {quoted(kind)}{hint} There are {', '.join(known)}")


def _read(room: Room, partition: Partition, agent: str) -> list[Stated]:
    rows = room.project.listed([partition.row], since=None, limit=2**62, newest_first=False)
    found = []
    for start in range(0, len(rows), CHUNK):
        for memory in room.project.memories(rows[start : start + CHUNK]).values():
            is_own = not isinstance(memory, UserPreference) or memory.agent in (agent, "")
            if is_own and (stated := read_stated(memory)) is not None:
                found.append(stated)
    return sorted(found, key=lambda each: (each.memory.created_at, each.memory.id))


def _vectors(room: Room, wordings: Sequence[Wording], embedder: Embedder | None) -> Vectors:
    """Returns the unit vectors of wordings, one a row: those of the store, or what an embedder makes."""
    texts = [matched_text(each.first.memory.text) for each in wordings]
    if not texts:
        return np.zeros((0, 1), np.float32)
    if embedder is not None:
        vectors = np.asarray(embedder.embed(texts), np.float32)
    else:
        found = room.store.texts.of(texts, room.project)
        vectors = np.frombuffer(b"".join(found[text] for text in texts), "<f2").reshape(len(texts), -1).astype(np.float32)
    return scale(vectors)


def _union(room: Room, wordings: Iterable[Wording], judge: ModelJudge | None) -> Union:
    wordings = list(wordings)
    survivor, *others = choose_survivor(each.memory for wording in wordings for each in wording.stated)
    if judge is None:
        return Union(survivor, others, {})
    union, refused = check_words(room, Union(survivor, others, judge.word([each.first for each in wordings])))
    if refused is not None:
        judge.errors.append(f"a merged text keeps the words of one of its sources: of the model's, {refused}")
    return union


def _apart(one: Wording, other: Wording, reason: str) -> Apart:
    return Apart(ids=[one.first.memory.id, other.first.memory.id], reason=reason)
