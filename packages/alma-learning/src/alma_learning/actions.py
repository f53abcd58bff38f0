"""Check whether an action about to be taken does what a pattern names.

Code is compared with code: the calls, commands or keywords that the pattern names must be in the action, with the flags, the named arguments and
the quoted ones that the pattern gives; other arguments do not matter. All else is compared as sentences are.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from alma_learning.calls import Call, Calls, is_generic, is_same_call, names_the_same, read_calls
from alma_learning.commands import Likeness, Named, compare, pattern_words, read_named
from alma_learning.sentences import BARE, CONTAINED, is_contained, is_paraphrase, says_otherwise
from alma_learning.shell import Commands, read_commands
from alma_learning.statements import holds, read_keywords, read_statement
from alma_learning.word_lists import read_lists
from alma_learning.wording import Wording, read_wording

READ_CHARS, MOST_GIVEN, MOST_WORDS = 800, 20, 32
"""Sentences are compared by so many characters, and so many texts are read that a text gives others to execute."""

_CALLS, _PROGRAMS = read_lists("calls"), read_lists("commands")["programs"]
_PROHIBITION = re.compile(r"\s*(?:please\s+)?(?:never|do not|don['’]?t|avoid)\s+", re.IGNORECASE)
_EXCLUSION = re.compile(r"\b(?:without|with no)\b", re.IGNORECASE)
_RUN = re.compile(rf"\w{{1,100}}\((?:{'|'.join(sorted(_CALLS['instructions']))})\s*=\s*([\"'])(.*?)\1[^)]*\)")
"""A tool that runs something is named by what it runs: `Bash(command="npm start")`."""
_AROUND = re.compile(r"\b(?:at|during|in|inside|on|within)\b", re.IGNORECASE)
"""Words of a pattern after which it says where or when: "usleep in the retry loop" names no call of `retry`."""
_SPACES, _WORD = re.compile(r"(\s)\s+"), re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as actions are compared with it. "Never force-push" names what "Force-push" does.

    `named` is what it says before "without", `excluded` what it says after it. `words` are all of its words, as written and in lower case, `things`
    those before it says where or when.
    """

    normal: str
    whole: Wording
    named: Wording
    excluded: Wording
    calls: Calls
    commands: Named
    words: frozenset[str]
    things: frozenset[str]
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
    """An action as it is compared with patterns. `is_code` says that it is code from end to end, in which what it leaves out is not said."""

    normal: str
    whole: Wording
    parts: tuple[Part, ...]
    is_code: bool


def is_warned_of(pattern: str, action: str, cosine: float | None) -> bool:
    """Returns True if an action does what a pattern names. Without a cosine of meanings only code and the same words decide."""
    named, done = read_pattern(pattern), read_action(action)
    if named.normal == done.normal:
        return True
    by_code = _by_code(named, done, is_near=cosine is not None and cosine >= BARE)
    if by_code is not None:
        return by_code and not _has_excluded(named, done)
    return _by_words(named, done, cosine)


def name_same_action(action: str, other: str) -> bool:
    """Returns True if an action does by its code what the code of another names; arguments that `other` does not name do not matter."""
    return bool(_by_code(read_pattern(other), read_action(action), is_near=False))


def has_calls(text: str) -> bool:
    """Returns True if a text names calls in code."""
    return read_pattern(text).calls.has_code


def makes_same_calls(one: str, other: str) -> bool:
    """Returns True if one of two texts makes the calls that the other names: `look, then deploy(way="rolling")` those of `deploy(way="rolling")`."""
    return any(has_calls(b) and name_same_action(a, b) for a, b in ((one, other), (other, one)))


def has_other_code(one: str, other: str) -> bool:
    """Returns True if each of two texts is code, and neither does what the other names. In a short text a known program is code: `git stash`."""
    if not all(action.is_code or _runs_program(action) for action in map(read_action, (one, other))):
        return False
    verdicts = [_by_code(read_pattern(a), read_action(b), is_near=False) for a, b in ((one, other), (other, one))]
    return None not in verdicts and True not in verdicts


def _runs_program(action: Action) -> bool:
    return any(part.commands.programs & _PROGRAMS for part in action.parts)


@lru_cache(maxsize=4_096)
def read_pattern(text: str) -> Pattern:
    """Returns a pattern as it is compared with actions."""
    plain = _RUN.sub(r"\2", _PROHIBITION.sub("", _SPACES.sub(r"\1", text), count=1))[:READ_CHARS]
    named, *excluded = _EXCLUSION.split(plain, maxsplit=1)
    rest, words = "".join(excluded), pattern_words(plain)
    return Pattern(
        _normal(plain),
        read_wording(plain),
        read_wording(named),
        read_wording(rest),
        read_calls(plain),
        read_named(words),
        _spellings(words),
        _spellings(pattern_words(_AROUND.split(plain, maxsplit=1)[0])),
        read_keywords(named),
        read_keywords(rest),
    )


@lru_cache(maxsize=1_024)
def read_action(text: str) -> Action:
    """Returns an action as it is compared with patterns, with what it gives others to execute."""
    first = _part(text)
    given = (*first.commands.instructions, *first.calls.instructions)[:MOST_GIVEN]
    parts = (first, *map(_part, dict.fromkeys(given)))
    said = first.commands.unquoted if first.commands.is_certain else text
    is_code = first.commands.is_certain or first.statement is not None or first.calls.has_code
    return Action(_normal(text[:READ_CHARS]), read_wording(said[:READ_CHARS]), parts, is_code)


def _normal(text: str) -> str:
    return " ".join(_WORD.findall(text.lower())) or "".join(text.split())


def _spellings(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(spelling for word in words for spelling in (word, word.lower()))


def _part(text: str) -> Part:
    commands = read_commands(text)
    return Part(Calls() if commands.is_certain else read_calls(text), commands, read_statement(text))


def _by_code(pattern: Pattern, action: Action, *, is_near: bool) -> bool | None:
    """Returns True if the code of an action does what the pattern names; `None` where the pattern names no such code."""
    verdicts = {_by_part(pattern, part, is_near=is_near) for part in action.parts} - {None}
    return True in verdicts if verdicts else None


def _by_part(pattern: Pattern, part: Part, *, is_near: bool) -> bool | None:
    if part.statement is not None and pattern.keywords:
        return holds(part.statement, pattern.keywords)
    if not pattern.words.isdisjoint(part.commands.programs - {call.name for call in pattern.calls.calls}):
        found = compare(pattern.commands, part.commands)  # what the pattern names as a call is compared as one
        return found is Likeness.SAME or (found is Likeness.PROGRAM and is_near)
    return _by_calls(pattern, part, is_near=is_near)


def _by_calls(pattern: Pattern, part: Part, *, is_near: bool) -> bool | None:
    named = [call for call in pattern.calls.calls if not call.is_value]
    unless_other_code = False if part.calls.has_code else None
    if named:
        return all(_is_named(one, pattern, part) for one in named) or unless_other_code
    if pattern.calls.given:
        return (is_near and any(pattern.calls.given <= call.given for call in part.calls.calls)) or unless_other_code
    return any(_is_by_word(call, pattern, is_near=is_near) for call in part.calls.calls) or None


def _is_by_word(call: Call, pattern: Pattern, *, is_near: bool) -> bool:
    """Returns True if a pattern names a call by a word of its sentence, or by the one word before it says where or when."""
    is_keyword = any(f" {call.name.upper()} " in phrase for phrase in pattern.keywords)  # "TRUNCATE TABLE" names no function
    is_word = call.is_made and call.name in pattern.things and not is_generic(call.name) and not is_keyword
    return is_word and (is_near or pattern.things == {call.name})


def _is_named(one: Call, pattern: Pattern, part: Part) -> bool:
    """Returns True if code calls what a pattern names, with the arguments that it names outside of calls."""
    names_missing = pattern.excluded.telling or not _CALLS["missing"].isdisjoint(pattern.words)
    beside = () if names_missing or not part.calls.has_code else {given for given in pattern.calls.given if given[0]}
    given = (other.given | part.calls.given for other in part.calls.calls if is_same_call(one, other, pattern.words))
    return any(all({("", name), ("", value), (name, value)} & said for name, value in beside) for said in given)


def _has_excluded(pattern: Pattern, action: Action) -> bool:
    """Returns True if an action has what the pattern says is missing: "without a timeout"."""
    if any(phrase in part.statement for part in action.parts if part.statement for phrase in pattern.excluded_keywords):
        return True
    if pattern.calls.withdrawn and pattern.excluded.telling:  # the words of a name are not what is missing
        made = (call for part in action.parts for call in part.calls.calls)
        return any(_is_there(missing, call) for call in made for missing in pattern.calls.withdrawn)
    denied = frozenset[str]().union(*(denial.scope for denial in action.whole.denials))
    return is_contained(pattern.excluded, action.whole) and denied.isdisjoint(pattern.excluded.telling)


def _is_there(missing: Call, call: Call) -> bool:
    """Returns True if a call is what is said to be missing: of any receiver, if none is named."""
    return (not missing.receiver and missing.name == call.name and missing.given <= call.given) or names_the_same(missing, call)


def _by_words(pattern: Pattern, action: Action, cosine: float | None) -> bool:
    named = pattern.named if action.is_code and pattern.named.telling else pattern.whole
    if action.is_code and _has_excluded(pattern, action):
        return False
    if cosine is not None and not action.is_code:
        return is_paraphrase(named, action.whole, cosine)
    is_near = cosine is None or cosine >= CONTAINED
    return is_near and is_contained(named, action.whole) and not says_otherwise(named, action.whole)


def words_of_code(text: str) -> list[str]:
    """Returns the words that name the calls and programs of an action, and those of its statements: a pattern that names one has some of them."""
    found: dict[str, None] = {}
    for part in read_action(text).parts:
        names = (name for call in part.calls.calls for name in (call.name, *call.receiver))
        for name in (*names, *sorted(part.commands.programs), (part.statement or "")[:READ_CHARS]):
            found |= dict.fromkeys(word.lower() for word in _WORD.findall(name))
    return list(found)[:MOST_WORDS]
