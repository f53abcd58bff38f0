"""Whether an action about to be taken does what a pattern names.

Code is compared with code: the calls, commands or keywords that the pattern names must be in the action, with the flags, the named arguments and
the quoted ones that the pattern gives; other arguments do not matter. All else is compared as sentences are.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from alma.learning.calls import INSTRUCTIONS, Call, Calls, calls_in, is_generic, is_same_call, names_the_same
from alma.learning.commands import Likeness, NamedCommands, likeness, named_in, words_in
from alma.learning.paraphrases import Limits, Saying, is_contained, is_contrary, is_paraphrase, saying
from alma.learning.reading import ARROW
from alma.learning.sequences import Step, is_out_of_order, steps_in
from alma.learning.shell import Commands, commands_in
from alma.learning.statements import holds, keywords, statement
from alma.learning.stems import stem
from alma.text import matched_text, spelt
from alma.text import words as words_of

MOST_PARTS, MOST_WORDS = 20, 64
STATEMENT_CHARS = 200

_PROHIBITION = re.compile(r"\s*(?:please\s+)?(?:never|do not|don['’]?t|avoid)\s+", re.IGNORECASE)
_EXCLUSION = re.compile(r"\b(?:without|with no)\b", re.IGNORECASE)
_RUN = re.compile(rf"\w{{1,100}}\((?:{'|'.join(sorted(INSTRUCTIONS))})\s*=\s*([\"'])(.*?)\1[^)]*\)")
"""A tool that runs something is named by what it runs: `Bash(command="npm start")`."""
_AROUND = re.compile(r"\b(?:at|during|in|inside|on|within)\b", re.IGNORECASE)
"""What follows such a word in a pattern says where or when: "usleep in the retry loop" names no call of `retry`."""
_SPACES = re.compile(r"(\s)\s+")
_WORD = re.compile(r"\w+")
_DEEPEST = 3
"""A text that a text executes is read so deep."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as actions are compared with it. "Never force-push" names what "Force-push" does.

    `normal` is its text as `alma.text.spelt` gives it, `named` what it says before "without", `excluded` what it says after it.
    `words` are all of its words, as written and in lower case, `things` those before it says where or when. `flags` are the stems of its long flags:
    a sentence without them says something else.
    """

    normal: str
    whole: Saying
    named: Saying
    excluded: Saying
    calls: Calls
    commands: NamedCommands
    words: frozenset[str]
    things: frozenset[str]
    flags: frozenset[str]
    keywords: tuple[str, ...]
    excluded_keywords: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The code in a text: in an action, or in what that gives others to execute."""

    calls: Calls
    commands: Commands
    statement: str | None


@dataclass(frozen=True, slots=True)
class Action:
    """An action as it is compared with patterns."""

    normal: str
    whole: Saying
    parts: tuple[Part, ...]
    steps: tuple[Step, ...]

    @property
    def is_code(self) -> bool:
        """Whether it is code from end to end, in which what it leaves out is not said."""
        part = self.parts[0]
        return part.commands.is_certain or part.statement is not None or part.calls.has_code


@lru_cache(maxsize=4_096)
def read_pattern(text: str) -> Pattern:
    """Reads a pattern. The same for the same text, always."""
    text = _SPACES.sub(r"\1", text)
    plain = matched_text(_RUN.sub(r"\2", _PROHIBITION.sub("", _in_order(text), count=1)))
    named, *excluded = _EXCLUSION.split(plain, maxsplit=1)
    rest = "".join(excluded)
    words = words_in(plain)
    return Pattern(
        spelt(plain),
        saying(plain),
        saying(named),
        saying(rest),
        calls_in(plain),
        named_in(words),
        _spellings(words),
        _spellings(words_in(_AROUND.split(plain, maxsplit=1)[0])),
        frozenset(stem(part) for word in words_in(named) if word.startswith("--") for part in words_of(word.partition("=")[0])),
        keywords(named),
        keywords(rest),
        steps_in(named),
    )


def read_action(text: str) -> Action:
    """Reads an action, and what it gives others to execute."""
    text = _in_order(text)
    parts = tuple(islice(_parts(text, deep=0), MOST_PARTS))
    commands = parts[0].commands
    said = matched_text(commands.unquoted if commands.is_certain else text)
    return Action(spelt(matched_text(text)), saying(said), parts, steps_in(text))


def words_of_code(action: Action) -> list[str]:
    """The words that name the calls and programs of an action, and those of its statements: a pattern that names one has some of them."""
    found: dict[str, None] = {}
    for part in action.parts:
        names = (name for call in part.calls.calls for name in (call.name, *call.receiver))
        for name in (*names, *sorted(part.commands.programs), (part.statement or "")[:STATEMENT_CHARS]):
            found |= dict.fromkeys(words_of(name))
    return list(found)[:MOST_WORDS]


def does_by_code(pattern: Pattern, action: Action) -> bool | None:
    """Whether the code of an action does what the code in a pattern names; `None` if one of them has none."""
    verdicts = {_by_code(pattern, part, 0.0, None) for part in action.parts} - {None}
    return True in verdicts if verdicts else None


def is_warned_of(pattern: Pattern, action: Action, cosine: float, limits: Limits | None) -> bool:
    """Returns True if an action does what a pattern names. Without limits the cosine says nothing: only code and the same words do."""
    if pattern.normal == action.normal:
        return True
    if is_out_of_order(pattern.steps, action.steps):
        return False
    verdicts = {_by_code(pattern, part, cosine, limits) for part in action.parts}
    if verdicts != {None}:
        return True in verdicts and not _has_excluded(pattern, action)
    return _by_words(pattern, action, cosine, limits)


def _in_order(text: str) -> str:
    return ARROW.sub(" → ", text)


def _spellings(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(spelling for word in words for spelling in (word, word.lower()))


def _parts(text: str, *, deep: int) -> Iterator[Part]:
    commands = commands_in(text)
    calls = Calls() if commands.is_certain else calls_in(text)
    yield Part(calls, commands, statement(text))
    if deep < _DEEPEST:
        for instruction in (*commands.instructions, *calls.instructions):
            yield from _parts(instruction, deep=deep + 1)


def _by_code(pattern: Pattern, part: Part, cosine: float, limits: Limits | None) -> bool | None:
    """Returns True if code does what the pattern names; `None` where the pattern names no such code."""
    is_near = limits is not None and cosine >= limits.bare
    verdicts = (
        _by_statement(pattern, part),
        _by_commands(pattern, part, is_near=is_near),
        _by_calls(pattern, part, is_near=is_near),
    )
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _by_statement(pattern: Pattern, part: Part) -> bool | None:
    if part.statement is None or not pattern.keywords:
        return None
    return holds(part.statement, pattern.keywords)


def _by_commands(pattern: Pattern, part: Part, *, is_near: bool) -> bool | None:
    if pattern.words.isdisjoint(part.commands.programs - {call.name for call in pattern.calls.calls}):
        return None  # what the pattern names as a call is compared as one
    found = likeness(pattern.commands, part.commands)
    return found is Likeness.SAME or (found is Likeness.PROGRAM and is_near)


def _by_calls(pattern: Pattern, part: Part, *, is_near: bool) -> bool | None:
    made = part.calls.calls
    named = [call for call in pattern.calls.calls if not call.is_value]
    if any(is_same_call(one, other, pattern.words) for one in named for other in part.calls.withdrawn):
        return False
    unless_other_code = False if part.calls.has_code else None
    if named:
        is_made = all(_is_named(one, pattern, part) for one in named)
        return is_made or unless_other_code
    if pattern.calls.given:
        return (is_near and any(pattern.calls.given <= call.given for call in made)) or unless_other_code
    is_by_word = any(_is_by_word(call, pattern, is_near=is_near) for call in made)
    return True if is_by_word else None


def _is_by_word(call: Call, pattern: Pattern, *, is_near: bool) -> bool:
    """Returns True if a pattern names a call by a word of its sentence, or by the one word before it says where or when."""
    is_keyword = any(f" {call.name.upper()} " in phrase for phrase in pattern.keywords)  # "TRUNCATE TABLE" names no function
    is_word = call.is_made and call.name in pattern.things and not is_generic(call.name) and not is_keyword
    return is_word and (is_near or pattern.things == {call.name})


def _is_named(one: Call, pattern: Pattern, part: Part) -> bool:
    """Returns True if code calls what a pattern names, with the arguments that it names outside of calls, or gives the name to a call."""
    names_missing = pattern.excluded.telling or not _MISSING.isdisjoint(pattern.words)
    beside = () if names_missing or not part.calls.has_code else {one for one in pattern.calls.given if one[0]}
    for other in part.calls.calls:
        if is_same_call(one, other, pattern.words) and _gives(other.given | part.calls.given, beside):
            return True
        if not (one.is_made or one.receiver) and any(one.name.lower() in _WORD.findall(value) for _, value in other.given):
            return True
    return False


_MISSING = frozenset({"lacks", "lacking", "missing", "omits", "omitting"})
"""Words by which a pattern says that an argument is not given."""


def _gives(given: Collection[tuple[str, str]], wanted: Collection[tuple[str, str]]) -> bool:
    """Returns True if of each name one of the values is given: by name, by place, or inside of another argument."""
    said = {name: {value for named, value in wanted if named == name} for name, _ in wanted}
    return all(
        ("", name) in given or any((name, value) in given or ("", value) in given for value in values)
        for name, values in said.items()
    )


def _is_there(missing: Call, call: Call) -> bool:
    """Returns True if a call is what is said to be missing: of any receiver, if none is named."""
    is_of_any = not missing.receiver and missing.name == call.name and missing.given <= call.given
    return is_of_any or names_the_same(missing, call)


def _has_excluded(pattern: Pattern, action: Action) -> bool:
    """Returns True if an action has what the pattern says is missing: "without a timeout"."""
    if any(phrase in part.statement for part in action.parts if part.statement for phrase in pattern.excluded_keywords):
        return True
    made = (call for part in action.parts for call in part.calls.calls)
    if pattern.calls.withdrawn and pattern.excluded.telling:  # the words of a name are not what is missing
        return any(_is_there(missing, call) for call in made for missing in pattern.calls.withdrawn)
    denied = frozenset[str]().union(*(denial.scope for denial in action.whole.denials))
    return is_contained(pattern.excluded, action.whole) and denied.isdisjoint(pattern.excluded.telling)


def _by_words(pattern: Pattern, action: Action, cosine: float, limits: Limits | None) -> bool:
    named = pattern.named if action.is_code and pattern.named.telling else pattern.whole
    if not pattern.flags <= action.whole.wording.all or (action.is_code and _has_excluded(pattern, action)):
        return False
    if limits is not None and not action.is_code:
        return is_paraphrase(named, action.whole, cosine, limits)
    is_near = limits is None or cosine >= limits.contained
    return is_near and is_contained(named, action.whole) and not is_contrary(named, action.whole)
