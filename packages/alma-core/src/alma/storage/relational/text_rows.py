"""Full text in a plain table, for stores without a full text of their own that holds our stems as they are."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from alma.storage.relational.session import Session
from alma.storage.relational.text_index import OTHER_WEIGHT, Searched, WordList, own_and_other


class TextRows:
    """A `TextIndex` of one row for each memory and stem."""

    def begin(self, session: Session, project: int, /) -> None:
        """Makes the full text of a project empty."""
        session.run("words_clear", {"of_project": project})

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Makes memories searchable."""
        rows = []
        for memory, passages in memories:
            own, other = map(Counter, own_and_other(passages))
            place = {"project": project, "memory": memory}
            rows += [{**place, "stem": stem, "own": own[stem], "other": other[stem]} for stem in own | other]
        session.run_many("word_insert", rows)

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Takes memories out again."""
        session.run_many("words_delete", [{"of_project": project, "of_memory": memory} for memory, _ in memories])

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> Sequence[WordList]:
        """Returns where each stem stands, always to the end."""
        rows = session.all("word_lists", {"project": project, "stems": json.dumps(list(stems))})
        found = {stem: [row[1:] for row in held] for stem, held in groupby(rows, key=lambda row: str(row[0]))}
        return [_word_list(found.get(stem, ())) for stem in stems]


def _word_list(held: Sequence[tuple[int, int, int]]) -> WordList:
    memories = np.array([memory for memory, _, _ in held], dtype=np.int64)
    return WordList(memories, np.array([own + OTHER_WEIGHT * other for _, own, other in held], dtype=np.float32), True)
