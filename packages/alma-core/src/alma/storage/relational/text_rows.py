"""Full text in a plain table, for stores whose own full text compares words in another way, or that have none."""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from alma.storage.relational.session import Session
from alma.storage.relational.text_index import OTHER_WEIGHT, Searched, WordLists, own_and_other
from alma.storage.stems import stemmer


class TextRows:
    """A `TextIndex` of one row for each memory and stem."""

    def begin(self, session: Session, project: int, /) -> None:
        """Nothing: the table is made with the others."""

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Makes memories searchable."""
        searched = list(memories)
        counts = stemmer().counts([text for _, passages in searched for text in own_and_other(passages)])
        rows = [
            {"project": project, "memory": memory, "stem": stem, "own": own.get(stem, 0), "other": other.get(stem, 0)}
            for (memory, _), own, other in zip(searched, counts[::2], counts[1::2], strict=True)
            for stem in own | other
        ]
        session.run_many("word_insert", rows)

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Takes memories out again."""
        session.run_many("words_delete", [{"of_project": project, "of_memory": memory} for memory, _ in memories])

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> WordLists:
        """Returns where each stem stands, always to the end."""
        rows = session.all("word_lists", {"project": project, "stems": json.dumps(list(stems))})
        found = {stem: [row[1:] for row in held] for stem, held in groupby(rows, key=lambda row: str(row[0]))}
        held = [entry for stem in stems for entry in found.get(stem, ())]
        return WordLists(
            memories=np.array([memory for memory, _, _ in held], dtype=np.int64),
            frequencies=np.array([own + OTHER_WEIGHT * other for _, own, other in held], dtype=np.float32),
            sizes=[len(found.get(stem, ())) for stem in stems],
            are_whole=[True for _ in stems],
        )
