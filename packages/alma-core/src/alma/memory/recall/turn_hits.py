"""The turns of recalled conversations that are nearest to a question."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.memory.recall.query import DENSE, TEXT, Query
from alma.memory.recall.search import Found
from alma.memory.room import Room
from alma.retrieval.query import without_names
from alma.retrieval.turns import Turns, rarities, turn_scores
from alma.storage.stems import stems
from alma.text import spaced_for_search
from alma.types.memories import AnyMemory, Conversation, Turn
from alma.types.passages import Passage
from alma.types.recalled import TurnHit

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
    pieces = memory.pieces()
    if any(_is_chosen(passage, pieces, memory.names) for passage in passages.values()):
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
    nearest = _select_nearest(pieces, of_turn, (frequencies > 0) @ rarities(frequencies))
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
