"""`alma hook`: reads a host's JSON, answers in the host's JSON, and never hurts: whatever happens, the answer is empty and the exit code 0."""

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from alma_agents import index, spool
from alma_agents.events import BEFORE, END, PROMPT, SHELL, START, TOOL, TURN, Event
from alma_agents.hosts import HOSTS, answer, event_of, takes

DEADLINE = 1.8
_GRACE = 2.5
_LONGEST_INPUT = 32 * 1024 * 1024
_MOST_WARNINGS = 2
"""Warnings at the start of a session, for hosts that take none before a call."""
_LARGEST_SETTINGS = 100_000


def main(arguments: Sequence[str]) -> None:
    """Runs a hook: `alma hook [HOST] [EVENT]`, or the learner: `learn FOLDER`. Never raises, never prints an error."""
    words = [word for word in arguments if word != "hook"]
    if words[:1] == ["learn"]:
        _learn(words[1:])
        return
    _watch(DEADLINE)
    said = ""
    try:
        host = next((word for word in words if word in HOSTS), "")
        name = next((word for word in words if word not in HOSTS and not word.startswith("-")), "")
        said = answered(json.loads(sys.stdin.buffer.read(_LONGEST_INPUT)), host, name, start=_start_learner)
    except Exception:  # noqa: BLE001 - a hook may not fail in its host
        said = ""
    finally:
        _leave(said)


_SPOOLED = threading.Event()


def _watch(seconds: float) -> None:
    """Ends the process after some seconds. On a busy machine what has happened is still spooled: an answer may be late, an event not lost."""

    def end() -> None:
        if seconds == DEADLINE and not _SPOOLED.is_set():
            _watch(_GRACE)
        else:
            os._exit(0)

    watch = threading.Timer(seconds, end)
    watch.daemon = True
    watch.start()


def _leave(said: str) -> None:
    try:
        if said:
            sys.stdout.write(said)
        sys.stdout.flush()
    except (OSError, ValueError):
        pass
    os._exit(0)


def answered(payload: Any, host: str = "", name: str = "", *, start: Callable[[str, str], None] | None = None) -> str:
    """Spools what a payload reports and returns the host's answer, "" for none. Where a session has something to be learned, `start` is called
    with the folder of the hooks and the project; without `start` the next hook with one finds it."""
    event = event_of(payload, host, name) if isinstance(payload, dict) else None
    if event is None:
        return ""
    folder = spool.folder_for(event.cwd)
    if not folder or not spool.is_own(folder) or spool.is_sealed(folder):
        return ""
    is_due = start is not None and _is_due(folder, event)  # before the spool has this event, too
    _spool(folder, event, payload)
    if start is not None and is_due:
        start(folder, spool.project_of(folder, event.cwd))
    return answer(event, _said(folder, event) if takes(event.host, event.kind) else "")


def _is_due(folder: str, event: Event) -> bool:
    """Returns True where a learner has something to do. Few hosts report each end of a session, so the start of one is a time for the others."""
    is_spooled = os.path.exists(spool.file_of(folder, event.session))
    if event.kind in (TURN, END):
        return is_spooled and (event.kind == END or _is_old(folder))
    if event.kind == BEFORE or (is_spooled and event.kind != START):
        return False
    is_new = any(map(spool.has_news, spool.spools(folder)))
    is_needed = is_new or index.is_outdated(index.load(folder, spool.project_of(folder, event.cwd)))
    return is_needed and spool.is_idle(folder)  # many sessions may start at once


def _spool(folder: str, event: Event, payload: dict[str, Any]) -> None:
    if event.kind in (TOOL, PROMPT, START):
        spool.append(folder, event.session, {"host": event.host, "name": event.name, "payload": payload})
        _SPOOLED.set()
        _fired(folder, event.host)
    elif event.kind == END and os.path.exists(spool.file_of(folder, event.session)):
        spool.append(folder, event.session, {"over": True, "host": event.host})


def _said(folder: str, event: Event) -> str:
    if event.kind == TOOL and event.tool == SHELL and event.ok is False:
        return _fix(folder, event)
    if event.kind == BEFORE and event.tool == SHELL:
        return _warning(folder, event)
    if event.kind in (START, PROMPT):
        return "\n".join(part for part in (_briefing(folder, event), _late_fix(folder, event)) if part)
    return ""


def _fired(folder: str, host: str) -> None:
    with suppress(OSError):  # it only serves `alma doctor`
        spool.touch(os.path.join(folder, f"fired-{host}"))


def is_held_out(session: str, share: float) -> bool:
    """Returns True for the share of sessions in which nothing is shown. The same session is always on the same side."""
    return int(hashlib.sha256(f"holdout|{session}".encode("utf-8", "replace")).hexdigest()[:8], 16) / 0xFFFFFFFF < share


def holdout_of(folder: str) -> float:
    """Returns the share of sessions in which nothing is shown, 0 unless `alma install --holdout` set one."""
    try:
        share = json.loads(spool.small_text(os.path.join(folder, "settings.json"), _LARGEST_SETTINGS) or "{}").get("holdout", 0.0)
        return min(max(float(share), 0.0), 1.0)
    except (OSError, ValueError, TypeError, AttributeError):
        return 0.0


def _show(folder: str, event: Event, what: str, text: str) -> str:
    """Returns the text to show, once a session, and nothing in a held-out one; either is spooled with its probability."""
    if not text or any(record.get("shown") == what for record in spool.of_session(folder, event.session)):
        return ""
    share = holdout_of(folder)
    held = is_held_out(event.session, share)
    spool.append(folder, event.session, {"shown": what, "held": held, "probability": 1.0 - share, "host": event.host})
    return "" if held else text


def _fix(folder: str, event: Event) -> str:
    from alma_agents import shell
    from alma_agents.signatures import error_of

    command = shell.judged(event.command, False, event.cwd)
    if command is None:
        return ""
    content = index.load(folder, spool.project_of(folder, event.cwd))
    fix = index.fix_for(content, error_of(event.output), command.shown)
    if fix is None or command.is_called(str(fix.get("strategy"))):
        return ""
    return _show(folder, event, str(fix.get("id")), index.text_of(fix))


def _late_fix(folder: str, event: Event) -> str:
    """Returns the fix of the failure that a session ended its turn with, for a host that took none when it failed."""
    if takes(event.host, TOOL):
        return ""
    judged = [one for one in _calls(spool.of_session(folder, event.session)) if one.tool == SHELL and one.ok is not None]
    return _fix(folder, judged[-1]) if judged and not judged[-1].ok else ""


def _calls(records: list[dict[str, Any]]) -> list[Event]:
    """Returns the calls in the records of a session."""
    found = (event_of(one["payload"], str(one.get("host") or "")) for one in records if isinstance(one.get("payload"), dict))
    return [event for event in found if event is not None and event.kind == TOOL]


def _warning(folder: str, event: Event) -> str:
    """Returns what is proven about a command that is about to run; nothing once the session has changed something."""
    from alma_agents import shell

    command = shell.judged(event.command, False, event.cwd, spool.repository_of(event.cwd))
    if command is None:
        return ""
    warning = index.warning_for(index.load(folder, spool.project_of(folder, event.cwd)), command.call, now=time.time())
    if warning is None or _has_changed(spool.of_session(folder, event.session)):
        return ""
    return _show(folder, event, str(warning.get("id")), index.text_of(warning))


def _has_changed(records: list[dict[str, Any]]) -> bool:
    """Returns True once a session has changed something that a command may depend on. What it only ran is left out."""
    from alma_agents.runs import KEPT, PASSING, change_of

    return any(change_of(event) in (KEPT, PASSING) for event in _calls(records))


def _briefing(folder: str, event: Event) -> str:
    content = index.load(folder, spool.project_of(folder, event.cwd))
    warnings = content.get("warnings") if not takes(event.host, BEFORE) else None
    proven = [one for one in warnings.values() if index.is_proven(one, time.time())] if isinstance(warnings, dict) else []
    texts = [index.text_of(one) for one in proven[:_MOST_WARNINGS]]
    briefings = content.get("briefings")
    rules = str(briefings.get(event.host, "")) if isinstance(briefings, dict) else ""
    text = "\n".join(part for part in (rules, *texts) if part)
    return _show(folder, event, "briefing", text if len(text) <= 2_000 else "")


def _is_old(folder: str) -> bool:
    """Returns True when some spool has not been written for half a day: its session ended without saying so."""
    return any(time.time() - os.stat(path).st_mtime > spool.STALE for path in spool.spools(folder))


def _start_learner(folder: str, project: str) -> None:
    """Starts the process that learns, and rewrites the index of a project if it is outdated. It outlives this process, which ends at once, by a
    second or two, and is then init's to reap."""
    import subprocess

    nothing = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, "-P", "-m", "alma_agents", "learn", folder, project],
        stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd=os.path.dirname(folder),
    )  # fmt: skip


def _learn(words: Sequence[str]) -> None:
    try:
        with spool.only_learner(words[0]) as is_alone:
            if not is_alone:
                return  # before the store is imported: many sessions may end at once
        from alma_agents.learning import learn_spools

        learn_spools(*words[:2])
    except Exception:  # noqa: BLE001 - the spool stays, the next learner takes it
        sys.exit(0)
