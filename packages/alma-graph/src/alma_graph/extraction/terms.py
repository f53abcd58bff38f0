"""Names and exact terms in a text: paths, addresses, handles, references, versions, identifiers, and words written as names.

A capital at the beginning of a sentence and a word in capitals say nothing: such a word is a name only if it is written so elsewhere, is known, or
stands in a relation.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from alma.text import DAYS, MONTHS, STOPWORDS
from alma_graph.naming import THING, USER

_EXTENSIONS = "bat|cfg|conf|cpp|cs|css|csv|c|go|html|h|ini|ipynb|java|jsx|json|js|kt|lock|log|md|php|py|rb|rs|sh|sql|toml|tsx|ts|txt|xml|ya?ml"
_EXACT = re.compile(
    rf"""
      (?P<url>https?://[^\s<>"'`)\]]+|git@[\w.-]+:[\w./-]+)
    | (?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    | (?P<file>(?<![\w@<])(?:[A-Za-z]:\\[\w\\.-]+|(?:~|\.{{1,2}}|[\w.-]+)?(?:/[\w.{{}}@-]+)+|[\w-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})(?![\w(])))
    | (?P<title>(?<=["“])[A-Z][\w'’&-]*(?:[ ](?:[a-z]{{1,4}}|[A-Z0-9][\w'’&-]*)){{1,7}}(?=["”]))
    | (?P<handle>(?<![\w@/.])@[A-Za-z][\w-]*(?:/[\w-]+)?)
    | (?P<reference>(?<![\w&])\#\d+\b|\b(?!UTF|SHA|ISO|RFC|AES|GPT|MD)[A-Z][A-Z0-9]{{1,9}}-\d+\b)
    | (?P<call>\b[A-Za-z_][\w.]*(?=\(\)))
    | (?P<version>(?<![\w.])(?:v\d+(?:\.\d+)*|\d+\.\d+\.\d+)(?![\w.]*\d|:\d))
    | (?P<identifier>\b(?=\w*[A-Za-z]\w*_\w|\w_\w*[A-Za-z])[A-Za-z]\w*_\w+|(?<![\w-])[a-z]+(?:-[a-z]+)*-\d+\b|(?<=`)[\w.-]{{2,60}}(?=`))
    | (?P<user>(?:\b[Tt]he[ ])[Uu]ser\b|(?:(?<=^)|(?<=[.!?]\s)|(?<=\n))[Uu]ser\b)
    | (?P<word>[A-Z][\w’'-]*|[a-z]+[A-Z]\w*)
    """,
    re.VERBOSE,
)
_ENDLESS = re.compile(r"\S{200,}")
"""No name is so long, and the search for one takes time with the square of its length."""
_TITLES = frozenset({"Mr", "Mrs", "Ms", "Dr", "Prof"})
_ENDS = "Bank Co Company Corp Corporation Foundation GmbH Group Hospital Inc Industries Institute LLC Labs Ltd Systems University"
_SUFFIXES = frozenset(_ENDS.split())
"""Words at the end of the name of an organization."""
_PRONOUNS = frozenset(f"{who}{of}" for who in ("no", "every", "some", "any") for of in ("body", "one", "thing"))
_OTHERS = frozenset({"yesterday", "today", "tomorrow", "none", "neither", "either", "another"})
_NO_NAMES = STOPWORDS | _PRONOUNS | _OTHERS | {*DAYS, *(f"{day}s" for day in DAYS), *MONTHS}
_ROLE = re.compile(r"C[A-Z]O|QA|HR|VP|PR|PM")
_CAMEL = re.compile(r"[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z][a-z0-9]+\w*")
_BEGINS = re.compile(r"(?:^|[.!?:\n•●)]\s*|\n|[\"“*>]\s*|(?:^|\n)\s*[-–—*]\s*)$")
_DOES = re.compile(
    r"(?:,|\.)? (?:and|at|from|has|is|of|was|works|joined|reviewed|approved|submitted|fixed|created|wrote|built|designed|founded|deployed|shipped"
    r"|released|owns|maintains|leads|manages|heads|reports|uses|runs|depends|requires|replaced|lives|moved|prefers)\b"
)
"""Words after a name that begins a sentence, among them the verbs of the relations: without these "Ann Smith works for Acme" names Smith."""
_ENDS_LINE = re.compile(r"[ \t]*(?:\n|$)")
"""Behind a line of capitals alone, a heading or an item of a list."""
_NUMBER = re.compile(r" (v?\d+(?:\.\d+)*)\b(?! (?:%|percent|seconds?|minutes?|hours?|days?|times))")


Known = Callable[[str], tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class Term:
    """A name in a text. One that is not `is_sure` is an entity only if something else says so."""

    name: str
    type: str
    start: int
    end: int
    is_sure: bool = True


def find_terms(text: str, find_known: Known, most_words: int) -> list[Term]:
    """Returns the terms of a text in its order. `find_known` returns name and type of a known entity of at most `most_words` by its folded
    name."""
    text = _ENDLESS.sub(lambda match: " " * len(match[0]), text)
    words, found = list[re.Match[str]](), list[Term]()
    taken = list(_known_terms(text, find_known, most_words))
    places = {place for one in taken for place in range(one.start, one.end)}
    for match in _EXACT.finditer(text):
        if places.isdisjoint(range(match.start(), match.end())):
            if match.lastgroup == "word":
                words.append(match)
            elif (term := _exact_term(match)) is not None:
                found.append(term)
    names = [name for run in _runs(text, words) for name in _names(text, run)]
    sure = {one.name for one in (*found, *taken, *names) if one.is_sure}
    settled = [one if one.is_sure or one.name not in sure else Term(one.name, one.type, one.start, one.end) for one in names]
    return sorted((*found, *taken, *settled), key=lambda one: one.start)


def _exact_term(match: re.Match[str]) -> Term | None:
    sort = str(match.lastgroup)
    if sort == "user":
        return Term(USER, USER, match.start(), match.end(), is_sure=False)
    name = match[0].rstrip(".,;:") if sort in ("url", "file", "email") else match[0]
    if sort == "file" and not _is_path(name):
        return None
    sort = THING if sort == "title" else "identifier" if sort == "call" or (sort == "handle" and "/" in name) else sort
    return Term(name, sort, match.start(), match.start() + len(name))


def _is_path(name: str) -> bool:
    """Returns whether a word with slashes or a dot is a path, and not "and/or", "HTTP/2" or a date."""
    if "/" not in name:
        return True
    first, *others = name.strip("/").split("/")
    is_marked = name[0] in "/~." or len(others) > 1 or any(re.search(r"[\d_.-]", part) for part in others)
    return is_marked and any(map(str.isalpha, name)) and not (first.isupper() and len(others) == 1)


def _known_terms(text: str, find_known: Known, most_words: int) -> Iterator[Term]:
    """Yields the known entities that stand in a text, longer names first. A name with a capital is only found with one."""
    words, after = (
        [(match[0], match.start(), match.end()) for match in re.finditer(r"[#@~/]*\w+(?:[./\\:@_#’'+-]+\w+)*", text)],
        0,
    )
    for place, (_, start, _) in enumerate(words):
        for length in range(min(most_words, len(words) - place), 0, -1):
            end = words[place + length - 1][2]
            said = re.sub(r"['’]s$", "", text[start:end])
            found = find_known(" ".join(said.split()).casefold())
            if found is not None and start >= after and (said[:1].isupper() or not found[0][:1].isupper()):
                yield Term(*found, start, start + len(said))
                after = end
                break


def _runs(text: str, words: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Yields words with capitals that stand side by side."""
    run: list[re.Match[str]] = []
    for match in words:
        between = text[run[-1].end() : match.start()] if run else ""
        if run and not (between == " " or (between == ". " and run[-1][0] in _TITLES)):
            yield run
            run = []
        run.append(match)
        if match[0].endswith(("'s", "’s")):
            yield run
            run = []
    if run:
        yield run


def _names(text: str, run: list[re.Match[str]]) -> Iterator[Term]:
    begins = _BEGINS.search(text[max(run[0].start() - 6, 0) : run[0].start()]) is not None
    is_titled, was_cut = False, False
    while run and (
        run[0][0].casefold() in _NO_NAMES or run[0][0] in _TITLES or _ROLE.fullmatch(run[0][0]) or _is_pronoun(run[0][0])
    ):
        is_titled = is_titled or run[0][0] in _TITLES
        run, was_cut = run[1:], True
    while run and (run[-1][0].casefold() in _NO_NAMES or _is_pronoun(run[-1][0])):
        run = run[:-1]
    begins = begins and not was_cut
    if not run or all(_is_shouted(one[0]) for one in run):
        return
    has_suffix = len(run) > 1 and re.sub(r"['’]s?$", "", run[-1][0]) in _SUFFIXES
    if begins and len(run) > 1 and not has_suffix and not _CAMEL.fullmatch(run[0][0]):
        if _ENDS_LINE.match(text, run[-1].end()) or _DOES.match(text, run[-1].end()):
            yield from _name(text, run, is_sure=False, entity_type=THING)
            return
        run, begins = run[1:], False  # the first is rather a verb: "Ask Beatrice"
    is_sure = not begins or has_suffix or bool(_CAMEL.fullmatch(run[0][0]))
    yield from _name(text, run, is_sure=is_sure, entity_type="organization" if has_suffix else "person" if is_titled else THING)


def _is_pronoun(word: str) -> bool:
    return re.sub(r"['’].*", "", word).casefold() in _NO_NAMES


def _is_shouted(word: str) -> bool:
    return word.isupper() or bool(re.fullmatch(r"[A-Z]{2,}s", word))


def _name(text: str, run: list[re.Match[str]], *, is_sure: bool, entity_type: str) -> Iterator[Term]:
    start, name = run[0].start(), re.sub(r"['’]s?$", "", text[run[0].start() : run[-1].end()])
    number = _NUMBER.match(text, start + len(name))
    if number is not None and (is_sure or "." in number[1]) and entity_type == THING:
        name, entity_type, is_sure = name + number[0], "version", True
    if len(name) > 1:
        yield Term(name, entity_type, start, start + len(name), is_sure)
