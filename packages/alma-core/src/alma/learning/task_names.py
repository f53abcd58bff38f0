"""The names of one task in what was done for it: a warning that was learned for one service is to warn of the same done to another."""

import re

from alma.learning.shell import commands_in, is_flag, program_of

_AROUND = "`\"'(),:;"
_LIKE_NAME = re.compile(r"[\d_.@-]")
"""A word with such a sign in it is the name of something: `payments-worker`, `db_3`. What only looks like a word may be part of the command."""

_ON_THINGS = frozenset("docker helm kubectl nomad oc podman pm2 service supervisorctl systemctl".split())  # noqa: SIM905
"""Programs that do the same to one running thing as to another. Of others the name says what is done: `git checkout v1.2`, `python3 migrate.py`."""
_WITH_KINDS = frozenset(("kubectl", "oc"))
"""Programs that take the kind of a thing and its name as `kind/name`; elsewhere that is a path."""


def without_task_names(command: str, task: str) -> str:
    """Returns a command without the names of running things that its task names, too: `kubectl restart deployment/web-1` for "web-1 hangs" is
    `kubectl restart deployment`. Any other text is returned as it is."""
    program, *words = command.split() or [""]
    if program_of(program) not in _ON_THINGS or not commands_in(command).pipelines:
        return command
    named = {word.strip(_AROUND).rstrip(".").lower() for word in task.split()}
    return " ".join([program, *filter(None, (_without_name(word, named, program) for word in words))])


def _without_name(word: str, named: set[str], program: str) -> str:
    kind, slash, name = word.rpartition("/")
    if is_flag(word) or not _LIKE_NAME.search(name) or name.lower() not in named:
        return word
    return word if slash and program_of(program) not in _WITH_KINDS else kind
