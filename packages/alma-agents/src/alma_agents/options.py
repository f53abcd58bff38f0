"""Meaning of the options of commands, and commands that only ask. Imports the standard library only."""

import re
from collections.abc import Sequence
from itertools import pairwise

_PLACES = re.compile(
    r"-+(?:.*config(?:uration|-file)?|profile|context|kube-?config|namespace|region|project(?:-dir|-directory)?|directory|cwd|chdir|prefix|root|workdir"
    r"|host(?:name)?|port|server|endpoint|(?:remote-)?user|private-key|identity-file|inventory|become|memory|platform|arch|destination|device|sdk|toolchain"
    r"|system-\w+|env-file|features|all-features|enable-[\w-]+|with-[\w-]+|legacy-peer-deps|registry|(?:extra-)?index-url|find-links|break-system-packages"
    r"|no-build-isolation|prefer-binary|openssl-legacy-provider|max-old-space-size|J-X\w+|X(?:mx|ms|ss)\w*|C)(?:=.*)?$"
)
"""Options that say with what and where a command works, not on how much of it: with one of them it is the same work."""

_WITH_PLACE = re.compile(
    r"--?(?:prefix|cwd|chdir|project-dir|project-directory|directory|context|kube-?config|namespace|profile|region|destination|config-file|file)|-C"
)
"""Options of this sort that have a value as a word of its own, whatever the program."""

_ASKS = frozenset(("--version", "-version", "--help", "--info"))
_LOOKS = frozenset(
    ("list", "ls", "show", "query", "describe", "info", "status", "version", "devices", "doctor", "logs", "help", "inspect", "outdated", "why",
     "search", "view", "whoami", "simctl")
)  # fmt: skip
"""First words behind a program of any name that only ask it something."""

_REWRITES = re.compile(
    r"--(?:auto-?)?fix(?:-all|-only)?|--write|--auto-?correct(?:-all)?|--in-place|(?:[\w-]+[:-])?fix(?:[:-][\w-]+)?"
)
"""Options, and names of scripts, with which a linter changes what it finds."""

_FORMATTERS = frozenset(("black", "isort", "autopep8", "yapf", "fmt", "format", "rustfmt"))
_REHEARSES = re.compile(r"--check(?:-only)?|--diff|--dry-run|--list-different|-c|check")

_PLACES_OF = {
    "-f": ("mvn", "mvnw", "make", "docker-compose"), "-u": ("ansible-playbook", "ansible"), "-i": ("ansible-playbook", "ansible"),
    "-n": ("kubectl", "helm"), "-p": ("mvn", "mvnw"),
}  # fmt: skip
"""Short options of this sort, each with the programs in which it has this meaning."""


def plain(words: list[str]) -> list[str]:
    """Returns the words behind the program that are neither options nor say where it works."""
    pairs = pairwise(words)
    return [word for before, word in pairs if not word.startswith("-") and not takes_a_place(words[0], before)]


def takes_a_place(head: str, option: str) -> bool:
    """Returns True for an option behind which it says where a program works."""
    return head in _PLACES_OF.get(option, ()) or ("=" not in option and _WITH_PLACE.fullmatch(option) is not None)


def are_places(head: str, added: Sequence[str]) -> bool:
    """Returns True for words that are nothing but options that say where a program works, each with at most one value behind it."""
    is_option = [word.startswith("-") for word in added]
    are_known = all(_PLACES.match(word) is not None or head in _PLACES_OF.get(word, ()) for word in added if word.startswith("-"))
    has_lone_value = any(not now and not before for before, now in zip([False, *is_option], is_option, strict=False))
    return bool(added) and are_known and not has_lone_value


def rewrites(words: list[str]) -> bool:
    """Returns True for a linter or a formatter that changes files: what it reports next is what it could not mend."""
    if any(_REWRITES.fullmatch(word) for word in words[1:]):
        return True
    named = {part for word in (words[0].rpartition("/")[2], *plain(words)) for part in re.split(r"[:-]", word)}
    return bool(named & _FORMATTERS) and not any(_REHEARSES.fullmatch(word) for word in (*words[1:], *named))


def only_asks(words: list[str]) -> bool:
    """Returns True for a command that only shows something, whatever its program: it mends nothing."""
    word = next(iter(plain(words)), "")
    return bool(_ASKS.intersection(words[1:])) or word in _LOOKS or (words[0] == "kubectl" and word == "get")
