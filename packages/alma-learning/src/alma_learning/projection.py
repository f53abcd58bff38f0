"""The outcomes that one reader may read, folded: what was tried on which kind of task, and what became of it."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from types import MappingProxyType

import numpy as np

from alma_learning.background import Background, scale
from alma_learning.differences import normalise
from alma_learning.kinds import Kinds, Label, Sheet, TextRows
from alma_learning.rows import make_rows
from alma_learning.table import Found, Row, Side, Table
from alma_learning.trials import Embedding, Indices, Matrix, Needed, Question, Trial, Vector, Vectors
from alma_learning.ways import Ways, Wordings, compare_wordings, find_contrary, group_wordings

NEWEST_TASKS = 4_096
NEXT_KINDS = 8
OTHER_WAYS = 256
STEP = 2_048
CHUNK = 64
NOTHING = ""
SheetKey = tuple[tuple[int, ...], bool]
"""The kinds of task that a sheet is about, and whether of steps."""
NO_NAMES: Mapping[str, str] = MappingProxyType({})
HIDDEN = -1
"""In place of a task where all tasks of a way are of other users: how near a question is to their words is not for it to know."""


class Projection:
    """The outcomes that one reader may read, folded. Not thread-safe: its user locks.

    What it says depends on the trials in the order of their numbers alone, not on when they came or what was asked between.
    """

    def __init__(
        self,
        vectors: Vectors,
        *,
        embedding: Embedding = Embedding.MEANING,
        needed: Callable[[str], Needed] = lambda agent: Needed(),
        reader: str | None = None,
        names: Mapping[str, str] = NO_NAMES,
    ) -> None:
        """Begins with nothing. `needed` is what a rule takes, of the trials of one agent; those of other agents than `reader` weigh half.

        `names` are the names that wordings were given, by their normalised words: those of one name are one way.
        """
        self._names = names
        self._vectors, self._embedding, self._needed, self._reader = vectors, embedding, needed, reader
        self._background: Background | None = None
        self._dimension = 0
        self._texts = TextRows(vectors)
        self._empty()

    def __len__(self) -> int:
        return len(self._log)

    def __contains__(self, trial_id: str) -> bool:
        return trial_id in self._place

    def extend(self, trials: Iterable[Trial]) -> None:
        """Adds trials in the order of their numbers. One with a known id replaces it."""
        late: list[tuple[int | None, Trial]] = []
        newest = self._log[-1].number if self._log else -1
        for trial in trials:
            known = self._place.get(trial.id)
            if known is not None or trial.number < newest:
                late.append((known, trial))
            else:
                newest = trial.number
                self._fold(trial)
        if late:
            self._correct(late)

    def remove(self, ids: Iterable[str]) -> None:
        """Takes trials out, as if they had never been."""
        gone = {self._place[each] for each in ids if each in self._place}
        if gone:
            self._fold_again([trial for place, trial in enumerate(self._log) if place not in gone])

    def table(self, question: Question) -> Table:
        """Returns what was tried on the kind of task of a question; without rows where nothing near is known."""
        of_steps = question.of_steps
        if not self._counts[of_steps]:
            return Table((), 0.0, 0, 0, 0, 0, self._bases[of_steps], _find_nothing)  # no vector is asked for
        self._catch_up()
        vector = self._vector_of(question)
        if question.text is None and vector is None and question.task is None:
            kinds = [k for k, label in enumerate(self._kinds.labels) if question.task_type in (None, label[0])]
            if kinds:
                return self._sheet(kinds, of_steps).ask(None, 1.0)
        own = self._own_kind(question)
        if own is not None:
            return self._answer(own, of_steps, vector, 1.0, question.task)
        ranked = self._rank(vector, question.task_type, 1)
        if ranked and (ranked[0][2] or ranked[0][0] >= self._kinds.gate):
            return self._answer(ranked[0][1], of_steps, vector, ranked[0][0], None)
        return Table((), ranked[0][0] if ranked else 0.0, 0, 0, 0, 0, self._bases[of_steps], _find_nothing)

    def find(self, action: str, question: Question) -> Found | None:
        """Returns the row of an action on such tasks; else, in equal words, on the next kinds of task: the nearest that goes as it goes on most."""
        table = self.table(question)
        row = table.find(action)
        if row is not None:
            return Found(row, table, is_elsewhere=False)
        form = self._forms.get(normalise(action))
        if form is None:
            return None
        vector, found = self._vector_of(question), list[Found]()
        for score, kind, _ in self._rank(vector, question.task_type, NEXT_KINDS):
            if any(self._log_forms[at] == form for task in self._kinds.tasks_of(kind) for at in self._trials[task]):
                place = self._sheet([kind], question.of_steps).words.get(self._form_words[form])
                if place is not None:
                    other = self._answer(kind, question.of_steps, vector, score, None)
                    found.append(Found(other.rows[place], other, is_elsewhere=True))
        works = sum(2 * each.row.successes - each.row.trials for each in found) >= 0
        return next((each for each in found if (2 * each.row.successes >= each.row.trials) is works), None)

    def tables(self, *, of_steps: bool = False) -> Iterator[Table]:
        """Yields the table of every kind of task, of whole attempts or of single steps, the newest used first."""
        if not self._counts[of_steps]:
            return
        self._catch_up()
        newest = sorted(range(len(self._kinds)), key=lambda kind: -self._last_used(kind))
        for kind in newest:
            sheet = self._sheet([kind], of_steps)
            if sheet.count:
                yield replace(sheet.ask(None, 1.0), task_type=self._kinds.labels[kind][0])

    def rules(self) -> list[tuple[Row, Table]]:
        """Returns the rows of whole attempts that are rules with their tables: first the best row of each kind of task, then the others.

        Both are sorted by mean, then by trials. Of rules in equal words on several kinds the one of most trials. A way that
        works, but not as well as another of its kind, is bad advice to an agent that does not know its task yet.
        """
        found: dict[tuple[str, Side], tuple[Row, Table]] = {}
        for table in self.tables():
            for row in table.rows:
                key = normalise(row.way), row.side
                if row.side is not Side.TRIED and (key not in found or found[key][0].trials < row.trials):
                    found[key] = row, table
        return sorted(found.values(), key=lambda each: (each[0] is not each[1].rows[0], -each[0].mean, -each[0].trials))

    # ------------------------------------------------------------------ folding

    def _empty(self) -> None:
        self._log: list[Trial] = []
        self._place: dict[str, int] = {}
        self._task_of: dict[tuple[str, str | None, str | None, str | None, bool], int] = {}
        self._tasks_named: dict[str, tuple[int, ...]] = {}  # tuples of numbers and texts cost the garbage collector nothing
        self._tasks_worded: dict[str, tuple[int, ...]] = {}
        self._task_texts: list[str] = []
        self._labels: list[tuple[tuple[int, Label], ...]] = []
        self._trials: list[list[int]] = []
        self._forms: dict[str, int] = {}
        self._way_forms: dict[str, int] = {NOTHING: -1}
        self._form_texts: list[str] = []
        self._form_words: list[str] = []
        self._form_at: list[int] = []
        self._form_rows: list[int] = []
        self._log_tasks: list[int] = []
        self._log_forms: list[int] = []
        self._reached, self._size = 0, -1
        self._sheets: dict[SheetKey, Sheet] = {}
        self._ways: dict[SheetKey, tuple[object, Ways]] = {}
        self._counts = [0, 0]
        """Of whole attempts, and of steps; so are the rates in `_bases`."""
        self._bases = [0.5, 0.5]

    def _fold(self, trial: Trial) -> None:
        at = len(self._log)
        self._log.append(trial)
        self._counts[trial.is_step] += 1
        self._place[trial.id] = at
        task = self._task_of.get((trial.task, trial.words, trial.task_type, trial.difficulty, trial.is_hidden), -1)
        if task < 0:
            task = self._find_task(trial, at)
        form = self._way_forms.get(trial.way)
        if form is None:
            form = self._find_form(trial.way, at)
        self._log_tasks.append(task)
        self._log_forms.append(form)
        self._trials[task].append(at)

    def _find_task(self, trial: Trial, at: int) -> int:
        """Returns the task of a trial: known by its key, if the trial states no other type or difficulty."""
        label: Label = (trial.task_type, trial.difficulty)
        named = self._tasks_named.get(trial.task, ())
        for task in named:
            stated = self._labels[task][-1][1]
            if all(a is None or b is None or a == b for a, b in zip(stated, label, strict=True)):
                self._labels[task] += ((at, (stated[0] or label[0], stated[1] or label[1])),)
                break
        else:
            task = len(self._task_texts)
            self._tasks_named[trial.task] = (*named, task)
            self._task_texts.append(trial.text)
            self._labels.append(((at, label),))
            self._trials.append([])
        self._task_of[trial.task, trial.words, trial.task_type, trial.difficulty, trial.is_hidden] = task
        words = trial.words or trial.task
        worded = self._tasks_worded.get(words, ())
        if not trial.is_hidden and task not in worded:
            self._tasks_worded[words] = (*worded, task)
        return task

    def _find_form(self, way: str, at: int) -> int:
        """Returns the number of a way in normalised words."""
        words = normalise(way)
        form = self._forms.get(words)
        if form is None:
            form = self._forms[words] = len(self._form_texts)
            self._form_texts.append(way)
            self._form_words.append(words)
            self._form_at.append(at)
        self._way_forms[way] = form
        return form

    def _correct(self, late: Sequence[tuple[int | None, Trial]]) -> None:
        """Replaces known trials and puts others where they belong; folds everything again only if more than a verdict changed."""
        if all(place is not None and _is_verdict(self._log[place], trial) for place, trial in late):
            for place, trial in late:
                assert place is not None
                self._log[place] = trial
            self._ways.clear()
            self._reached, self._size = 0, -1  # kinds are parted by verdicts, too
            return
        log = dict(enumerate(self._log))
        known = {place: trial for place, trial in late if place is not None}
        others = {trial.id: trial for place, trial in late if place is None}
        self._fold_again([*(log | known).values(), *others.values()])

    def _fold_again(self, trials: Sequence[Trial]) -> None:
        self._empty()
        for trial in sorted(trials, key=lambda each: each.number):
            self._fold(trial)

    # ------------------------------------------------------------------ kinds

    def _catch_up(self) -> None:
        """Makes kinds at the last fixed size of the log, and adds what came after it one by one: so it is the same however it came."""
        count = len(self._log)
        if self._reached == count and self._size >= 0:
            return
        if not count:
            nothing = np.zeros((0, 0), np.float32)
            self._kinds = Kinds(np.zeros(0, np.intp), nothing, nothing, [], np.zeros(0, np.float32), nothing, [])
            return
        if self._background is None:
            self._background = Background(self._vectors)
            self._dimension = self._background.vectors.shape[1]
        size = _last_size(count)
        newest = self._newest_tasks(size) if size != self._size else None
        begun = self._reached if newest is None else size
        self._learn_texts([*(() if newest is None else newest.tolist()), *self._log_tasks[begun:count]])
        if newest is not None:
            self._begin_at(size, newest)
        for at in range(self._reached, count):
            task = self._log_tasks[at]
            kind = self._kinds.kind_of.get(task)
            if kind is None:
                kinds = len(self._kinds)
                kind = self._kinds.add(
                    task, self._vectors_of([task])[0], self._way_of(self._log_forms[at]), self._label_at(task, at + 1)
                )
                if kind == kinds:  # of more kinds each needs more evidence for a proof
                    self._sheets.clear()
            if self._sheets:
                for key in [key for key in self._sheets if kind in key[0]]:
                    del self._sheets[key]
        self._reached = count

    def _newest_tasks(self, size: int) -> Indices:
        """Returns the tasks that count at a size of the log, oldest first."""
        newest, seen = np.unique(np.array(self._log_tasks[:size], np.intp)[::-1], return_index=True)
        return np.sort(newest[np.argsort(seen, kind="stable")[:NEWEST_TASKS]])

    def _learn_texts(self, tasks: Iterable[int]) -> None:
        """Makes the vectors of tasks and of all ways, in one batch."""
        forms = self._form_texts[len(self._form_rows) :]
        rows = self._texts.places([*forms, *(self._task_texts[task] for task in dict.fromkeys(tasks))])
        self._form_rows.extend(rows[: len(forms)].tolist())

    def _vectors_of(self, tasks: Iterable[int]) -> Matrix:
        return self._texts.rows[self._texts.places([self._task_texts[task] for task in tasks])]

    def _vectors_of_forms(self, forms: Iterable[int]) -> Matrix:
        return self._texts.rows[[self._form_rows[form] for form in forms]]

    def _begin_at(self, size: int, tasks: Indices) -> None:
        assert self._background is not None
        forms = bisect_left(self._form_at, size)
        self._way_centre = self._background.near(self._vectors_of_forms(range(forms)))
        self._sheets.clear()
        self._ways.clear()
        self._bases = self._find_bases(size)
        labels = [self._label_at(task, size) for task in tasks.tolist()]
        vectors = self._vectors_of(tasks.tolist())
        background = self._background
        self._kinds = Kinds(
            tasks,
            vectors,
            self._mean_ways(tasks, size),
            labels,
            background.near(vectors),
            background.vectors,
            self._worths_of(tasks, size),
            self._embedding,
        )
        self._size = self._reached = size

    def _find_bases(self, size: int) -> list[float]:
        """Returns the rates of success of whole attempts and of steps."""
        judged: tuple[list[float], list[float]] = [], []
        for trial in islice(self._log, size):
            if trial.worth is not None:
                judged[trial.is_step].append(trial.worth)
        return [(sum(worths) + 1) / (len(worths) + 2) for worths in judged]

    def _worths_of(self, tasks: Indices, size: int) -> list[dict[int, float]]:
        """Returns for each task the mean worth of each wording that was judged on it."""
        found = []
        for task in tasks.tolist():
            judged: dict[int, list[float]] = {}
            for at in self._trials[task]:
                if at < size and (worth := self._log[at].worth) is not None and self._log_forms[at] >= 0:
                    judged.setdefault(self._log_forms[at], []).append(worth)
            found.append({form: sum(worths) / len(worths) for form, worths in judged.items()})
        return found

    def _label_at(self, task: int, size: int) -> Label:
        return next((label for at, label in reversed(self._labels[task]) if at < size), (None, None))

    def _way_of(self, form: int) -> Matrix:
        """Returns the centred vector of a way in a feature."""
        if form < 0:
            return np.zeros(self._dimension, np.float32)
        return scale(self._texts.rows[self._form_rows[form]] - self._way_centre)

    def _mean_ways(self, tasks: Indices, size: int) -> Matrix:
        """Returns for each task the unit mean of the centred ways tried on it; of single steps where no attempt is known."""
        means = np.zeros((len(tasks), self._dimension), np.float32)
        count = len(self._form_texts) + 1
        if count == 1:
            return means
        of, forms = np.array(self._log_tasks[:size], np.intp), np.array(self._log_forms[:size], np.intp)
        if self._counts[True]:
            is_attempt = np.array([not trial.is_step for trial in self._log[:size]])
            is_telling = is_attempt | ~np.isin(of, of[is_attempt])
            of, forms = of[is_telling], forms[is_telling]
        codes = np.unique(of * count + forms + 1)
        owners, forms = np.divmod(codes, count)
        is_named = (forms > 0) & np.isin(owners, tasks)
        places, forms = np.searchsorted(tasks, owners[is_named]), forms[is_named] - 1
        centred = scale(self._vectors_of_forms(range(len(self._form_rows))) - self._way_centre)
        for start in range(0, len(tasks), CHUNK):  # so that what is gathered stays in the processor's cache
            first, last = np.searchsorted(places, [start, start + CHUNK])
            owners, starts = np.unique(places[first:last], return_index=True)
            if len(owners):
                means[owners] = np.add.reduceat(centred[forms[first:last]], starts, axis=0)
        return scale(means)

    # ------------------------------------------------------------------ asking

    def _vector_of(self, question: Question) -> Matrix | None:
        if question.vector is not None or question.text is None:
            return question.vector
        return self._texts.of(question.text)

    def _own_kind(self, question: Question) -> int | None:
        """Returns the kind in which the very task was tried, if it may be of the stated type."""
        for task in reversed(self._tasks_worded.get(question.task or "", ())):
            kind = self._kinds.kind_of.get(task)
            if kind is not None and (question.task_type is None or self._kinds.labels[kind][0] in (None, question.task_type)):
                return kind
        return None

    def _rank(self, vector: Matrix | None, task_type: str | None, most: int) -> list[tuple[float, int, bool]]:
        return self._kinds.rank(vector, task_type, most) if vector is not None and len(self._kinds) else []

    def _answer(self, kind: int, of_steps: bool, vector: Matrix | None, nearness: float, task: str | None) -> Table:
        sheet = self._sheet([kind], of_steps)
        if vector is None:
            return sheet.ask(None, nearness)
        similarities = np.where(sheet.tasks == HIDDEN, nearness, np.vecdot(self._texts.rows[sheet.texts], vector))
        if task is None:
            return sheet.ask(similarities, nearness)
        same = self._tasks_worded[task]
        similarities[np.isin(sheet.tasks, same)] = 1.0
        runs = [self._log[at] for one in same if self._kinds.kind_of.get(one) == kind for at in self._trials[one]]
        worths = [run.worth for run in runs if run.worth is not None and not run.is_hidden and run.is_step is of_steps]
        own = worths.count(1.0), worths.count(0.5), len(worths)
        return replace(sheet.ask(similarities, nearness), own=own)

    def _last_used(self, kind: int) -> int:
        return max(self._trials[task][-1] for task in self._kinds.tasks_of(kind))

    def _sheet(self, kinds: Sequence[int], of_steps: bool) -> Sheet:
        key = tuple(kinds), of_steps
        sheet = self._sheets.get(key)
        if sheet is None:
            sheet = self._sheets[key] = self._make_sheet(key)
        return sheet

    def _make_sheet(self, key: SheetKey) -> Sheet:
        kinds, of_steps = key
        every = (at for kind in kinds for task in self._kinds.tasks_of(kind) for at in self._trials[task])
        places = sorted(at for at in every if self._log[at].is_step is of_steps)
        of_form: dict[int, list[int]] = {}
        for at in places:
            of_form.setdefault(self._log_forms[at], []).append(at)
        judged = [worth for worth in (self._log[at].worth for at in places) if worth is not None]
        unnamed = of_form.pop(-1, [])
        forms = sorted(of_form, key=lambda form: -of_form[form][-1])
        ways = self._group(key, forms, of_form) if forms else Ways((), self._way_centre)
        members = [[forms[place] for place in group] for group in ways.groups]
        trials = [sorted(at for form in group for at in of_form[form]) for group in members]
        made, alone = (
            make_rows(
                [[self._log[at] for at in group] for group in groups],
                base=self._bases[of_steps],
                kinds=len(self._kinds),
                needed=self._needed,
                reader=self._reader,
            )
            for groups in (trials, [unnamed] if unnamed else [])
        )
        behind = [
            sorted({self._log_tasks[at] for at in trials[place] if not self._log[at].is_hidden}) or [HIDDEN] for place, _ in made
        ]
        any_task = self._kinds.tasks_of(kinds[0])[0]
        tried, where = np.unique(np.array([task for each in behind for task in each], np.intp), return_inverse=True)
        return Sheet(
            rows=tuple([row for _, row in made]),
            wordings=[[self._form_texts[form] for form in members[place]] for place, _ in made],
            words={self._form_words[form]: row for row, (place, _) in enumerate(made) for form in members[place]},
            tasks=tried,
            texts=self._texts.places([self._task_texts[any_task if task == HIDDEN else task] for task in tried.tolist()]),
            places=where.astype(np.intp),
            starts=np.cumsum([0, *map(len, behind)])[:-1].astype(np.intp),
            count=len({self._log[at].task for at in places}),
            trials=len(judged),
            successes=judged.count(1.0),
            partials=judged.count(0.5),
            base=self._bases[of_steps],
            unnamed=alone[0][1] if alone else None,
            compare=partial(self._compare, [members[place] for place, _ in made], ways.common),
            holds=partial(self._is_among, frozenset(places)),
        )

    def _is_among(self, places: frozenset[int], trial_id: str) -> bool:
        return self._place.get(trial_id) in places

    def _group(self, sheet: SheetKey, forms: list[int], of_form: dict[int, list[int]]) -> Ways:
        """Returns the places of ways in groups of one; kept as long as no wording and no error is new, and no other two are parted by outcomes."""
        errors = [
            frozenset(t.error for t in (self._log[at] for at in of_form[form]) if t.error and t.worth != 1) for form in forms
        ]
        judged = [[worth for worth in (self._log[at].worth for at in of_form[form]) if worth is not None] for form in forms]
        texts = [self._form_texts[form] for form in forms]
        contrary = find_contrary(texts, np.array([(sum(worths), len(worths)) for worths in judged]))
        grouped = self._ways.get(sheet)
        key = tuple(forms), tuple(errors), contrary.tobytes()
        if grouped is not None and grouped[0] == key:
            return grouped[1]
        held = {self._log_forms[at] for kind in sheet[0] for task in self._kinds.tasks_of(kind) for at in self._trials[task]}
        known = bisect_left(self._form_at, self._size)
        others = self._vectors_of_forms(islice((form for form in reversed(range(known)) if form not in held), OTHER_WAYS))
        ways = group_wordings(
            Wordings(texts, self._vectors_of_forms(forms), errors, contrary, self._named(forms)),
            others,
            self._way_centre,
            self._embedding,
        )
        self._ways[sheet] = key, ways
        return ways

    def _named(self, forms: Iterable[int]) -> Sequence[str]:
        """Returns the names that ways were given, "" for none."""
        return [self._names.get(self._form_words[form], "") for form in forms] if self._names else ()

    def _compare(self, rows: Sequence[Sequence[int]], common: Vector, action: str) -> list[float]:
        """Returns how alike an action is to the wordings of each row, on average."""
        forms = [form for row in rows for form in row]
        alike = compare_wordings(self._texts.of(action)[None], self._vectors_of_forms(forms), common, self._embedding)[0]
        starts = np.cumsum([0, *map(len, rows)])
        return [float(alike[start:end].mean()) for start, end in pairwise(starts.tolist())]


_SIZES = [0]


def _last_size(count: int) -> int:
    """Returns the last size of a log of `count` trials at which kinds are made: it grows by an eighth, by `STEP` at most."""
    while (last := _SIZES[-1]) <= count:  # another thread may append meanwhile
        _SIZES.append(last + min(max(last // 8, 1), STEP))
    return next(size for size in reversed(_SIZES) if size <= count)


def _is_verdict(old: Trial, new: Trial) -> bool:
    """Returns True if two records of an outcome differ in what was judged, not in what was done."""
    return old == new._replace(worth=old.worth, error=old.error, source=old.source, at=old.at, is_hidden=old.is_hidden)


def _find_nothing(action: str) -> int | None:
    return None
