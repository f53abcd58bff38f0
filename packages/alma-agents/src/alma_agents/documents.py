"""Statements about a project in its files: sections, decisions, entries of a changelog, conventions, docstrings and marked comments."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from alma_knowledge.extraction import statements

KNOWLEDGE, CONVENTION, WARNING, MILESTONE = "knowledge", "convention", "warning", "milestone"
_LONGEST = 1_200
_MOST = 300
_CONVENTIONS = frozenset(
    (
        "agents.md",
        "claude.md",
        "gemini.md",
        ".cursorrules",
        "copilot-instructions.md",
        "conventions.md",
        "contributing.md",
        ".clinerules",
    )
)
_DOCUMENTS = (".md", ".markdown", ".rst", ".adoc", ".txt")
_HASHED = (
    ".py",
    ".pyi",
    ".sh",
    ".bash",
    ".rb",
    ".pl",
    ".yaml",
    ".yml",
    ".toml",
    ".tf",
    ".r",
    ".jl",
    ".ex",
    ".exs",
    ".cfg",
    ".ini",
)
_SLASHED = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".go", ".rs", ".java", ".kt", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".swift",
            ".scala", ".php", ".dart", ".zig", ".proto", ".scss", ".vue", ".svelte")  # fmt: skip
_DASHED = (".sql", ".lua", ".hs", ".elm")
_MARK = re.compile(
    r"\b(NOTE|TODO|FIXME|HACK|XXX|BUG|WARNING|WORKAROUND|DEPRECATED|SAFETY|PERF)\b(?:\([^)]*\))?\s*[:\-]?\s*(?P<said>\S.*)"
)
_RISKY = frozenset(("FIXME", "HACK", "XXX", "BUG", "WARNING", "WORKAROUND", "DEPRECATED"))
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$|^(={1,5})\s+(.+)$")
_BULLET = re.compile(r"^\s{0,3}[-*+]\s+(.*)$|^\s{0,3}\d+[.)]\s+(.*)$")
_ORDER = re.compile(
    r"(?:(?:please|always|never|do not|don't|must|avoid|prefer|use|run|keep|write|add|put|make sure|ensure|test|check|name|commit)\b)",
    re.IGNORECASE,
)


class Item(NamedTuple):
    """One thing that a file says, with the line where it begins. `why` is the reason of a warning, or its mark."""

    kind: str
    domain: str
    text: str
    line: int
    why: str = ""


def is_known(path: str) -> bool:
    """Returns True for a file that may say something."""
    name = PurePosixPath(path).name.lower()
    return name in _CONVENTIONS or name.startswith("readme") or name.endswith((*_DOCUMENTS, *_HASHED, *_SLASHED, *_DASHED))


def items_of(path: str, text: str) -> list[Item]:
    """Returns what a file says; `path` is relative to the project, with slashes."""
    return [item._replace(text=item.text[:_LONGEST]) for item in list(_items(path, text))[:_MOST] if item.text.strip()]


def _items(path: str, text: str) -> Iterator[Item]:
    place = PurePosixPath(path)
    name = place.name.lower()
    if name.endswith((*_HASHED, *_SLASHED, *_DASHED)):
        yield from _code(place, text)
    elif name in _CONVENTIONS:
        yield from _conventions(text)
    elif name.startswith(("changelog", "changes", "history", "news")):
        yield from _changes(text)
    elif _is_decision(place, text):
        yield from _decision(place, text)
    else:
        for heading, line, body in _sections(text):
            if body:
                yield Item(KNOWLEDGE, "documentation", f"{heading}: {body}" if heading else body, line)
        yield from _said(text)


def _said(text: str) -> Iterator[Item]:
    """Yields the decisions, conventions, warnings and milestones that the sentences of a document state outright."""
    stated = ((line, one) for line, said in _paragraphs(text) for one in statements.read_statements(said))
    for line, one in stated:
        if one.kind == statements.DECISION:
            yield Item(KNOWLEDGE, "decision", one.text, line)
        elif one.kind == statements.PREFERENCE:
            yield Item(CONVENTION, "convention", one.text, line)
        elif one.kind == statements.WARNING:
            yield Item(WARNING, "documentation", one.text, line, one.why)
        elif one.kind == statements.MILESTONE:
            yield Item(MILESTONE, "milestone", one.text, line)


def _sections(text: str) -> Iterator[tuple[str, int, str]]:
    """Yields each section of a document: its headings, the line where it begins, its text in one line."""
    headings: list[tuple[int, str]] = []
    begun, body, is_code = 1, list[str](), False
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        found = None if is_code else _HEADING.match(line)
        title, depth = (found[2] or found[4], len(found[1] or found[3])) if found else ("", 0)
        if not found and not is_code and number < len(lines) and line.strip() and re.fullmatch(r"(=|-|~){3,}\s*", lines[number]):
            title, depth = line.strip(), 1 if lines[number][0] == "=" else 2
        if title:
            yield " > ".join(each for _, each in headings), begun, " ".join(" ".join(body).split())
            headings = [*((level, each) for level, each in headings if level < depth), (depth, title)]
            begun, body = number, []
        elif not re.fullmatch(r"(=|-|~){3,}\s*", line):
            body.append(line)
    yield " > ".join(each for _, each in headings), begun, " ".join(" ".join(body).split())


def _bullets(text: str) -> Iterator[tuple[int, str]]:
    """Yields the bullets of a document outside of code, with the lines where they begin."""
    begun, said, is_code = 0, list[str](), False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        found = None if is_code else _BULLET.match(line)
        if said and (found or not line.strip() or not line.startswith(" ") or is_code):
            yield begun, " ".join(" ".join(said).split())
            said = []
        if found:
            begun, said = number, [found[1] or found[2] or ""]
        elif said:
            said.append(line)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yields the paragraphs and bullets of a document outside of code, quotations and tables, with the lines where they begin."""
    begun, said, is_code = 0, list[str](), False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_code ^= is_fence
        is_apart = is_fence or is_code or not line.strip() or line.startswith((">", "    ", "\t", "|"))
        found = _BULLET.match(line)
        if said and (is_apart or found or _HEADING.match(line)):
            yield begun, " ".join(said)
            said = []
        if found and not is_apart:
            begun, said = number, [found[1] or found[2] or ""]
        elif not is_apart and not _HEADING.match(line):
            begun = begun if said else number
            said.append(line.strip())


def _conventions(text: str) -> Iterator[Item]:
    for line, said in _bullets(text):
        kind = CONVENTION if _ORDER.match(said.lstrip("*_`")) else KNOWLEDGE
        yield Item(kind, "convention", said, line)
    for heading, line, body in _sections(text):
        if body and not _BULLET.match(body):
            yield Item(KNOWLEDGE, "convention", f"{heading}: {body}" if heading else body, line)


def _changes(text: str) -> Iterator[Item]:
    headings = [(line, heading) for heading, line, _ in _sections(text)]
    for number, said in _bullets(text):
        above = [heading for line, heading in headings if line <= number]
        where = above[-1].split(" > ", 1)[-1].replace(" > ", " ") if above else ""
        yield Item(KNOWLEDGE, "changelog", f"{where}: {said}" if where else said, number)


def _is_decision(place: PurePosixPath, text: str) -> bool:
    folders = {part.lower() for part in place.parts[:-1]}
    has_form = re.search(r"^#+\s*decision\b", text, re.IGNORECASE | re.MULTILINE) is not None
    return has_form and (
        bool(folders & {"adr", "adrs", "decisions", "decision-records", "rfcs"}) or "status" in text.lower()[:600]
    )


def _decision(place: PurePosixPath, text: str) -> Iterator[Item]:
    title = next((found[2] or found[4] for line in text.split("\n") if (found := _HEADING.match(line))), place.stem)
    status = re.search(
        r"^(?:[-*]\s*)?\**status\**\s*:\s*\**\s*(\w+)|^#+\s*status\s*\n+\s*(\w+)", text, re.IGNORECASE | re.MULTILINE
    )
    said = {heading.rpartition(" > ")[2].lower(): (line, body) for heading, line, body in _sections(text)}
    line, body = next((each for name, each in said.items() if name.startswith("decision")), (1, ""))
    state = f" ({(status[1] or status[2]).lower()})" if status else ""
    yield Item(KNOWLEDGE, "decision", f"{title}{state}: {body}", line)
    for name, (begun, text) in said.items():
        if text and name.startswith(("context", "consequence", "rationale")):
            yield Item(KNOWLEDGE, "decision", f"{title}, {name}: {text}", begun)


def _code(place: PurePosixPath, text: str) -> Iterator[Item]:
    if place.suffix in (".py", ".pyi"):
        yield from _docstrings(place, text)
        comments = _python_comments(text)
    else:
        sign = "#" if place.name.endswith(_HASHED) else "--" if place.name.endswith(_DASHED) else r"//|/\*|^\s*\*"
        comments = _line_comments(sign, text)
    for line, comment in comments:
        found = _MARK.search(comment)
        if found is None or len(found["said"]) < 8:
            continue
        said = " ".join(found["said"].removesuffix("*/").split())
        if found[1] in _RISKY:
            yield Item(WARNING, "code", f"{place}: {said}", line, f"marked {found[1]} at {place}:{line}")
        else:
            yield Item(KNOWLEDGE, "code", f"{place}: {found[1]}: {said}", line)


def _docstrings(place: PurePosixPath, text: str) -> Iterator[Item]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    waiting: list[tuple[str, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]] = [(str(place), tree)]
    for name, node in waiting:
        if said := ast.get_docstring(node):
            line = node.body[0].lineno if isinstance(node, ast.Module) else node.lineno
            yield Item(KNOWLEDGE, "code", f"{name}: {' '.join(said.split(chr(10) * 2)[0].split())}", line)
        sign = ": " if node is tree else "."
        named = (child for child in node.body if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef))
        waiting += [(f"{name}{sign}{child.name}", child) for child in named if not child.name.startswith("_")]


def _python_comments(text: str) -> Iterator[tuple[int, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _line_comments(sign: str, text: str) -> Iterator[tuple[int, str]]:
    pattern = re.compile(rf"(?:^|(?<=\s))(?:{sign})(.*)$")
    for number, line in enumerate(text.split("\n"), 1):
        found = pattern.search(line)
        if found and all(line[: found.start()].count(quote) % 2 == 0 for quote in "\"'`"):
            yield number, found[1]
