"""The spread of an embedder's cosines, beside all-MiniLM-L6-v2, for which the limits of learning were measured.

Each model has its own cosine for "the same, in other words" and for "nothing in common": .6 and .1 with one, .9 and .7 with another. Both are
measured on the same few sentences, and what lies between them is stretched alike.
"""

from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from alma.types.identity import Fingerprint
from alma_learning import multiply

Vectors = NDArray[np.float32]
Floats = NDArray[np.float64]

PAIRS = (
    ("Book a table for two at a quiet restaurant", "Reserve a place for dinner for a couple, somewhere calm"),
    ("The laptop does not start any more", "My computer refuses to boot"),
    ("Translate this letter into Spanish", "Put the letter into Spanish for me"),
    ("Find out why the monthly bill went up", "Explain the increase in what we pay each month"),
    ("Plant tulips in the garden before winter", "Put flower bulbs into the ground in autumn"),
    ("Write unit tests for the parser", "Add automated tests that cover parsing"),
    ("Cancel my gym membership", "End the contract with the fitness studio"),
    ("Teach a child to ride a bicycle", "Show a kid how to cycle"),
    ("Shrink the pictures so that the page loads faster", "Compress the images of the slow website"),
    ("Ask the doctor for an appointment next week", "Arrange a visit to the physician in the coming days"),
    ("Bake bread without yeast", "Make a loaf that needs no yeast"),
    ("Encrypt the hard disk", "Protect the drive by encryption"),
    ("Choose a birthday present for a colleague", "Pick a gift for somebody at work who turns forty"),
    ("Repair a dripping tap", "Fix the leaking faucet"),
    ("Summarise the minutes of the meeting", "Give a short version of what was said at the meeting"),
    ("Learn the guitar chords of a song", "Practise playing a tune on the guitar"),
    ("Compare electric cars by their range", "Which battery-powered car drives farthest?"),
    ("Sort the invoices by their date", "Put the bills into the order in which they were issued"),
    ("Train for a marathon", "Prepare to run forty-two kilometres"),
    ("Paint the walls of the bedroom", "Give the room where we sleep a new coat of colour"),
    ("Restore the database from last night's backup", "Bring back the data that was saved yesterday evening"),
    ("Find cheap flights to Lisbon", "Look for low air fares to Portugal's capital"),
    ("Move the old photographs to the cloud", "Upload our family pictures to online storage"),
    ("Apply for a visa", "Request permission to enter the country"),
)
"""Sentences that say the same in other words. Those of different pairs have nothing in common."""

SENTENCES = tuple(text for pair in PAIRS for text in pair)

ALIKE, UNRELATED = 0.602, 0.045
"""Mean cosine of all-MiniLM-L6-v2 for the two sentences of a pair, and for sentences of different pairs."""

LEAST_SEPARATED = 0.9
"""Share of the pairs that an embedder has to put above nearly all other cosines (`RIVALS`). With less, its cosines are not used."""

RIVALS = 0.99


@dataclass(frozen=True, slots=True)
class Scale:
    """Turns cosines of an embedder into those that all-MiniLM-L6-v2 gives for texts as like: `slope` times the cosine plus `offset`."""

    slope: float = 1.0
    offset: float = 0.0

    @overload
    def of(self, cosines: float) -> float: ...
    @overload
    def of(self, cosines: Vectors | Floats) -> Floats: ...
    def of(self, cosines: float | Vectors | Floats) -> float | Floats:
        """The cosines on the scale of all-MiniLM-L6-v2, at most 1."""
        if self == OWN:
            return cosines if isinstance(cosines, float) else np.asarray(cosines, np.float64)
        return np.minimum(self.slope * cosines + self.offset, 1.0)

    def back(self, cosine: float) -> float:
        """The embedder's own cosine for one on the scale of all-MiniLM-L6-v2."""
        return (cosine - self.offset) / self.slope


OWN = Scale()
"""The scale of all-MiniLM-L6-v2 itself."""


def scale_of(vectors: Vectors) -> Scale | None:
    """The scale of an embedder, from its unit vectors of `SENTENCES`; `None` for one that does not separate the pairs from the rest."""
    cosines = multiply(vectors, vectors.T).astype(np.float64)
    first = np.arange(0, len(SENTENCES), 2)
    alike = cosines[first, first + 1]
    pair = np.arange(len(SENTENCES)) // 2
    unrelated = cosines[pair[:, None] < pair]
    if (alike > np.quantile(unrelated, RIVALS)).mean() < LEAST_SEPARATED:
        return None
    slope = (ALIKE - UNRELATED) / float(alike.mean() - unrelated.mean())
    return Scale(slope, ALIKE - slope * float(alike.mean()))


def is_measured(fingerprint: Fingerprint) -> bool:
    """Checks that an embedder is the one for which the limits of learning were measured."""
    return (fingerprint.model, fingerprint.dimension) == ("all-MiniLM-L6-v2", 384)
