"""The names of one task in what was done for it: a warning that was learned for one service is to warn of the same done to another."""

import re

from alma.learning.shell import commands_in, is_flag, program_of

_AROUND = "`\"'(),:;"
_LIKE_NAME = re.compile(r"[\d_.@-]")
"""A word with such a sign in it is the name of something: `payments-worker`, `db_3`. What only looks like a word may be part of the command."""

ON_THINGS = frozenset("docker helm kubectl nomad oc podman pm2 service supervisorctl systemctl".split())  # noqa: SIM905
"""Programs that do the same to one running thing as to another. Of others the name says what is done: `git checkout v1.2`, `python3 migrate.py`."""
_WITH_KINDS = frozenset(("kubectl", "oc"))
"""Programs that take the kind of a thing and its name as `kind/name`; elsewhere that is a path."""

_QUOTED = re.compile(r"""(?P<equals>=\s*)?(["'])(?P<value>[^"']+)\2\s*,?\s*""")


def without_task_names(code: str, task: str) -> str:
    """Returns a command or a call without the names that its task names, too: `kubectl restart deployment/web-1` for "web-1 hangs" is
    `kubectl restart deployment`, `read_csv("a.csv")` for "load a.csv" is `read_csv()`. Any other text is returned as it is; so are commands of
    programs whose names say what is done."""
    named = {word.strip(_AROUND).rstrip(".").lower() for word in task.split()}
    if not commands_in(code).pipelines:
        return _QUOTED.sub(lambda found: "" if _is_name(found, named) else found[0], code) if "(" in code else code
    program, *words = code.split()
    if program_of(program) not in ON_THINGS:
        return code
    return " ".join([program, *filter(None, (_without_name(word, named, program) for word in words))])


def _is_name(argument: re.Match[str], named: set[str]) -> bool:
    """Returns True for a name that a task has, too. An argument that is given by its own name is a setting, and so is a plain word."""
    value = argument["value"]
    return argument["equals"] is None and _LIKE_NAME.search(value) is not None and value.lower() in named


def _without_name(word: str, named: set[str], program: str) -> str:
    kind, slash, name = word.rpartition("/")
    if is_flag(word) or not _LIKE_NAME.search(name) or name.lower() not in named:
        return word
    return word if slash and program_of(program) not in _WITH_KINDS else kind
