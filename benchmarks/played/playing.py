"""Plays one store: a memory learns the log of a world, is asked, and its answers are scored."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.played.counts import Counts
from benchmarks.played.figures import Tally
from benchmarks.played.memories import Memory, OpenMemory, Row
from benchmarks.played.notes import Note, NoteReader, Said
from benchmarks.played.truth import Record, Standing, is_lesson_true, stand
from benchmarks.played.worlds import Question, World, draw_log, fold, list_questions

Say = Callable[[str], None]
TOKENS_PER_WORD = 1.3
LESSONS = 5
LEAST_SHARE = 0.6 - 1e-9
TRIED = 2


@dataclass(frozen=True, slots=True)
class Stated:
    """Counts that a surface states of a way for the question."""

    way: str
    wording: str
    counts: Counts
    surface: str
    is_of_other_kind: bool = False


def play_store(world: World, seed: int, open_memory: OpenMemory, say: Say = lambda _: None) -> Tally:
    """Plays one store and returns what was counted. Everything that was said goes to `say`."""
    tally, log = Tally(), draw_log(world, seed)
    with open_memory(world) as memory:
        for attempt in log:
            start = time.perf_counter()
            memory.learn(attempt)
            tally.values["learn_ms"].append(1000 * (time.perf_counter() - start))
        play = Play(world, seed, memory, Record(log), tally, say)
        say(f"\n######## {world.name} seed {seed}")
        for number, question in enumerate(list_questions(world)):
            play.ask(number, question)
        play.wake_up()
    return tally


class Play:
    """The questions to a memory that has learned a log."""

    def __init__(self, world: World, seed: int, memory: Memory, record: Record, tally: Tally, say: Say) -> None:
        self._world, self._seed, self._memory, self._record = world, seed, memory, record
        self._tally, self._say = tally, say
        self._reader = NoteReader(world)

    def ask(self, number: int, question: Question) -> None:
        """Asks one question at every surface."""
        start = time.perf_counter()
        prompt = self._memory.retrieve(question)
        self._tally.values["retrieve_ms"].append(1000 * (time.perf_counter() - start))
        notes = list(self._reader.read(prompt.text))
        self._say(f"\n##### {question.task!r} type={question.task_type} [{question.situation}]\n{prompt.text}")
        if question.situation is None:
            self._score_unrelated(notes)
            return
        self._tally.values["prompt_tokens"].append(TOKENS_PER_WORD * len(prompt.text.split()))
        standing = stand(self._world.situations[question.situation], self._record)
        first = self._score_prompt(notes, standing)
        self._score_rules(prompt.read_rules())
        rows = [(self._reader.find_way(row.strategy), row) for row in self._memory.table(question)]
        self._score_table(rows, standing)
        self._score_firsts(question, standing, {"prompt": first, "table": rows[0][0] if rows else None})
        stated = [*_stated_in_notes(notes), *_stated_in_rows(rows)]
        self._score_counts(stated, standing)
        self._score_check(number, question, standing)
        self._score_surfaces(question, standing, stated)

    def wake_up(self) -> None:
        """Reads what an agent is told before it knows its task: the first five lessons."""
        text = self._memory.wake_up()
        self._say(f"\n##### wake-up\n{text}")
        lessons = [note for note in self._reader.read(text) if note.says and not note.is_outcome]
        for note in lessons[:LESSONS]:
            said, situation = note.says[0], note.situation or note.situation_of_heading
            is_true = is_lesson_true(self._world, self._record, said.way, situation, is_advised=said.is_advised)
            self._tally.count("wakeup_true", is_true)
            self._say(f"   -- {said.way} {'+' if said.is_advised else '-'} {'true' if is_true else 'FALSE'}")
        if self._record.has_early_lesson:
            self._tally.count("wakeup_silent", not lessons)

    def _score_unrelated(self, notes: Sequence[Note]) -> None:
        has_filler = any(not note.is_frame and not note.is_preference for note in notes)
        self._tally.count("unrelated_filler", has_filler)
        self._tally.count(f"unrelated_filler_{'english' if self._world.is_english else 'other'}", has_filler)

    def _score_prompt(self, notes: Sequence[Note], standing: Standing) -> str | None:
        """Returns the way that is advised first."""
        tally = self._tally
        for note in notes:
            if note.tag and not note.is_preference:
                tally.count("unread", not note.says)
            if note.is_outcome:
                self._score_outcome(note, standing)
            self._say(f"   -- {_describe(note)}")
        advised = [said for note in notes for said in note.says if said.is_advised]
        for said in advised:
            tally.count("advised_bad", standing.is_bad(said.way))
            tally.count("advised_foreign", said.way not in standing.rates)
        first = advised[0].way if advised else None
        self._say(f"   -> first {first}; best known {sorted(standing.best_known)}; true {dict(standing.rates)}")
        self._say(f"      record { {way: str(each) for way, each in standing.counts.items()} }")
        return first

    def _score_outcome(self, note: Note, standing: Standing) -> None:
        way = note.says[0].way if note.says else None
        is_foreign = note.situation != standing.situation if note.situation else way not in standing.rates
        is_bad = any(_is_good_alone(said) and standing.is_bad(said.way) for said in note.says)
        self._tally.count("outcome_lines_of_bad_ways", not is_foreign and is_bad)
        self._tally.count("outcome_lines_foreign", is_foreign)

    def _score_rules(self, rules: Iterable[Sequence[str]]) -> None:
        for strategies in rules:
            ways = {self._reader.find_way(each) for each in strategies} - {None}
            if ways:
                self._tally.count("lumped_rules", len(ways) > 1)
                self._say(f"   -- a rule from {sorted(map(str, ways))}")

    def _score_table(self, rows: Sequence[tuple[str | None, Row]], standing: Standing) -> None:
        times: dict[str, int] = defaultdict(int)
        for way, row in rows:
            self._say(f"   | {row.strategy}: {row.counts} [{way}]")
            self._tally.count("unread", way is None)
            if row.wordings:
                ways = {self._reader.find_way(each) for each in row.wordings} - {None}
                self._tally.count("mixed_rows", len(ways) > 1)
            if way is None:
                continue
            times[way] += 1
            self._tally.count("foreign_rows", way not in standing.rates)
            self._tally.count("lumped_rows", self._record.has_mixed(way, row.counts))
        for number in times.values():
            self._tally.count("split_ways", number > 1)

    def _score_firsts(self, question: Question, standing: Standing, firsts: dict[str, str | None]) -> None:
        tally = self._tally
        answer: dict[str, object] = {}
        for surface, way in firsts.items():
            is_best, is_bad = way in standing.best_known, way is not None and standing.is_bad(way)
            answer |= {f"{surface}_first": way, f"{surface}_first_best": is_best, f"{surface}_first_bad": is_bad}
            tally.count(f"{surface}_first_best", is_best)
            tally.count(f"{surface}_first_bad", is_bad)
            if surface == "prompt":
                tally.count("prompt_first_none", way is None)
            if surface == "prompt" and way is not None:
                tally.count("prompt_first_best_of_answered", is_best)
                tally.count("prompt_first_bad_of_answered", is_bad)
        tally.count("best_known_is_bad", all(map(standing.is_bad, standing.best_known)))
        name = f"{self._world.name}/{self._seed}/{question.task_type}/{question.task}"
        tally.questions.append({"question": name} | answer)

    def _score_counts(self, stated: Iterable[Stated], standing: Standing) -> None:
        """Compares counts with the record: here, and everywhere, for more than that is said of no way rightly."""
        for each in stated:
            is_over = each.counts.exceeds(self._record.everywhere[each.way])
            self._tally.count("counts_more_anywhere", is_over)
            if is_over:
                self._say(f"   !! more than was ever recorded: {each.surface} {each.wording} {each.counts}")
            known = standing.counts.get(each.way, Counts())
            if known.trials < TRIED or each.is_of_other_kind:
                continue
            is_true = each.counts.equals(known)
            self._tally.count("counts_true", is_true)
            self._tally.count(f"counts_true_{each.surface}", is_true)
            self._tally.count("counts_more", each.counts.exceeds(known))

    def _score_check(self, number: int, question: Question, standing: Standing) -> None:
        """Asks whether each way may be done, in one of its wordings, in turn, recorded or not."""
        for place, (way, counts) in enumerate(standing.counts.items()):
            wordings = self._world.ways[way]
            wording = wordings[(number + place) % len(wordings)]
            if counts.trials < TRIED:
                continue
            if counts.failures >= TRIED and 1 - counts.share >= LEAST_SHARE:
                is_warned = self._memory.check(wording, question) is not None
                is_known = self._record.in_wording.get((standing.situation, wording)) is not None
                self._tally.count("check_warned", is_warned)
                self._tally.count(f"check_warned_{'same' if is_known else 'other'}_words", is_warned)
            elif counts.share >= LEAST_SHARE:
                warning = self._memory.check(wording, question)
                self._tally.count("check_false", warning is not None)
                if warning is not None:
                    self._say(f"   !! warned of a good way: {wording} {counts} | {warning}")

    def _score_surfaces(self, question: Question, standing: Standing, stated: Sequence[Stated]) -> None:
        """Asks of each wording that was tried in the situation; "unknown" is no true count, and differs from counts elsewhere."""
        for way, counts in standing.counts.items():
            for wording in self._world.ways[way]:
                if (standing.situation, wording) not in self._record.in_wording:
                    continue
                assessed = self._memory.assess(wording, question)
                self._tally.count("assess_unknown_though_tried", assessed is None)
                self._tally.count("assess_true", assessed is not None and assessed.equals(counts))
                sayings = [("assess", assessed)] if assessed else []
                warning = self._memory.check(wording, question)
                warned = self._reader.read_counts(warning) if warning is not None else None
                sayings += [("check", warned)] if warned else []
                sayings += [(each.surface, each.counts) for each in stated if fold(each.wording) == fold(wording)]
                if len({surface for surface, _ in sayings}) > 1 or (sayings and assessed is None):
                    do_differ = assessed is None or any(not each.equals(assessed) for _, each in sayings)
                    self._tally.count("surfaces_differ", do_differ)
                told = ", ".join(f"{surface} {each}" for surface, each in sayings)
                self._say(f"   {wording!r} [{way} {counts}] {'UNKNOWN' if assessed is None else ''} {told}")


def _stated_in_notes(notes: Iterable[Note]) -> list[Stated]:
    return [
        Stated(said.way, said.wording, said.counts, "prompt", note.is_of_other_kind)
        for note in notes
        for said in note.says
        if said.counts
    ]


def _stated_in_rows(rows: Iterable[tuple[str | None, Row]]) -> list[Stated]:
    return [
        Stated(way, row.strategy, row.counts, "table", row.is_of_other_kind)
        for way, row in rows
        if way is not None and row.counts.trials
    ]


def _is_good_alone(said: Said) -> bool:
    """Whether an outcome tells of a success, under whatever heading."""
    return said.is_good and (said.counts is None or said.counts.share >= 0.5)


def _describe(note: Note) -> str:
    kind = "outcome" if note.is_outcome else "preference" if note.is_preference else "rule" if note.says else "no way"
    return f"{kind}: " + "; ".join(f"{said.way} {'+' if said.is_advised else '-'} {said.counts or ''}" for said in note.says)
