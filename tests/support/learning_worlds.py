"""Little worlds for the tests of the learning: words with vectors of their own, and trials drawn from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from alma_learning import SENTENCES, Projection, Trial

DIMENSION = 48
TASKS = ["deploy api", "deploy shop", "deploy search", "refund order", "refund voucher", "plan trip", "plan visit"]
WAYS = ["canary release", "a canary", "rolling update", "roll it out", "send the money", "apologise", "by train", "by car", ""]
MEANINGS = {
    "deploy": 0,
    "refund": 1,
    "plan": 2,
    "canary": 3,
    "rolling": 4,
    "roll": 4,
    "money": 5,
    "apologise": 6,
    "train": 7,
    "car": 8,
}


def embed(texts: Sequence[str]) -> np.ndarray:
    """Unit vectors: what the words mean, and something that is each text's own."""
    rows = []
    for text in texts:
        own = np.random.default_rng(list(text.encode())).normal(size=DIMENSION) * 0.08
        for word in text.split():
            if word in MEANINGS:
                own[MEANINGS[word]] += 1.0
        rows.append(own / np.linalg.norm(own))
    return np.array(rows, np.float32).reshape(-1, DIMENSION)


@dataclass
class CountingVectors:
    """Vectors, and which texts they were asked for."""

    asked: list[str] = field(default_factory=list)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += [text for text in texts if text not in SENTENCES]
        return embed(texts)


def make_trial(number: int, task: str = "deploy api", way: str = "canary release", worth: float | None = 1.0, **changes) -> Trial:
    return Trial(
        **{
            "id": f"o{number}",
            "number": number,
            "task": task,
            "text": task,
            "way": way,
            "worth": worth,
            "at": number,
            "agent": "a",
        }
        | changes
    )


def fold(trials: Sequence[Trial], **options) -> Projection:
    projection = Projection(embed, **options)
    projection.extend(trials)
    return projection


@st.composite
def logs(draw: st.DrawFn, largest: int = 40) -> list[Trial]:
    """Trials with rising numbers."""
    count = draw(st.integers(0, largest))
    return [
        make_trial(
            number,
            draw(st.sampled_from(TASKS)),
            draw(st.sampled_from(WAYS)),
            draw(st.sampled_from([1.0, 1.0, 0.0, 0.0, 0.5, None])),
            agent=draw(st.sampled_from(["a", "a", "b"])),
            task_type=draw(st.sampled_from([None, None, None, "ops", "desk"])),
            error=draw(st.sampled_from([None, "time-out", "refused"])),
            session=draw(st.sampled_from([None, None, "s1", "s2"])),
            source=draw(st.sampled_from(["caller", "agent", "tool"])),
            is_step=draw(st.sampled_from([False, False, False, True])),
        )
        for number in range(count)
    ]


def read(projection: Projection) -> list:
    """Everything that a projection says, as plain values."""
    said = []
    for table in (*projection.tables(), *projection.tables(of_steps=True)):
        rows = [
            {name: getattr(row, name) for name in row.__slots__ if name != "alternative"}
            | {"instead": row.alternative and row.alternative.way}
            for row in table.rows
        ]
        said.append((rows, table.tasks, table.trials, table.successes, table.base))
    return said
