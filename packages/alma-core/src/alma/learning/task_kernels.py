"""The kernels of a ledger: fitted again as its tasks grow, and extended by each new task at the cost of that task."""

from collections.abc import Callable

import numpy as np

from alma.learning.experience import Experience, Floats, Indices, Question, Vectors
from alma.learning.growing_array import GrowingArray
from alma.learning.inferred_types import LEAST_TYPES, TypeMeans, of_types
from alma.learning.kernels import UNTYPED, Calibration, by_cosine, by_type, log_likelihood, odds_share, profile_share
from alma.learning.pooling import LEAST_COSINE, Nearness
from alma.learning.task_space import LANDMARKS, TaskSpace, task_space
from alma.text import normalised

FITTED_AT = tuple(int(20 * 1.25**step) for step in range(32))
"""Kernels are fitted on the first of these numbers of tasks, and again at the next one: on the same tasks in every process."""

HIDDEN_TASK = "(a task of one user)"
"""Stands for the words of a task that are held back."""


class TaskKernels:
    """Tasks with their vectors and types, and how near each is to a question. Not thread-safe.

    `vectors`, `cores` and `profiles` have a row for each task; the last two are empty while too few tasks are known for a fit.
    """

    def __init__(self, calibration: Calibration | None, dimension: int) -> None:
        self.texts: list[str] = []
        self.types: list[str | None] = []
        self._calibration = calibration
        self._vectors = GrowingArray(dimension, dtype=np.float32)
        self._codes = GrowingArray(dtype=np.intp)
        self._code_of: dict[str, int] = {}
        self._strata = GrowingArray(dtype=np.intp)
        self._stratum_of: dict[tuple[str | None, str | None], int] = {}
        self._places: dict[str, tuple[int, ...]] = {}
        self._space: TaskSpace | None = None
        self._share, self._share_of_types = 0.0, 0.5
        self._fitted_on = 0
        self._share_for = 0
        self._means = TypeMeans(dimension)
        self._cores = GrowingArray(dimension, dtype=np.float32)
        self._profiles = GrowingArray(0, dtype=np.float32)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def strata(self) -> list[tuple[str | None, str | None]]:
        """The type and the difficulty for each code in `Nearness.types`."""
        return list(self._stratum_of)

    @property
    def stratum_codes(self) -> Indices:
        """The codes of all tasks in `strata`."""
        return self._strata.rows

    @property
    def vectors(self) -> Vectors:
        """The unit vectors of all tasks."""
        return self._vectors.rows

    def add(self, text: str, task_type: str | None, vector: Vectors, *, difficulty: str | None = None) -> int:
        """Takes in a task, and returns its number. Tasks of one type and one difficulty are compared with each other."""
        number = len(self.texts)
        self.texts.append(text)
        self.types.append(task_type)
        self._vectors.append(vector)
        code = UNTYPED if task_type is None else self._code_of.setdefault(task_type, len(self._code_of))
        self._codes.append(code)
        self._means.add(code, vector)
        self._strata.append(self._stratum_of.setdefault((task_type, difficulty), len(self._stratum_of)))
        if text:
            self._place(text, number)
        return number

    def complete(self, number: int, text: str, vector: Vectors | None) -> None:
        """Gives a task whose words were not known its words, or its vector."""
        if text:
            self.texts[number] = text
            self._place(text, number)
        if vector is not None:
            self._means.replace(int(self._codes.rows[number]), self._vectors.rows[number], vector)
            self._vectors.rows[number] = vector

    def _place(self, text: str, number: int) -> None:
        key = normalised(text)
        self._places[key] = (*self._places.get(key, ()), number)

    def question(self, number: int) -> Question:
        """The question of a task."""
        return Question(self.texts[number] or HIDDEN_TASK, self._vectors.rows[number], self.types[number])

    def nearness(self, question: Question | None, experience: Callable[[int], Experience], *, first: int = 0) -> Nearness:
        """How near the tasks from number `first` on are: all of them alike to no question, those of the type alone to one without words.

        `experience` gives what was tried on the first n tasks, for the fit.
        """
        codes, strata = self._codes.rows[first:], self._strata.rows[first:]
        if question is None:
            whole = np.ones(len(codes))
            return Nearness(whole, whole, np.zeros(len(codes), bool), strata)
        kind = question.task_type if question.task_type is not None else self._only_type(question)
        weights, cosines = (
            self._by_vector(question, experience, first) if question.task else (np.zeros(len(codes)), np.zeros(len(codes)))
        )
        code = UNTYPED if kind is None else self._code_of.get(kind, len(self._code_of))
        if kind is not None:
            is_typed = codes != UNTYPED
            weights[is_typed] = cosines[is_typed] = codes[is_typed] == code
        is_own = np.zeros(len(codes), bool)
        is_own[self._own(question, code, first)] = True
        weights[is_own] = cosines[is_own] = 1.0
        return Nearness(weights, cosines, is_own, strata)

    def _own(self, question: Question, code: int, first: int) -> list[int]:
        """The tasks that are the question's own: the same normalised text, and no other type."""
        found = self._places.get(normalised(question.task), ()) if question.task else ()
        codes = self._codes.rows
        return [place - first for place in found if place >= first and (code == UNTYPED or codes[place] in (UNTYPED, code))]

    def _only_type(self, question: Question) -> str | None:
        """The type that the very task was recorded with, if that is always the same."""
        types = {self.types[place] for place in self._places.get(normalised(question.task), ())}
        return next(iter(types)) if len(types) == 1 else None

    def _by_vector(self, question: Question, experience: Callable[[int], Experience], first: int) -> tuple[Floats, Floats]:
        constants = self._calibration
        if constants is None:
            nothing = np.zeros(len(self) - first)
            return nothing, nothing.copy()
        self._fit(experience)
        plain = self._vectors.rows[first:] @ question.vector
        if self._space is None:
            return self._with_types(constants.few.weights(plain), question, plain, first), constants.scale.of(plain)
        core = self._space.cores([question.task], question.vector[None])
        by_profile = constants.profile.weights(self._profiles.rows[first:] @ self._space.profiles(core)[0])
        cosines = (self._cores.rows[first:] @ core[0]).astype(np.float64)
        if constants.scale.of(plain).max(initial=-1.0) < LEAST_COSINE:
            # near to nothing: a profile has a direction even there, and says nothing
            by_profile = np.zeros_like(by_profile)
        weights = self._share * by_profile + (1 - self._share) * constants.plain.weights(plain)
        return self._with_types(weights, question, plain, first), cosines

    def _with_types(self, weights: Floats, question: Question, plain: Vectors, first: int) -> Floats:
        """The weights of tasks for a question that may be of one of their types."""
        if question.task_type is not None or len(self._means) < LEAST_TYPES:
            return weights
        assert self._calibration is not None
        codes = self._codes.rows[first:]
        of_type = of_types(self._means, question.vector, codes, plain, self._calibration.few)
        within = self._share_of_types + (1.0 - self._share_of_types) * weights
        found: Floats = np.where(codes != UNTYPED, of_type[codes], 0.0) * within + (1.0 - of_type.sum()) * weights
        return found

    def _fit(self, experience: Callable[[int], Experience]) -> None:
        """Has the space fitted on as many of the first tasks as `FITTED_AT` says, and all tasks in it."""
        constants = self._calibration
        assert constants is not None  # without constants there is nothing to fit
        wanted = max((size for size in FITTED_AT if constants.least_tasks <= size <= len(self)), default=0)
        if wanted != self._fitted_on:
            self._fitted_on = wanted
            self._space = task_space(self.texts[:wanted], self._vectors.rows[:wanted])
            self._cores = GrowingArray(self._vectors.rows.shape[1], dtype=np.float32)
            self._profiles = GrowingArray(min(wanted, LANDMARKS), dtype=np.float32)
        if self._space is not None and len(self._cores) < len(self):
            self._extend(self._space)
        if self._share_for != wanted:
            self._share_for = wanted
            self._set_shares(experience(wanted), constants)

    def _set_shares(self, seen: Experience, constants: Calibration) -> None:
        """Has each kernel weigh as much as it would have predicted."""
        by_profile = log_likelihood(seen, by_cosine(self._profiles.rows, constants.profile))
        by_vector = log_likelihood(seen, by_cosine(self._vectors.rows, constants.plain))
        self._share = profile_share(by_profile, by_vector, constants)
        if len(self._means) >= LEAST_TYPES:
            self._share_of_types = odds_share(log_likelihood(seen, by_type(self._codes.rows)) - max(by_profile, by_vector))

    def _extend(self, space: TaskSpace) -> None:
        new = slice(len(self._cores), len(self))
        cores = space.cores(self.texts[new], self._vectors.rows[new].copy())
        for core, profile in zip(cores, space.profiles(cores), strict=True):
            self._cores.append(core)
            self._profiles.append(profile)
