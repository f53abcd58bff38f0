"""Whether an action about to be taken does what a pattern names.

Code is compared with code: the calls, commands or keywords that the pattern names must be in the action, with the flags and named arguments that
the pattern gives; other arguments do not matter. All else is compared as sentences are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from alma.learning.calls import INSTRUCTIONS, Calls, calls_in, is_generic, is_same_call
from alma.learning.commands import Commands, Likeness, commands_in, likeness, pattern_words
from alma.learning.paraphrases import Limits, Saying, is_contained, is_contrary, is_paraphrase, saying
from alma.learning.statements import holds, keywords, statement
from alma.learning.stems import stem
from alma.text import matched_text
from alma.text import words as words_of

_PROHIBITION = re.compile(r"\s*(?:please\s+)?(?:never|do not|don['’]?t|avoid)\s+", re.IGNORECASE)
_EXCLUSION = re.compile(r"\b(?:without|with no)\b", re.IGNORECASE)
_RUN = re.compile(rf"\w+\((?:{'|'.join(sorted(INSTRUCTIONS))})\s*=\s*([\"'])(.*?)\1[^)]*\)")
"""A tool that runs something is named by what it runs."""
MOST_WORDS = 64
STATEMENT_CHARS = 200
_DEEPEST = 3
"""A text that a text executes is read so deep."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as actions are compared with it. "Never force-push" names what "Force-push" does."""

    whole: Saying
    named: Saying
    """What it says before "without"."""
    excluded: Saying
    """What it says after it."""
    calls: Calls
    words: tuple[str, ...]
    flags: frozenset[str]
    """The stems of its long flags: without them a sentence says something else."""
    keywords: tuple[str, ...]
    excluded_keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The code in a text: in an action, or in what that gives others to execute."""

    calls: Calls
    commands: Commands
    statement: str | None


@dataclass(frozen=True, slots=True)
class Action:
    """An action as it is compared with patterns."""

    whole: Saying
    parts: tuple[Part, ...]

    @property
    def is_code(self) -> bool:
        """Whether it is code from end to end: then words that it does not have were never to be in it."""
        part = self.parts[0]
        return part.commands.is_certain or part.statement is not None or part.calls.has_code


@lru_cache(maxsize=4_096)
def read_pattern(text: str) -> Pattern:
    """Reads a pattern. The same for the same text, always."""
    plain = matched_text(_PROHIBITION.sub("", text, count=1))
    plain = _RUN.sub(r"\2", plain)
    calls = calls_in(plain)
    named, *excluded = _EXCLUSION.split(plain, maxsplit=1)
    rest = "".join(excluded)
    words = pattern_words(plain)
    flags = frozenset(stem(flag) for word in pattern_words(named) if word.startswith("--") for flag in words_of(word.partition("=")[0]))
    return Pattern(saying(plain), saying(named), saying(rest), calls, words, flags, keywords(named), keywords(rest))


def read_action(text: str) -> Action:
    """Reads an action, and what it gives others to execute."""
    parts = tuple(_parts(text, deep=0))
    commands = parts[0].commands
    return Action(saying(matched_text(commands.unquoted if commands.is_certain else text)), parts)


def _parts(text: str, *, deep: int) -> Iterator[Part]:
    commands = commands_in(text)
    calls = Calls() if commands.is_certain else calls_in(text)
    yield Part(calls, commands, statement(text))
    if deep < _DEEPEST:
        for inner in (*commands.instructions, *calls.instructions):
            yield from _parts(inner, deep=deep + 1)


def words_of_code(action: Action) -> list[str]:
    """The words that name the calls and programs of an action and the keywords of its statements: a pattern that names one has some of them."""
    words: dict[str, None] = {}
    for part in action.parts:
        for call in part.calls.calls:
            words |= dict.fromkeys((*words_of(call.name), *(word for name in call.receiver for word in words_of(name))))
        words |= dict.fromkeys(word for program in sorted(part.commands.programs) for word in words_of(program))
        words |= dict.fromkeys(words_of((part.statement or "")[:STATEMENT_CHARS]))
    return list(words)[:MOST_WORDS]


def is_warned_of(pattern: Pattern, action: Action, cosine: float, limits: Limits | None) -> bool:
    """Whether an action does what a pattern names. Without limits the cosine says nothing: only code and the same words do."""
    verdicts = {_by_code(pattern, part, cosine, limits) for part in action.parts}
    if verdicts != {None}:
        return True in verdicts and not _has_excluded(pattern, action)
    return _by_words(pattern, action, cosine, limits)


def _by_code(pattern: Pattern, part: Part, cosine: float, limits: Limits | None) -> bool | None:
    """Whether code does what the pattern names; `None` where the pattern names no such code."""
    is_near = limits is not None and cosine >= limits.bare
    verdicts = (_by_statement(pattern, part), _by_commands(pattern, part, is_near=is_near), _by_calls(pattern, part, is_near=is_near))
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _by_statement(pattern: Pattern, part: Part) -> bool | None:
    if part.statement is None or not pattern.keywords:
        return None
    return holds(part.statement, pattern.keywords)


def _by_commands(pattern: Pattern, part: Part, *, is_near: bool) -> bool | None:
    found = likeness(pattern.words, part.commands)
    if found is Likeness.OTHER:
        return None if part.commands.programs.isdisjoint(pattern.words) else False
    return found is Likeness.SAME or is_near


def _by_calls(pattern: Pattern, part: Part, *, is_near: bool) -> bool | None:
    words = frozenset(word.lower() for word in pattern.words)
    named, made = [call for call in pattern.calls.calls if not call.is_value], part.calls.calls
    if any(is_same_call(one, other, words) for one in named for other in part.calls.withdrawn):
        return False
    if named:
        is_made = all(any(is_same_call(one, other, words) for other in made) for one in named)
        return is_made or (False if part.calls.has_code else None)
    if pattern.calls.given:
        return (is_near and any(pattern.calls.given <= call.given for call in made)) or (False if part.calls.has_code else None)
    is_named = any(call.is_made and call.name in pattern.words and not is_generic(call.name) for call in made)
    return True if is_named and is_near else None


def _has_excluded(pattern: Pattern, action: Action) -> bool:
    """Whether an action has what the pattern names as missing: "without a timeout"."""
    if any(phrase in part.statement for part in action.parts if part.statement for phrase in pattern.excluded_keywords):
        return True
    made = [call for part in action.parts for call in part.calls.calls]
    if any(is_same_call(missing, call) for missing in pattern.calls.withdrawn for call in made):
        return True
    denied = frozenset[str]().union(*(denial.scope for denial in action.whole.denials))
    return is_contained(pattern.excluded, action.whole) and denied.isdisjoint(pattern.excluded.telling)


def _by_words(pattern: Pattern, action: Action, cosine: float, limits: Limits | None) -> bool:
    if pattern.whole.wording.normal == action.whole.wording.normal:
        return True
    named = pattern.named if action.is_code and pattern.named.telling else pattern.whole
    if not pattern.flags <= action.whole.wording.all or (action.is_code and _has_excluded(pattern, action)):
        return False
    if limits is not None and not action.is_code:
        return is_paraphrase(named, action.whole, cosine, limits)
    is_near = limits is None or cosine >= limits.contained
    return is_near and is_contained(named, action.whole) and not is_contrary(named, action.whole)
