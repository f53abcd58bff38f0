"""Groups of wordings that are one way: compared beside the other ways on such tasks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from alma_learning.actions import has_calls, makes_same_calls
from alma_learning.background import scale
from alma_learning.differences import differ
from alma_learning.forks import multiply
from alma_learning.linkage import NEVER, link_groups
from alma_learning.trials import Embedding, Flags, Floats, Matrix, Vector

# Fitted on the development and tuning worlds of `benchmarks/played`, seeds 1 to 4, with all-MiniLM-L6-v2: 28 November 2026.
# `ONE_WAY` .12 joins .02 more
# wordings and mixes as many ways, .1 mixes twice as many.
ALIKE = 0.5
"""Cosine beside the background of wordings that are one way for finding what the ways have in common."""

LOCAL, LOCAL_PRIOR = 0.8, 4.0
"""Share of what ways have in common that is taken away, and the number of ways that the background weighs as much as."""

ONE_WAY, CHANCE = 0.15, 0.9
"""Least cosine of any two wordings of one way, after that, and the share of pairs with wordings of other kinds that must be less alike: commands of
one program are alike whatever they do. With .95 a tenth more ways stand in several rows."""

FOUND = 0.25
"""Average cosine of an action to the wordings of the row that it belongs to."""

NEARLY_EQUAL = 0.75
"""Cosine of hashed words from which two wordings are one way."""

SAME_ERROR = 0.2
"""Likeness added by an error that two wordings ended in and no other did. Worth .1 of the counts, in worlds in which ways share their errors .08."""

CONTRARY = 8.0
"""Twice the log-likelihood ratio from which the outcomes of two wordings are those of two ways: three successes beside three failures have 8.3. Of
two that are one way at most 1 pair in 32 is parted (exact, up to 15 trials of each, one look). With 10 it is 1 in 125, but ways of opposite outcomes
stand in one row up to four trials each. Worlds of `benchmarks.played` (development, tuning, judging, fresh) are alike with both (30 November 2026);
with 4 good ways are parted by luck."""

NEWEST = 64
"""Wordings that are compared with each other; older ones join the groups of these."""

# Chosen with scripted models, `benchmarks.played.named`, tuning and judging worlds, 29 November 2026. With .5 a model that is right has .041 of its
# ways in two rows, and one that is wrong in one of five names states .255 of its counts right; with .3 .060 and .325, without a doubt .017 and
# .211. Without names it is .448 and .215.
DOUBT = 0.5
"""Margin by which a wording may be more alike to wordings of another name than to wordings of its own. Beyond it its name is wrong, and then no
name of the table is believed against the likenesses."""

APART, NAMED = -1.0, 2.0
"""Likeness of wordings that are not one way, and of those that were given one name."""

_differ = lru_cache(65_536)(differ)
_make_same_calls = lru_cache(65_536)(makes_same_calls)
"""Of 128 wordings that are calls, half of which fail, a table takes 2.8 ms of processor time instead of 57 (29 November 2026)."""


@dataclass(frozen=True, slots=True)
class Wordings:
    """n wordings of a kind of task: in words, as vectors (n, d), the errors that each ended in, what `find_contrary` says, and the name that each
    was given, "" for none."""

    texts: Sequence[str]
    vectors: Matrix
    errors: Sequence[frozenset[str]]
    contrary: Flags
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """The places of wordings in groups of one way each, and what the vectors of these ways have in common."""

    groups: Sequence[Sequence[int]]
    common: Vector


def group_wordings(wordings: Wordings, others: Matrix, background: Vector, embedding: Embedding) -> Ways:
    """Groups wordings, the newest first, by complete linkage: beside the background, then beside the groups found, each counted once.

    Wordings of one name are one way, and of two names two, unless their outcomes or words speak against the one.

    `others` are vectors of wordings that were tried on other kinds of task only.

    Of more than `NEWEST` the older ones join the group that they are most alike; those that are like none are in no group.
    """
    vectors = wordings.vectors[:NEWEST]
    first = _link(wordings, compare_wordings(vectors, vectors, background, embedding), ALIKE)
    means = np.stack([vectors[group].mean(axis=0) for group in first])
    common = np.float32(LOCAL) * (means.sum(axis=0) + np.float32(LOCAL_PRIOR) * background) / np.float32(len(first) + LOCAL_PRIOR)
    alike = compare_wordings(vectors, vectors, common, embedding) + SAME_ERROR * _share_errors(wordings.errors[:NEWEST])
    wordings = replace(wordings, names=_believe(wordings.names, alike))
    least = ONE_WAY if embedding is Embedding.MEANING else NEARLY_EQUAL
    if len(others) and embedding is Embedding.MEANING:
        least = max(least, float(np.quantile(compare_wordings(others, vectors, common, embedding), CHANCE)))
    groups = _link(wordings, alike, least)
    joined: list[list[int]] = [[] for _ in groups]
    if len(wordings.texts) > NEWEST:
        older = compare_wordings(wordings.vectors[NEWEST:], vectors, common, embedding)
        older = np.where(wordings.contrary[NEWEST:], APART, _with_names(older, wordings.names[NEWEST:], wordings.names))
        starts = np.cumsum([0, *map(len, groups)])[:-1]
        farthest = np.minimum.reduceat(older[:, [place for group in groups for place in group]], starts, axis=1)
        for place, scores in enumerate(farthest, NEWEST):
            best = int(np.argmax(scores))
            named = bool(scores[best] == NAMED)
            if scores[best] >= least and not any(
                _differ(wordings.texts[place], wordings.texts[other], are_named_alike=named) for other in groups[best]
            ):
                joined[best].append(place)
    return Ways([[*group, *more] for group, more in zip(groups, joined, strict=True)], common)


def compare_wordings(some: Matrix, known: Matrix, common: Vector, embedding: Embedding) -> Floats:
    """Returns how alike wordings are to the known ones, (m, n): their cosines after what is common is taken away."""
    if embedding is Embedding.WORDS:
        return np.where(multiply(some, known.T) >= NEARLY_EQUAL, 1.0, 0.0)
    alike: Floats = multiply(scale(some - common), scale(known - common).T).astype(np.float64)
    return alike


def find_contrary(texts: Sequence[str], counts: Floats) -> Flags:
    """Returns whether their outcomes part n wordings from the newest, (n, m), by their successes and judged trials, (n, 2).

    Wordings of the same calls are not parted: what works is named with the calls before it, a failed call alone. Pairs without calls are not compared
    (a `check` after a `learn`, 10,000 outcomes: 33 → 18 ms, 30 November 2026).

    The likelihood ratio test of two rates (Wilks 1938, "The large-sample distribution of the likelihood ratio", Annals of Mathematical Statistics 9).
    """
    newest = counts[:NEWEST]
    apart = likelihood(counts)[:, None] + likelihood(newest) - likelihood(counts[:, None] + newest)
    found: Flags = 2 * apart >= CONTRARY
    is_parted: Flags = np.logical_or.reduce(found, axis=1)
    is_parted[:NEWEST] |= np.logical_or.reduce(found, axis=0)
    are_calls = np.array([parted and has_calls(text) for text, parted in zip(texts, is_parted.tolist(), strict=True)])
    for i, j in np.argwhere(found & (are_calls[:, None] | are_calls[:NEWEST])).tolist():
        found[i, j] = not _make_same_calls(texts[i], texts[j])
    return found


def likelihood(counts: Floats) -> Floats:
    """Returns the logarithms of the likelihood of counts at their own rates."""
    parts = np.stack([counts[..., 0], counts[..., 1] - counts[..., 0]])
    logs: Floats = (parts * np.log(np.maximum(parts / np.maximum(counts[..., 1], 1.0), 1e-12))).sum(axis=0)
    return logs


def _link(wordings: Wordings, alike: Floats, least: float) -> list[list[int]]:
    alike = _with_names(alike, wordings.names[:NEWEST], wordings.names)
    alike = np.where(wordings.contrary[:NEWEST], APART, alike)
    for i, j in np.argwhere(np.triu(alike >= least, 1)).tolist():
        if _differ(wordings.texts[i], wordings.texts[j], are_named_alike=bool(alike[i, j] == NAMED)):
            alike[i, j] = alike[j, i] = APART
    return link_groups(alike, least)


def _believe(names: Sequence[str], alike: Floats) -> Sequence[str]:
    """Returns the names of wordings, "" for those that are not believed: see `DOUBT`."""
    if not any(names):
        return names
    given = np.array(names[: len(alike)])
    of_name = np.stack([given == name for name in np.unique(given) if name], axis=1).astype(np.float64)
    fellows = of_name.sum(axis=0) - of_name
    means = np.where(fellows > 0, multiply(alike - np.diag(np.diag(alike)), of_name) / np.maximum(fellows, 1.0), NEVER)
    mine, others = (np.where(of_name == own, means, NEVER).max(axis=1) for own in (1, 0))
    behind = np.where(mine > NEVER, others - mine, NEVER)
    doubted = behind > (0.0 if behind.max() > DOUBT else np.inf)
    return [
        *("" if is_doubted else name for name, is_doubted in zip(given.tolist(), doubted.tolist(), strict=True)),
        *names[len(alike) :],
    ]


def _with_names(alike: Floats, names: Sequence[str], others: Sequence[str]) -> Floats:
    """Returns how alike wordings are, (m, n), where some have names: those of one name as alike as can be, those of two names not at all."""
    if not any(names):
        return alike
    mine, theirs = np.array(names)[:, None], np.array(others[: alike.shape[1]])[None]
    both: Flags = (mine != "") & (theirs != "")
    return np.where(both, np.where(mine == theirs, NAMED, APART), alike)


def _share_errors(errors: Sequence[frozenset[str]]) -> Floats:
    """Returns for each two wordings how telling the errors are that both ended in: each by the share of the failing wordings that never had it."""
    names = {error: place for place, error in enumerate(sorted(set().union(*errors)))}
    has = np.zeros((len(errors), len(names)))
    for row, found in enumerate(errors):
        has[row, [names[error] for error in found]] = 1
    failing = max(sum(map(bool, errors)), 1)
    shared: Floats = multiply(has * (1 - has.sum(axis=0) / failing), has.T)
    return shared
