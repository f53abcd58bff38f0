"""An answer, and the slice that shows it: whose each memory is, what contradicts it, its nearest turns, rules among memories, tags."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from importlib.metadata import entry_points
from itertools import count
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.errors import ConfigurationError
from alma.memory.quarantine import doubts_together
from alma.memory.recall.query import ARMS, DENSE, TEXT, Query
from alma.memory.recall.rank import Ranking
from alma.memory.recall.search import Found, make_timeline
from alma.memory.recall.ways import RulesNear, ShownRule
from alma.memory.room import OpenStore, Room
from alma.protocols import FindContradictions
from alma.retrieval.fusion import Contender, Ranked, relevance
from alma.retrieval.turns import Turns, rarities, turn_scores
from alma.storage.relational.text_index import stems
from alma.text import spaced_for_search, spelt, without_names
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Conversation, DomainKnowledge, Outcome, Passage, Turn, UserPreference
from alma.types.provenance import FLAGGED, is_vouched_for
from alma.types.recalled import CONTRADICTED, Contradiction, Disputes, Explanation, Factors, Recalled, TurnHit
from alma.types.sentences import ATTEMPT, HITS, MOST_HITS
from alma.types.slice import MemorySlice, tags_for
from alma.types.strategies import TRIED
from alma.types.tags import WAY

MOST_TURNS = 10
"""Turns of a conversation that a slice lists."""

OF_OTHERS = 0.5
"""Weight of a word that an assistant or a tool says, as in full text."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a conversation: the row of the conversation, the number of its turn, the speaker, the text, and its cosine, 0 without a vector."""

    row: int
    turn: int
    speaker: str
    is_own: bool
    text: str
    cosine: float


def find_turns(room: Room, query: Query, found: Found, memories: Mapping[int, AnyMemory]) -> Mapping[int, tuple[TurnHit, ...]]:
    """Returns for each recalled conversation, by row, its turns that are nearest to the question, at most `MOST_TURNS`, nearest first.

    The scores of turns of different conversations compare. A turn is shown by its nearest piece. Of a conversation whose passages were chosen by the
    caller, these are shown, as one turn each.
    """
    conversations = {row: memory for row, memory in memories.items() if isinstance(memory, Conversation)}
    if not conversations:
        return {}
    compared = _read_passages(room, found, conversations)
    pieces = [piece for row, passages, cosines in compared for piece in _cut_pieces(row, conversations[row], passages, cosines)]
    if not pieces:
        return dict.fromkeys(conversations, ())
    best, turns = _gather_turns(query, found, pieces)
    scores = turn_scores(turns, by_meaning=DENSE in query.arms, by_words=TEXT in query.arms)
    listed: defaultdict[int, list[TurnHit]] = defaultdict(list)
    for place in np.argsort(-scores, kind="stable").tolist():
        piece = best[place]
        if len(listed[piece.row]) < MOST_TURNS:
            hit = TurnHit(
                memory_id=conversations[piece.row].id,
                position=piece.turn,
                speaker=piece.speaker,
                text=piece.text,
                score=float(scores[place]),
            )
            listed[piece.row].append(hit)
    return {row: tuple(listed[row]) for row in conversations}


def _read_passages(
    room: Room, found: Found, conversations: Mapping[int, Conversation]
) -> Iterator[tuple[int, dict[int, Passage], dict[int, float]]]:
    """Yields the rows of the conversations with their passages that have a vector, and their cosines, both by position."""
    scored = found.passages
    places = np.flatnonzero(np.isin(scored.memories, list(conversations)))
    passages = room.project.passages(scored.passages[places].tolist())
    held: dict[int, tuple[dict[int, Passage], dict[int, float]]] = {row: ({}, {}) for row in conversations}
    listed = (scored.memories[places].tolist(), scored.passages[places].tolist(), scored.scores[places].tolist())
    for row, number, cosine in zip(*listed, strict=True):
        if (passage := passages.get(number)) is not None:
            held[row][0][passage.position] = passage
            held[row][1][passage.position] = cosine
    return ((row, passages_of, cosines) for row, (passages_of, cosines) in held.items())


def _cut_pieces(
    row: int, memory: Conversation, passages: Mapping[int, Passage], cosines: Mapping[int, float]
) -> Iterator[_Piece]:
    """Yields the pieces of a conversation; its passages where the caller chose these."""
    pieces, names = memory.pieces(), memory.names
    if any(_is_chosen(passage, pieces, names) for passage in passages.values()):
        for position, passage in passages.items():
            yield _Piece(row, position, passage.speaker, True, passage.text, cosines[position])
        return
    number_of = {id(turn): number for number, turn in enumerate(memory.turns)}
    for position, (turn, text) in enumerate(pieces):
        yield _Piece(row, number_of[id(turn)], turn.speaker, turn.is_own, text, cosines.get(position, 0.0))


def _is_chosen(passage: Passage, pieces: Sequence[tuple[Turn, str]], names: frozenset[str]) -> bool:
    """Checks that a passage is no piece of the conversation."""
    if passage.position >= len(pieces):
        return True
    _, piece = pieces[passage.position]
    return passage.text not in (piece, without_names(piece, names))


def _gather_turns(query: Query, found: Found, pieces: Sequence[_Piece]) -> tuple[list[_Piece], Turns]:
    """Returns the nearest piece of each turn, in order, and the turns."""
    number_of: dict[tuple[int, int], int] = {}
    of_turn = np.array([number_of.setdefault((piece.row, piece.turn), len(number_of)) for piece in pieces])
    frequencies = _count_stems(query.words, [piece.text for piece in pieces])
    nearest = _select_nearest(pieces, of_turn, np.vecdot(frequencies > 0, rarities(frequencies)))
    in_turns = np.zeros((len(nearest), frequencies.shape[1]))
    np.add.at(in_turns, of_turn, frequencies)
    cosines = np.zeros(len(nearest))
    np.maximum.at(cosines, of_turn, [piece.cosine for piece in pieces])
    named, standings = query.speakers, dict[int, float]()
    for row in {piece.row for piece in pieces}:
        at = found.place_of(row)
        standings[row] = 0.0 if at is None else float(found.z_scores[at])
    turns = Turns(
        conversations=np.array([piece.row for piece in nearest]),
        cosines=cosines,
        frequencies=in_turns * np.array([1.0 if piece.is_own else OF_OTHERS for piece in nearest])[:, None],
        lengths=np.bincount(of_turn, [len(piece.text) for piece in pieces]).astype(np.float64),
        is_named=np.array([len(named) == 1 and piece.speaker in named for piece in nearest]),
        standings=np.array([standings[piece.row] for piece in nearest]),
    )
    return nearest, turns


def _select_nearest(pieces: Sequence[_Piece], of_turn: NDArray[np.int64], by_words: Floats) -> list[_Piece]:
    """Returns the piece of each turn that shows best what it says on the question."""
    most = float(by_words.max()) or 1.0
    values = np.array([piece.cosine for piece in pieces]) + by_words / most / 2
    order = np.lexsort((-values, of_turn))
    first = order[np.append(True, np.diff(of_turn[order]) != 0)]
    return [pieces[place] for place in first.tolist()]


def _count_stems(words: Sequence[str], texts: Sequence[str]) -> Floats:
    """Returns how often each stem of the words occurs in each text: a row a text. Only texts that may hold a stem are cut into stems."""
    asked = list(dict.fromkeys(stem for word in words for stem in stems(word)))
    found = np.zeros((len(texts), len(asked)))
    beginning = re.compile(rf"\b(?:{'|'.join(re.escape(stem[: max(len(stem) - 1, 2)]) for stem in asked)})")
    for place, text in enumerate(texts):
        if asked and _may_hold(text, beginning):
            counts = Counter(stems(spaced_for_search(text)))
            found[place] = [counts[stem] for stem in asked]
    return found


def _may_hold(text: str, beginning: re.Pattern[str]) -> bool:
    """Checks whether a word of the text begins so. A stem differs from the beginning of its words in its last letter at most."""
    return not text.isascii() or beginning.search(text.lower()) is not None


SHARED_FROM = "shared_from"
"""The key of the metadata that names the owner of a shared memory. Set here only, whatever was stored under it."""

ENTRY_POINTS = "alma.contradictions"

Claimed = DomainKnowledge | UserPreference


@dataclass(frozen=True, slots=True)
class Answer:
    """The memories and rules that a query gets, best first, and the material that they were chosen from.

    `dispreferred` has what speaks against a memory, by row: why another is preferred, and the id of that. `nearest` has
    the rows of the memories that are nearest to the events of the question.
    """

    query: Query
    found: Found
    contenders: Sequence[Contender]
    ranking: Ranking
    rules: RulesNear
    order: Sequence[Ranked]
    contradictions: Sequence[Contradiction]
    dispreferred: Mapping[int, tuple[str, str]]
    nearest: Mapping[str, int]


def make_slice(room: Room, query: Query, answer: Answer | None, explained: Mapping[int, Explanation]) -> MemorySlice:
    """Returns what a reader is shown of an answer; `None` is an answer where nothing is readable."""
    about: dict[str, Any] = {
        "query": query.task,
        "agent": query.reader,
        "project_id": room.name,
        "retrieved_at": from_micros(query.now),
    }
    recalled = () if answer is None else _show_memories(room, answer, explained)
    tags, numbers = {item.memory.id: item.tag for item in recalled}, count(1)
    ways = tuple(
        [
            row.model_copy(update={"tag": tags.get(row.id) if row.rule != TRIED else f"{WAY}{next(numbers)}"})
            for row in (answer.rules.rows if answer else ())
        ]
    )
    hint = None if recalled or ways else room.scopes.hint(query.reader, query.task, query.user, partitions=query.scope.known)
    if answer is None:
        return MemorySlice(**about, hint=hint)
    shown = [(item.memory, answer.ranking.memories[item.memory]) for item in answer.order]
    return MemorySlice(
        **about,
        hint=hint,
        recalled=recalled,
        strategies=ways,
        contradictions=tuple(answer.contradictions),
        timeline=make_timeline(query.events, answer.nearest, shown, answer.ranking.folded),
        relevance=_relevance(room, answer),
    )


def factors_of(item: Ranked | ShownRule, kind: str, query: Query) -> Factors:
    """Returns the factors of a score with their weights, and the multiplier."""
    return Factors(**item.factors, usefulness=item.usefulness, weights=dict(query.profile.weights_of(kind)))


def _show_memories(room: Room, answer: Answer, explained: Mapping[int, Explanation]) -> tuple[Recalled, ...]:
    query = answer.query
    near = find_turns(room, query, answer.found, answer.ranking.memories)
    shown = [_show(answer, item.memory, near.get(item.memory, ())) for item in answer.order]
    doubts = doubts_together(shown)
    stated: list[dict[str, Any]] = [
        {
            "memory": _with(memory, FLAGGED, doubts[memory.id]) if memory.id in doubts else memory,
            "score": item.score,
            "factors": factors_of(item, item.kind, query),
            "copies": item.copies,
            "explanation": explained.get(item.memory),
            "turns": near.get(item.memory, ()),
            "is_near": not isinstance(memory, Outcome) or memory.id in answer.rules.near,
        }
        for item, memory in zip(answer.order, shown, strict=True)
    ]
    merged = _merge_rules(stated, answer.rules.rules, query)
    tags = tags_for([item["memory"] for item in merged])
    return tuple([Recalled(tag=tag, **item) for tag, item in zip(tags, merged, strict=True)])


def _show(answer: Answer, row: int, near: Sequence[TurnHit]) -> AnyMemory:
    """Returns a memory as its reader is shown it. Whatever was stored under the keys that say so is left out."""
    memory = answer.ranking.memories[row]
    set_here = {SHARED_FROM, CONTRADICTED} if row in answer.ranking.folded.values() else {SHARED_FROM, CONTRADICTED, ATTEMPT}
    metadata = {key: value for key, value in memory.metadata.items() if key not in set_here}
    if memory.kind != MemoryType.USER_PREFERENCE and memory.agent != answer.query.reader:
        metadata[SHARED_FROM] = memory.agent
    if near:
        metadata[HITS] = [hit.line for hit in near[:MOST_HITS]]
    if row in answer.dispreferred:
        why, by = answer.dispreferred[row]
        metadata[CONTRADICTED] = {"by": by, "why": why}
    return memory if metadata == memory.metadata else memory.model_copy(update={"metadata": metadata})


def _with(memory: AnyMemory, name: str, value: object) -> AnyMemory:
    return memory.model_copy(update={"metadata": {**memory.metadata, name: value}})


def _merge_rules(stated: Sequence[dict[str, Any]], rules: Sequence[ShownRule], query: Query) -> list[dict[str, Any]]:
    """Returns the memories with the learned rules among them: by score, rules of one kind in the order of their table, at most `top_k` of a
    kind."""
    if not rules:
        return list(stated)
    learned: list[dict[str, Any]] = [
        {"memory": rule.memory, "score": rule.score, "factors": factors_of(rule, rule.memory.kind, query)} for rule in rules
    ]
    places = Counter([rule.memory.kind for rule in rules])
    kept = []
    for item in stated:
        places[item["memory"].kind] += 1
        if places[item["memory"].kind] <= query.top_k:
            kept.append(item)
    by_score = itemgetter("score")
    best_first = sorted(learned, key=by_score, reverse=True)
    merged = merge(
        kept, best_first, key=by_score, reverse=True
    )  # memories stay in their order, which contradictions may have changed
    in_table = {kind: iter([one for one in learned if one["memory"].kind == kind]) for kind in places}
    return [item if "turns" in item else next(in_table[item["memory"].kind]) for item in merged]


def _relevance(room: Room, answer: Answer) -> float | None:
    """Returns the relevance of the best conversation; `None` where there is none to judge by both searches, or the embedder separates no
    meanings."""
    best = next((item.memory for item in answer.order if item.kind == MemoryType.CONVERSATION), None)
    at, scale = None if best is None else answer.found.place_of(best), room.scale
    if at is None or scale is None or len(set(answer.query.arms)) < len(ARMS):
        return None
    cosine, share = answer.found.scores[:, at].tolist()
    return relevance(scale.of(cosine), share)


def find_disputes(
    store: OpenStore, order: Sequence[Ranked], memories: Mapping[int, AnyMemory], *, verified: bool
) -> tuple[Sequence[Ranked], Sequence[Contradiction], Mapping[int, tuple[str, str]]]:
    """Returns the order in which ranked memories are shown, the contradictions among these, and what speaks against each, by row. With `verified`
    memories are left out to which another one is preferred."""
    claimed = [memory for item in order if isinstance(memory := memories[item.memory], Claimed)]
    if len(claimed) < 2:
        return order, (), {}
    if store.find_contradictions is None:
        store.find_contradictions = _load_finder()
    found = store.find_contradictions(claimed)
    items = {memories[item.memory].id: item for item in order}
    dispreferred = {items[one].memory: why for one, why in found.beaten.items()}
    facts = iter(found.order)
    placed = [items[next(facts)] if isinstance(memories[item.memory], Claimed) else item for item in order]
    pairs = [pair.model_copy(update={"is_left_out": verified}) for pair in found.pairs]
    return [item for item in placed if not (verified and item.memory in dispreferred)], pairs, dispreferred


def _load_finder() -> FindContradictions:
    """Returns the first by name of the finders that are installed; `newest_first` without any."""
    for plugin in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            finder: FindContradictions = plugin.load()
        except ImportError as error:
            raise ConfigurationError(f"contradictions: {plugin.name!r} ({plugin.value}) could not be loaded: {error}") from error
        return finder
    return newest_first


def newest_first(memories: Sequence[Claimed]) -> Disputes:
    """Returns no contradiction. Facts of one domain, and preferences of one category, take their places with the newest first; those for which no
    one vouches come behind the others."""
    newest = sorted(memories, key=lambda memory: (is_vouched_for(memory.source, memory.metadata), memory.seen_at), reverse=True)
    subjects = [_subject_of(memory) for memory in memories]
    queues = {subject: iter([memory.id for memory in newest if _subject_of(memory) == subject]) for subject in set(subjects)}
    return Disputes((), {}, [next(queues[subject]) for subject in subjects])


def _subject_of(memory: Claimed) -> tuple[str, str, str | None, str]:
    label = memory.domain if isinstance(memory, DomainKnowledge) else memory.category
    return memory.kind, memory.agent, memory.user_id, spelt(label)
