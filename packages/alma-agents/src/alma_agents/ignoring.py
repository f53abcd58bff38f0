"""The rules of `.gitignore` files, read without running Git: a repository's own configuration could have Git run programs."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath


class Ignored:
    """The patterns of the folders from the root down to one. The last one that matches decides."""

    def __init__(self, rules: Iterable[tuple[re.Pattern[str], bool, bool]] = ()) -> None:
        self._rules = tuple(rules)

    def within(self, folder: str, text: str) -> "Ignored":
        """Returns these rules with those of a folder's `.gitignore`; `folder` is relative to the root, "" for it."""
        return Ignored([*self._rules, *(rule for line in text.splitlines() if (rule := _rule(folder, line)) is not None)])

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Returns True for a path, relative to the root, that is ignored. Folders above it are to be asked before."""
        verdict = False
        for pattern, is_negated, is_for_folders in self._rules:
            if (is_folder or not is_for_folders) and pattern.fullmatch(path):
                verdict = not is_negated
        return verdict


def _rule(folder: str, line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    line = line.rstrip("\r\n")
    if not line.endswith("\\ "):
        line = line.rstrip(" ")
    if not line or line.startswith("#"):
        return None
    is_negated = line.startswith("!")
    line = line[1:] if is_negated or line.startswith(("\\#", "\\!")) else line
    is_for_folders = line.endswith("/")
    line = line.rstrip("/")
    is_anchored = "/" in line
    line = line.lstrip("/")
    if not line:
        return None
    above = f"{re.escape(str(PurePosixPath(folder)))}/" if folder else ""
    try:
        return re.compile(f"{above}{'' if is_anchored else '(?:.*/)?'}{_translated(line)}", re.DOTALL), is_negated, is_for_folders
    except re.error:
        return None


def _translated(pattern: str) -> str:
    """Returns a pattern of Git as a regular expression."""
    made, place = "", 0
    while place < len(pattern):
        rest = pattern[place:]
        if rest.startswith("**/") and (not place or pattern[place - 1] == "/"):
            made, place = f"{made}(?:[^/]+/)*", place + 3
        elif rest == "**" and place and pattern[place - 1] == "/":
            made, place = f"{made}.+", place + 2
        elif rest[0] == "*":
            made, place = f"{made}[^/]*", place + 1
        elif rest[0] == "?":
            made, place = f"{made}[^/]", place + 1
        elif rest[0] == "[" and (end := pattern.find("]", place + 2)) > 0:
            inner = pattern[place + 1 : end].replace("\\", "\\\\")
            made, place = f"{made}(?!/)[{'^' + inner[1:] if inner[:1] in '!^' else inner}]", end + 1
        elif rest[0] == "\\" and len(rest) > 1:
            made, place = made + re.escape(rest[1]), place + 2
        else:
            made, place = made + re.escape(rest[0]), place + 1
    return made
