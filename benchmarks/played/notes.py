"""Reads notes: which ways a prompt names, with which counts, and whether it advises them. In today's layout, and in likely later ones."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.played.counts import Counts, CountsInText, blank_counts, find_counts
from benchmarks.played.worlds import World, fold

GAP = "\x00"  # stands where a known task or error stood
LEAST_OF_A_CUT_WORDING = 10
LEAST_OF_AN_ERROR = 4

_CUE = re.compile(
    r"(?P<good>\binstead(?: do)?\b|\bbetter(?::| way)|\bprefer\b|\bsucceeded\b|\bthen worked\b|\bworked\b|\bworks\b|\bdo:|\buse:|\btry:?|\bbest\b)"
    r"|(?P<bad>\bavoid\b|\bfail(?:s|ed|ing)?\b|\bdo not\b|\bdon['’]t\b|\bnever\b|\bnot:|\bpartly done\b|\bunverified\b)",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"[\s:,(]*(?:(?:worked|works|succeeded)\s+)?instead\b(?!\s*(?:do\b|:))")
_ATTEMPT = re.compile(r"\W*(?:succeeded|failed|partly done|unverified)\b")
_OTHER_KIND = re.compile(r"\b(?:other|another|different) (?:kinds?|sorts?|types?) of tasks?\b")
_AVOIDANCE = re.compile(r"avoid|fail|do not|don['’]t|never|warn|went wrong|not work|bad", re.IGNORECASE)
_MIXED = re.compile(r"(?<!not )\bwork(?:s|ed)?\b|\btried\b|\bbest\b|\brecord\b", re.IGNORECASE)
_TAG = re.compile(r"^\s*(?:[-*•]\s*)?\[(?P<tag>[a-z0-9]*[A-Z]\d+)\]\s*")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_CUT = re.compile(r"…|\.\.\.")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”")


@dataclass(frozen=True, slots=True)
class Said:
    """What a note says of one way. A way is advised where the last cue before it is none of failure and its counts are no worse than half.

    `is_explicit` tells that a cue stands in the note itself: it then counts more than a heading.
    """

    way: str
    wording: str
    counts: Counts | None
    is_good: bool
    is_explicit: bool
    is_under_avoidance: bool = False

    @property
    def is_advised(self) -> bool:
        has_failed = self.counts is not None and self.counts.trials > 0 and self.counts.share < 0.5
        return self.is_good and not has_failed and (self.is_explicit or not self.is_under_avoidance)


@dataclass(frozen=True, slots=True)
class Note:
    """A line of a prompt. `situation` is that of a task which it names, or which its heading names."""

    text: str
    tag: str | None = None
    says: Sequence[Said] = ()
    situation: str | None = None
    situation_of_heading: str | None = None
    is_outcome: bool = False
    is_preference: bool = False
    is_of_other_kind: bool = False
    is_frame: bool = False
    """Whether it is neither tagged nor names anything known: a sentence around the notes."""

    @property
    def is_heuristic(self) -> bool:
        return _kind_of_tag(self.tag) == "H"


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """A known wording in a folded text."""

    start: int
    end: int
    way: str = field(compare=False)
    wording: str = field(compare=False)

    def overlaps(self, start: int, end: int) -> bool:
        return start < self.end and end > self.start


class NoteReader:
    """Finds the ways, tasks and errors of a world in lines of text."""

    def __init__(self, world: World) -> None:
        wordings = [(fold(wording), wording, way) for way, each in world.ways.items() for wording in each]
        tasks = [(fold(task), each.name) for each in world.situations.values() for task in each.train]
        errors = {fold(error) for each in world.errors.values() for error in each}
        self._wordings = sorted(wordings, key=lambda each: len(each[0]), reverse=True)
        self._tasks = sorted(tasks, key=lambda each: len(each[0]), reverse=True)
        self._errors = sorted((each for each in errors if len(each) >= LEAST_OF_AN_ERROR), key=len, reverse=True)
        self._preferences = [fold(text) for _, text in world.preferences]

    def find_way(self, text: str) -> str | None:
        """Returns the way of the longest known wording in a text."""
        mentions = self._find_mentions(fold(text))
        return max(mentions, key=lambda each: len(each.wording)).way if mentions else None

    def read(self, prompt: str) -> Iterator[Note]:
        """Yields the notes of a prompt in order; headings are no notes."""
        is_under_avoidance, situation = False, None
        for line in _join_lines(prompt):
            if not line.strip() or line.lstrip().startswith("<<<"):
                continue
            note = self._read_line(line, is_under_avoidance)
            if not note.is_preference and note.tag is None and not note.says and line.rstrip().endswith(":"):
                situation = note.situation
                if situation is None:
                    is_under_avoidance = bool(_AVOIDANCE.search(line)) and not _MIXED.search(line)
                    continue
            yield replace(note, situation_of_heading=situation)

    def read_counts(self, answer: str) -> Counts | None:
        """Returns the first counts of an answer in words; numbers in wordings, tasks and errors are none."""
        text = fold(answer)
        known = [*(each for each, _ in self._tasks), *self._errors, *(each for each, _, _ in self._wordings)]
        for each in sorted(known, key=len, reverse=True):
            text = text.replace(each, GAP) if len(each) >= LEAST_OF_AN_ERROR else text
        return next((each.counts for each in find_counts(text)), None)

    def _read_line(self, line: str, is_under_avoidance: bool) -> Note:
        match = _TAG.match(line)
        tag = match["tag"] if match else None
        text = fold(_BULLET.sub("", line[match.end() :] if match else line.strip()))
        if any(each in text for each in self._preferences):
            return Note(line.strip(), tag, is_preference=True)
        text, situation = self._take_out_tasks_and_errors(text)
        mentions = self._find_mentions(text)
        says = _merge_wordings(_read_mentions(_blank_quotes(text, mentions), mentions, is_under_avoidance))
        names_attempt = _kind_of_tag(tag) == "O" or bool(_ATTEMPT.match(text))
        return Note(
            line.strip(),
            tag,
            says,
            situation,
            is_outcome=not any(each.counts for each in says) and (names_attempt or bool(mentions and situation)),
            is_of_other_kind=bool(_OTHER_KIND.search(text)),
            is_frame=not mentions and tag is None and situation is None,
        )

    def _take_out_tasks_and_errors(self, text: str) -> tuple[str, str | None]:
        situation = None
        for task, name in self._tasks:
            if _find_places(text, task):
                situation = situation or name
                text = text.replace(task, GAP)
        for error in self._errors:
            text = text.replace(error, GAP)
        return text, situation

    def _find_mentions(self, text: str) -> list[Mention]:
        """Known wordings, longest first and none within another; at last those that were cut with "…"."""
        found: list[Mention] = []
        for short, wording, way in self._wordings:
            places = [place for place in _find_places(text, short) if not any(each.overlaps(*place) for each in found)]
            found += [Mention(start, end, way, wording) for start, end in places]
        for cut in _CUT.finditer(text):
            before = text[: cut.start()].rstrip()
            size, _, wording, way = max(
                (_common_end(before, short), short, wording, way) for short, wording, way in self._wordings
            )
            start, end = len(before) - size, len(before)
            if size >= LEAST_OF_A_CUT_WORDING and not any(each.overlaps(start, end) for each in found):
                found.append(Mention(start, cut.end(), way, wording))
        return sorted(found)


def _kind_of_tag(tag: str | None) -> str:
    """The letter of a tag: "H" of "p1H2"."""
    return next((letter for letter in tag or "" if letter.isupper()), "")


def _read_mentions(text: str, mentions: Sequence[Mention], is_under_avoidance: bool) -> Iterator[Said]:
    """Yields for each mention the counts that belong to it, and the last cue before it."""
    counts = [each for each in find_counts(text) if not any(mention.overlaps(each.start, each.end) for mention in mentions)]
    words = blank_counts(text, iter(counts))
    do_counts_lead = _lead(counts, mentions)
    is_good, end = not is_under_avoidance, 0
    for number, mention in enumerate(mentions):
        after = mentions[number + 1].start if number + 1 < len(mentions) else len(text)
        first, last = (end, mention.start) if do_counts_lead else (mention.end, after)
        own = next((each.counts for each in counts if first <= each.start < last), None)
        cues = list(_CUE.finditer(words[end : mention.start]))
        if cues:
            is_good = cues[-1]["good"] is not None
        is_instead = bool(_INSTEAD.match(words[mention.end : after]))
        yield Said(mention.way, mention.wording, own, is_good or is_instead, bool(cues) or is_instead, is_under_avoidance)
        end = mention.end


def _lead(counts: Sequence[CountsInText], mentions: Sequence[Mention]) -> bool:
    """Whether counts stand before the ways that they belong to ("3 of 4 worked: blue-green")."""
    if not counts or not mentions:
        return False
    return counts[0].start < mentions[0].start and not any(each.start >= mentions[-1].end for each in counts)


def _merge_wordings(says: Iterator[Said]) -> list[Said]:
    """Makes one saying of a way in two wordings side by side ("canary, also: a small share first: worked 3 of 3")."""
    kept: list[Said] = []
    for said in says:
        last = kept[-1] if kept else None
        if last and last.way == said.way and (last.counts is None or said.counts is None):
            kept[-1] = replace(last, counts=last.counts or said.counts, is_good=last.is_good and said.is_good)
        else:
            kept.append(said)
    return kept


def _blank_quotes(text: str, mentions: Sequence[Mention]) -> str:
    """Puts spaces where something else than a way is quoted: an error that was cut may hold any words."""
    for match in _QUOTED.finditer(text):
        if not any(each.overlaps(*match.span()) for each in mentions):
            text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
    return text


def _join_lines(prompt: str) -> Iterator[str]:
    """Yields the lines of a prompt; what is indented under a tagged note belongs to it."""
    held: str | None = None
    for line in prompt.splitlines():
        is_continued = line[:2].isspace() and line.strip() and not _TAG.match(line) and not _BULLET.match(line)
        if held is not None and is_continued and _TAG.match(held):
            held = f"{held} {line.strip()}"
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def _find_places(text: str, short: str) -> list[tuple[int, int]]:
    """Where a folded text stands in another as whole words."""
    places: list[tuple[int, int]] = []
    at = text.find(short)
    while at >= 0:
        end = at + len(short)
        is_begun = at > 0 and text[at - 1].isalnum() and short[0].isalnum()
        is_going_on = end < len(text) and text[end].isalnum() and short[-1].isalnum()
        if not is_begun and not is_going_on:
            places.append((at, end))
        at = text.find(short, at + 1 if is_begun or is_going_on else end)
    return places


def _common_end(text: str, short: str) -> int:
    """The length of the longest beginning of `short` that `text` ends with."""
    return next((size for size in range(min(len(text), len(short)), 0, -1) if text.endswith(short[:size])), 0)
