"""Whether two strategies are one way in other words, as far as their words say."""

import re
import sys
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from alma.learning.action_matching import does_by_code, read_action, read_pattern
from alma.learning.calls import is_generic
from alma.learning.commands import options_in
from alma.learning.denials import contradicts
from alma.learning.matching import contradiction, same_strategy
from alma.learning.more_steps import SQL, does_more
from alma.learning.paraphrases import Saying, is_contrary, places, saying
from alma.learning.reading import ARROW
from alma.learning.shell import WRAPPERS, Command, commands_in, is_flag, verb_of
from alma.learning.stems import stem, unmatched
from alma.learning.task_names import ON_THINGS
from alma.learning.wording import Wording, wording
from alma.text import spelt

NOT_SAME = 0.25
"""Up to this cosine of all-MiniLM-L6-v2 the words of two strategies are not compared."""

BY_VECTORS = 0.95
"""The most that is said of strategies that have not the same words."""

SHARED = 0.5
"""Texts that share so much of their telling words mostly differ in the one thing that matters. Those that share less are other words altogether."""

SHARED_WORDS, STANDING_IN, ONE_PLACE, CONTRARY, SAME_CODE, OTHER_CODE, OWN_WORD = 0.8, 0.9, -1.9, -0.8, 2.0, -3.0, -5.0
"""What words add to the log-odds that two strategies are one way: the share of telling words that both have, each word for which a synonym stands,
that they differ in one place alone, that something in them is contrary, that the code of one does what the other names, that both have code and the
one's does not do what the other's does (`benchmarks/sameness_constants.py`). The last is for texts that share `MOSTLY` and have in their one place
each a word that no word of the other stands for, such as an account and an order: the nearness of their vectors is that of the words they share. The
lists that the others are fitted on have no such ways, so it is set to outweigh most cosines.
"""

WEIGHTS = (SHARED_WORDS, STANDING_IN, ONE_PLACE, CONTRARY, SAME_CODE, OTHER_CODE, OWN_WORD)
MOSTLY = 0.6

_NAME_IN_CODE = re.compile(r"\w*(?:_\w|[a-z][A-Z]|\w[.(]\w?|[A-Z]{2})[\w.()]*|[^\w]+")
_CALL = re.compile(r"""(?<![\w.$])([\w.$]+)\((?:[^()"']|"[^"]*"|'[^']*'|\([^()]*\))*\)""")
_CALLING = re.compile(r"(^|[→;,]\s*|\bthen\s+)(?:call|invoke|run|us)(?:e|ed|ing|s)?\s+(?=[\w.]*(?:_\w|\w\())", re.IGNORECASE)
_STEP = re.compile(r"\s*(?:→|⇒|[-=]+>|[,;]?\s+(?:and\s+)?then\s|[,;])\s*")
"""What stands between the steps of a strategy: `lookup_order(id), then refund(id)`."""
_NUMBER = re.compile(r"\d+")
_PART = re.compile(r"\w+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_SPACES = re.compile(r"[^\S\n]+")
_SAYS_WHAT = re.compile(r"[a-z]{2,}")
"""A verb of a command, no path or number."""
_JOINING = re.compile(r"[;&|()\n]")
_QUOTED = re.compile(r"""(?P<before>(?:\b(?P<name>\w+)\s*=\s*)?)(["'])(?P<value>[^"']*)\3""")
_NAMES_OF_ONE_TASK = re.compile(
    r"(?:\w+_)?(?:ids?|key|no|nr|number|order|ticket|case|customer|account|user|e?mail|to|file|filename|path|url|date)",
    re.IGNORECASE,
)
_OF_ONE_TASK = re.compile(r"[^\s]*[\d./@][^\s]*")
_SURELY_OF_ONE_TASK = re.compile(
    r"#?[A-Za-z]*[_-]?\d[\d_-]{2,}|[\w.~+-]+@[\w.-]+|[\w.~:@%+-]*/[\w.~/:@?=&%+-]*|[\w.~+-]*\.[A-Za-z]\w{0,4}"
)
"""The number of an order, an address, a path, the name of a file. A command, SQL and an amount (`512Mi`, `09:30`) say what is done."""
_PLACEHOLDER = re.compile(r"""(?<=\()\s*(?:(?:df|data|file|filename|filepath|path|text|url|value)\b|""|'')\s*(?=[,)])""")
"""A name that stands for any value: `read_csv(path)` is `read_csv("customers.csv")`."""
_RECEIVER = re.compile(r"\b([a-z]\w*)\.(?=([a-z]\w*)\()")
_ANY_VARIABLE = re.compile(r"[a-z]{1,2}|client|conn|connection|cursor|data|driver|frame|numpy|page|pandas|self|session|this")
"""Names that say nothing of what a call does. Others do: `staging.deploy(app)` is not `production.deploy(app)`."""


def by_words(one: str, other: str, cosine: float) -> float:
    """What the words of two strategies add to the log-odds that they are one way: ∞ if they are the same, −∞ if they contradict each other.

    Calls, and names of tools, are one with the same values in the same order alone, but for values of one task: the number of an order, a file.
    """
    one, other = (_SPACES.sub(" ", text.strip()) for text in (one, other))
    (calls, is_code), (others, is_other_code) = _as_code(one), _as_code(other)
    if is_code or is_other_code:
        return float("inf") if _spelt_code(calls) == _spelt_code(others) else -float("inf")
    is_same_run = _is_same_run(one, other)
    if is_same_run is not None:
        return float("inf") if is_same_run else -float("inf")
    if does_more(one, other) or does_more(other, one) or _is_sql_with_other_numbers(one, other):
        return -float("inf")
    if not _differ_in_words(one, other) and same_strategy(wording(one), wording(other), cosine):
        return float("inf")
    if _contradict(saying(one), saying(other)) or _is_in_other_letters(one) or _is_in_other_letters(other):
        return -float("inf")
    return sum(weight * value for weight, value in zip(WEIGHTS, differences(one, other), strict=True))


def _is_in_other_letters(text: str) -> bool:
    """Returns True if most words are not in Latin letters. The vectors of such texts, by a model of English, are nearly equal."""
    if text.isascii():
        return False
    words = _WORDS.findall(unicodedata.normalize("NFKC", text))
    return 2 * sum(_LATIN.match(word) is None for word in words) > len(words)


def _contradict(one: Saying, other: Saying) -> bool:
    is_denied = contradicts(one.denials, one.spoken, other.denials, other.spoken)
    is_alike = _share_words(one.wording, other.wording)
    return is_denied or contradiction(one.wording, other.wording, is_alike=is_alike) is not None


def differences(one: str, other: str) -> tuple[float, ...]:
    """How the words of two texts differ, as `WEIGHTS` weighs it. Symmetric."""
    mine, theirs = saying(one), saying(other)
    telling, others = {*mine.telling}, {*theirs.telling}
    shared = len(telling & others) / max(len(telling | others), 1)
    standing_in = _standing_in(mine.wording, theirs.wording, telling) + _standing_in(theirs.wording, mine.wording, others)
    is_one_place = shared > 0 and places(mine.spoken, theirs.spoken) == ["replace"]
    has_own = (
        is_one_place and shared >= MOSTLY and _has_own(mine.wording, theirs.wording) and _has_own(theirs.wording, mine.wording)
    )
    is_contrary_to = is_contrary(mine, theirs) or is_contrary(theirs, mine)
    return shared, standing_in, *map(float, (is_one_place, is_contrary_to, *_of_code(one, other), has_own))


def _of_code(one: str, other: str) -> tuple[bool, bool]:
    """Whether the code of a text does what the other names, and whether both have code that differs."""
    verdicts = does_by_code(read_pattern(one), _action(other)), does_by_code(read_pattern(other), _action(one))
    return True in verdicts and False not in verdicts, None not in verdicts and False in verdicts


_action = lru_cache(maxsize=1_024)(read_action)


def _standing_in(one: Wording, other: Wording, telling: set[str]) -> int:
    """The number of telling words of a text that the other lacks, and for which it has a synonym."""
    lacking = frozenset(telling - other.all)
    return len(lacking) - len(unmatched(lacking, other.all - one.all))


def _has_own(one: Wording, other: Wording) -> bool:
    """Returns True if a text has a telling word that no word of the other stands for."""
    return bool(unmatched(one.telling - other.all, other.all - one.all))


def _share_words(one: Wording, other: Wording) -> bool:
    shared = len(one.telling & other.telling)
    return shared > 0 and shared >= SHARED * min(len(one.telling), len(other.telling))


def _is_same_run(one: str, other: str) -> bool | None:
    """Whether two commands give one program the same options: `git push -f`, `git push --force`, but not `git push`. `None` unless both are
    commands, and where they do and something else differs: a place, a name."""
    mine, theirs = _of_one_program(one, other)
    if mine is None or theirs is None:
        return None
    if options_in(mine.program, mine.words) != options_in(theirs.program, theirs.words):
        return False
    if _plain(mine) == _plain(theirs):
        return True
    is_else = _is_moved(mine.words, theirs.words) or _has_another_verb(mine, theirs, is_certain=_are_certain(one, other))
    return False if is_else else None


def _differ_in_words(one: str, other: str) -> bool:
    """Returns True if two texts can be nothing but commands of one program with other words: `curl -X PUT` is not `curl -X POST`, though "put" says
    little in a sentence."""
    mine, theirs = _of_one_program(one, other)
    if mine is None or theirs is None or mine.program in WRAPPERS:
        return False
    return _are_certain(one, other) and _stems(mine) != _stems(theirs)


def _are_certain(one: str, other: str) -> bool:
    return commands_in(one).is_certain and commands_in(other).is_certain


def _has_another_verb(one: Command, other: Command, *, is_certain: bool) -> bool:
    """Returns True if two commands of one program have another verb each: `rollout restart` is not `rollout undo`."""
    if one.program in WRAPPERS or not (is_certain or one.program in ON_THINGS):
        return False
    verb, their_verb = verb_of(one), verb_of(other)
    return bool(verb and their_verb) and verb != their_verb and all(map(_SAYS_WHAT.fullmatch, [*verb, *their_verb]))


def _is_sql_with_other_numbers(one: str, other: str) -> bool:
    """Returns True if two texts are the same SQL but for numbers, also for small ones: `active = 1`, `active = 0`."""
    return one != other and SQL.match(one) is not None and _NUMBER.sub("0", one) == _NUMBER.sub("0", other)


def _stems(command: Command) -> list[str]:
    return sorted(map(stem, _plain(command)))


def _plain(command: Command) -> list[str]:
    """The words of a command that are no options."""
    return [word for word in command.words if not is_flag(word)]


def _is_moved(words: Sequence[str], others: Sequence[str]) -> bool:
    """Returns True if the same words stand in another order, the options apart: `cp old new`, `cp new old`; `sed s/a/b/`, `sed s/b/a/`."""
    is_option = [[word if is_flag(word) else "" for word in each] for each in (words, others)]
    if is_option[0] != is_option[1]:
        return False
    parts = [[part for word in each for part in _PART.findall(word)] for each in (words, others)]
    return any(one != other and sorted(one) == sorted(other) for one, other in ((words, others), parts))


def _of_one_program(one: str, other: str) -> tuple[Command, Command] | tuple[None, None]:
    """Two texts as commands of one program: as they stand, or in other spellings that have the same words; `None` if they are none."""
    pairs = [(mine, theirs) for mine in _spellings(one) for theirs in _spellings(other) if mine.program == theirs.program]
    same = (pair for pair in pairs if pair == (_spellings(one)[0], _spellings(other)[0]) or _stems(pair[0]) == _stems(pair[1]))
    return next(same, (None, None))


@lru_cache(maxsize=1_024)
def _spellings(text: str) -> tuple[Command, ...]:
    """The command that a text is, as it stands, and as what is another spelling of it: `docker compose` for `docker-compose`, `pytest` for `python -m
    pytest`. None if it is anything else, or several."""
    if _JOINING.search(text):
        return ()
    pipelines = commands_in(text).pipelines
    if len(pipelines) != 1 or not pipelines[0] or not pipelines[0][0]:
        return ()
    first, *others = pipelines[0][0]
    is_module = first.program == "python" and first.words[:1] == ("-m",)
    return first, *(one for one in others if is_module or first.program.startswith(f"{one.program}-"))


def _is_code(text: str) -> bool:
    """Returns True if a text is made of calls, names of tools or code alone: `search_flights → book_flight`, `refund(way="card")`, `UNION ALL`."""
    calls = _CALL.sub(r"\1()", text)
    if all(_NAME_IN_CODE.fullmatch(word) for word in calls.split()):
        return True
    steps = _STEP.split(calls)
    return all(step and " " not in step for step in steps) and any(_NAME_IN_CODE.fullmatch(step) for step in steps)


def _is_sequence(text: str) -> bool:
    """Returns True if a text is several steps, each of them a call or the name of one."""
    steps = _STEP.split(_CALL.sub(r"\1()", text))
    return len(steps) > 1 and all(_NAME_IN_CODE.fullmatch(step) for step in steps)


@lru_cache(maxsize=1_024)
def _as_code(text: str) -> tuple[str, bool]:
    """A text without the verbs that only say that code is called (`call get_user then call update_user`), and whether nothing but code is left."""
    spaced = " ".join(text.split())
    calls = _CALLING.sub(r"\1", spaced)
    return calls, _is_code(spaced) or _is_sequence(calls)


def _spelt_code(text: str) -> str:
    plain = _PLACEHOLDER.sub("", _QUOTED.sub(_without_value_of_one_task, text))
    return spelt(ARROW.sub(" then ", _RECEIVER.sub(_telling_receiver, plain)))


def _telling_receiver(found: re.Match[str]) -> str:
    """What a call is made on, where that says what it does: `pd` and `pandas` do not, a module of Python and the name of a thing do."""
    receiver, method = found.groups()
    says_nothing = _ANY_VARIABLE.fullmatch(receiver) and receiver not in sys.stdlib_module_names and not is_generic(method)
    return "" if says_nothing else found[0]


def _without_value_of_one_task(found: re.Match[str]) -> str:
    """Returns an argument without a value that another task has another of, by the name of the argument, or by its form if it has none."""
    name, value = found["name"], found["value"]
    is_of_one_task = (
        _OF_ONE_TASK.fullmatch(value) and _NAMES_OF_ONE_TASK.fullmatch(name) if name else _SURELY_OF_ONE_TASK.fullmatch(value)
    )
    return f'{found["before"]}""' if is_of_one_task else found[0]
