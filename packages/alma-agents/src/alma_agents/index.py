"""The cheap index that hooks read: fixes and warnings as JSON, rebuilt from the store after each learning. A cache, never the truth."""

import hashlib
import hmac
import json
import os
import secrets
from itertools import islice
from typing import Any

from alma_agents.signatures import is_specific, nearness, words_of
from alma_agents.spool import replaced, small_text

NEAR_ENOUGH = 0.62
_MARGIN = 0.06
VERSION = 2
"""Of the form of an index. The first had one briefing, with the rules of all agents, for all hosts: of it only fixes and warnings are read."""

_MOST_BYTES = 480
_LARGEST = 32 * 1024 * 1024
"""A larger index is none: a repository may bring a file of that name and any size."""


def path_in(folder: str, project: str = "") -> str:
    """Returns the index of a project in the folder of the hooks."""
    ending = f"-{hashlib.sha256(project.encode()).hexdigest()[:16]}" if project else ""
    return os.path.join(folder, f"index{ending}.json")


def load(folder: str, project: str = "") -> dict[str, Any]:
    """Returns the index; an empty one if it is missing, damaged, or was not written by this user: a repository may bring a file of that name."""
    try:
        seal, _, body = (small_text(path_in(folder, project), _LARGEST) or "").partition("\n")
        value = json.loads(body) if hmac.compare_digest(seal, _seal(folder, project, body, may_make_key=False)) else {}
    except (OSError, ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) and value.get("version") in (1, VERSION) else {}


def is_outdated(content: dict[str, Any]) -> bool:
    """Returns True if a former version of this package wrote the index, so that it has to be written anew."""
    return bool(content.get("version", VERSION) != VERSION)


def _seal(folder: str, project: str, body: str, *, may_make_key: bool) -> str:
    """Returns what shows that a body was written by this user for this place."""
    place = f"{os.path.realpath(folder)}\0{project}\0"
    return hmac.new(_key(may_make_key), (place + body).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def state_folder() -> str:
    """Returns this user's own folder, which no repository can write to."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "alma")


def _key(may_make: bool) -> bytes:
    """Returns the key of this user, which no repository can know. It is made with the first index."""
    path = os.path.join(state_folder(), "agents.key")
    if may_make and not os.path.exists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        draft = f"{path}.{os.getpid()}.new"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(draft)
    with open(path, "rb") as file:
        return file.read()


def save(folder: str, content: dict[str, Any], project: str = "") -> None:
    """Replaces the index atomically."""
    with replaced(path_in(folder, project)) as file:
        body = json.dumps({**content, "version": VERSION})
        file.write(f"{_seal(folder, project, body, may_make_key=True)}\n{body}")


def text_of(entry: dict[str, Any]) -> str:
    """Returns what a fix or a warning says, in one line."""
    return one_line(str(entry.get("text", "")))


def fix_for(content: dict[str, Any], error: str, command: str) -> dict[str, Any] | None:
    """Returns the known fix of an error, `None` where none is near or two are equally near. One that failed last is never returned."""
    asked = words_of(error)
    if not asked:
        return None
    scored: list[tuple[float, dict[str, Any]]] = []
    is_about_something = is_specific(asked)
    for fix in content.get("fixes", ()):
        if not is_about_something and fix.get("command") != command:
            continue
        near = nearness(asked, fix.get("words") or {})
        if near and fix.get("command") == command:
            near += 0.05
        scored.append((near, fix))
    scored.sort(key=lambda pair: (-pair[0], bool(pair[1].get("failed"))))
    if not scored or scored[0][0] < NEAR_ENOUGH:
        return None
    best = scored[0]
    rivals = (pair for pair in scored[1:] if not pair[1].get("failed"))
    others = [pair for pair in islice(rivals, 1) if pair[1].get("strategy") != best[1].get("strategy")]
    if best[1].get("failed") or (others and best[0] - others[0][0] < _MARGIN):
        return None
    return best[1]


def command_digest(key: str) -> str:
    """Returns the name of a command under which a warning is kept."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:24]


def warning_for(content: dict[str, Any], key: str, *, now: float) -> dict[str, Any] | None:
    """Returns what is proven at a time, in seconds since 1970, about a command before it runs, `None` for nothing."""
    found = content.get("warnings")
    warning = found.get(command_digest(key)) if isinstance(found, dict) else None
    return warning if is_proven(warning, now) else None


def is_proven(warning: Any, now: float) -> bool:
    """Returns True for a warning whose time has not ended."""
    until = warning.get("until") if isinstance(warning, dict) else None
    return isinstance(until, int | float) and now <= until


def one_line(text: str) -> str:
    """Returns a text as one line of at most 480 bytes."""
    line = " ".join(text.split())
    data = line.encode("utf-8", "replace")
    return line if len(data) <= _MOST_BYTES else data[: _MOST_BYTES - 3].decode("utf-8", "ignore") + "…"
