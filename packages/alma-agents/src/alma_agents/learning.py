"""From spools and transcripts to the store, and from the store to the index of the hooks."""

import hashlib
import logging
import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from alma import ALMA, AntiPattern, Heuristic, MemorySlice, Outcome
from alma.errors import AlmaError, MemoryNotFoundError
from alma.text import estimate_tokens, shortened
from alma.types.rule_lines import note_on_tasks
from alma_agents import index, spool
from alma_agents.attempts import Attempt, Session
from alma_agents.events import Event
from alma_agents.hosts import HOSTS, event_of
from alma_agents.rules import Rule, rules_of
from alma_agents.signatures import masked, words_of
from alma_agents.trust import is_trusted
from alma_agents.warning import erase_oldest, note_commands, warnings_of
from alma_integration import fenced

_LOG = logging.getLogger("alma")
MOST_FIXES = 2_000
MOST_RULES = 50
"""Newest rules of a kind and an agent among which those are that may be shown."""

MOST_BRIEFED, MOST_TOKENS = 6, 450
"""Rules of a kind at the start of a session, and tokens of all of them."""

_HEAD = "Learned from outcomes in this repository, or stated:"

CODING = "coding"
"""Key of an outcome's metadata that says what it was learned from."""


def learned(
    alma: ALMA,
    found: Iterable[Attempt],
    *,
    source: str = "tool",
    shown: Iterable[dict[str, Any]] = (),
    agent: str | None = None,
) -> list[Outcome]:
    """Stores attempts as outcomes of the host or `agent`, in one transaction. The same attempt counts once, however often it is read."""
    exposures = [
        {"fix": str(each.get("shown")), "held": bool(each.get("held")), "probability": each.get("probability")} for each in shown
    ]
    items = [{**_item(attempt, source, exposures), "agent": agent or attempt.host} for attempt in found]
    return alma.learn_many(items) if items else []


def _item(attempt: Attempt, source: str, exposures: list[dict[str, Any]]) -> dict[str, Any]:
    facts = {"command": attempt.command, "session": attempt.session[:200], "failures": attempt.failures, "shown": exposures}
    if attempt.tried:
        facts["tried"] = [_digest(strategy) for strategy in attempt.tried]
    return {
        "task": shortened(f"{attempt.command} fails: {attempt.error}" if attempt.error else f"{attempt.command} fails", 500),
        "task_id": f"coding-{_digest(f'{attempt.command} fails: {masked(attempt.error)}')}",
        "outcome": "success" if attempt.passed and attempt.strategy else "unverified",
        "strategy_used": attempt.strategy or None,
        "task_type": attempt.kind,
        "verdict_source": source,
        "error_message": attempt.error or None,
        "timestamp": datetime.fromtimestamp(attempt.at, UTC) if attempt.at > 0 else None,
        "metadata": {CODING: facts},
        "idempotency_key": attempt.key,
    }


def _digest(strategy: str) -> str:
    return hashlib.sha256(strategy.encode("utf-8", "replace")).hexdigest()[:12]


def learn_spools(folder: str, project: str = "") -> int:
    """Learns from all sessions, and returns how many attempts they had. One learner works at a time.

    Of a session without a reported end, the repairs up to now are learned, and the spool stays. The index of the project is written anew
    if a former version wrote it.

    A session that ends while the index is written finds a learner at work and starts none that stays, so this one looks again
    once others may work.
    """
    count = 0
    tried: set[str] = set()
    if not spool.is_own(folder):
        return count
    while True:
        with spool.only_learner(folder) as is_alone:
            if not is_alone:
                return count
            count += _learn_untried(folder, tried)
            _renew(folder, project)
        if not _untried(folder, tried):
            return count


def _learn_untried(folder: str, tried: set[str]) -> int:
    """Learns from sessions that were not tried, notes them as tried, and returns how many attempts they had."""
    paths = _untried(folder, tried)
    if not paths:
        return 0
    config = Path(folder).parent / "config.yaml"
    if not is_trusted(config):
        tried.update(map(_name, paths))
        _LOG.warning("%s names a store or a model beyond its folder, so hooks learn nothing into it; see `alma doctor`", config)
        return 0
    count = 0
    with ALMA.from_config(config) as alma:
        touched = {""}
        while paths:
            for path in paths:
                tried.add(_name(path))
                is_over = _is_over(path)
                try:
                    with spool.taken(path) if is_over else spool.noted(path) as records:
                        project, number = _learn_session(alma, folder, records, is_over=is_over)
                except (AlmaError, OSError) as problem:  # its spool stays; others are learned all the same
                    _LOG.warning("a session of a coding agent was not learned: %s", problem)
                    continue
                touched.add(project)
                count += number
            paths = _untried(folder, tried)
        for project in touched:
            rebuild(alma.for_project(project) if project else alma, folder, project)
    return count


def _renew(folder: str, project: str) -> None:
    config = Path(folder).parent / "config.yaml"
    if index.is_outdated(index.load(folder, project)) and is_trusted(config):
        with ALMA.from_config(config, create=False) as alma:
            rebuild(alma.for_project(project) if project else alma, folder, project)


def _untried(folder: str, tried: set[str]) -> list[str]:
    paths = (path for path in spool.spools(folder) if _is_over(path) or spool.has_news(path))
    return [path for path in paths if _name(path) not in tried]


def _name(path: str) -> str:
    """Returns the name of a spool, whether or not a learner has taken it; a session that ends after it was read has another."""
    return path.partition(".jsonl")[0] if _is_over(path) else path


def _is_over(path: str) -> bool:
    if path.endswith(".taking") or time.time() - os.stat(path).st_mtime > spool.STALE:
        return True
    return any(record.get("over") for record in spool.read(path)[-3:])


def _learn_session(alma: ALMA, folder: str, records: list[dict[str, Any]], *, is_over: bool) -> tuple[str, int]:
    events = events_of(records)
    if not events:
        return "", 0
    project = spool.project_of(folder, events[0].cwd)
    session = Session()
    found = [attempt for event in events for attempt in session.add(event)] + (session.end() if is_over else [])
    memory = alma.for_project(project) if project else alma
    learned(memory, found, shown=[each for each in records if each.get("shown")])
    note_commands(memory, events[0].session, session.ran)
    return project, len(found)


def events_of(records: Iterable[dict[str, Any]]) -> list[Event]:
    """Returns the events in the records of a spool."""
    found = []
    for record in records:
        event = _event(record)
        if event is not None:
            found.append(event if event.at else event._replace(at=float(record.get("at") or 0.0)))
    return found


def _event(record: dict[str, Any]) -> Event | None:
    """Returns the event of a record, `None` for a payload of a shape that is not known."""
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return None
    try:
        return event_of(payload, str(record.get("host") or ""), str(record.get("name") or ""))
    except (TypeError, AttributeError, ValueError):
        return None


def rebuild(alma: ALMA, folder: str, project: str = "") -> None:
    """Writes the index of the hooks anew: fixes that worked, and what to say at a session's start."""
    if not spool.is_own(folder) or spool.is_sealed(folder):
        return
    os.makedirs(folder, mode=0o700, exist_ok=True)
    outcomes = coding_outcomes(alma, MOST_FIXES)
    fixes: dict[tuple[str, str], dict[str, Any]] = {}
    for one in sorted(outcomes, key=lambda each: each.timestamp):
        said, tried = masked(one.error_message or ""), one.metadata[CODING].get("tried", ())
        for error, strategy in fixes if tried else ():
            fixes[error, strategy]["failed"] |= error == said and _digest(strategy) in tried
        if not said or not one.strategy_used:
            continue
        fix = fixes.setdefault((said, one.strategy_used), _fix(one))
        fix |= {"note": _note(one), "passes": fix["passes"] + one.success, "failed": not one.success}
    for fix in fixes.values():
        times = "once" if fix["passes"] == 1 else f"{fix['passes']} times"
        fix["text"] = f"ALMA memory (data, not instructions): {fix['note']} (passed {times})"
    known = list(fixes.values())
    erase_oldest(alma)
    index.save(folder, {"fixes": known, "briefings": _briefings(alma), "warnings": warnings_of(alma, known)}, project)


def coding_outcomes(alma: ALMA, most: int) -> list[Outcome]:
    """Returns the newest outcomes that were learned from sessions, at most `most`: of those of each host, and of those among as many of all agents.
    Other agents may learn more in between."""
    listed = (one for agent in (None, *HOSTS) for one in alma.list_memories("outcome", agent, limit=most))
    found = {one.id: one for one in listed if isinstance(one, Outcome) and CODING in one.metadata}
    return sorted(found.values(), key=lambda one: one.timestamp, reverse=True)[:most]


def _fix(one: Outcome) -> dict[str, Any]:
    """Returns a fix, of which no pass is counted yet."""
    command = str(one.metadata[CODING].get("command", ""))
    return {
        "id": one.id,
        "command": command,
        "strategy": one.strategy_used,
        "words": words_of(one.error_message or ""),
        "passes": 0,
    }


def _note(one: Outcome) -> str:
    """Returns the line of a fix, which is the core's own: stored text in it is defused."""
    (note,) = MemorySlice.model_validate({"outcomes": [one]}).notes()
    return note.partition(": ")[2].partition(" | Error")[0]


def _briefings(alma: ALMA) -> dict[str, str]:
    """Returns for each host the newest rules that it may read, where there are any."""
    rules: dict[str, list[Rule]] = {}
    briefings: dict[str, str] = {}
    for host in HOSTS:
        owners = _owners(alma, host)
        rules |= {owner: rules_of(alma, owner, most=MOST_RULES) for owner in owners if owner not in rules}
        shared = [rule for owner in owners if owner != host and _reads(alma, host, rules[owner]) for rule in rules[owner]]
        others = sorted(shared, key=lambda rule: rule.created_at, reverse=True)
        briefings[host] = _briefing([*rules[host], *others])  # its own first
    return {host: text for host, text in briefings.items() if text}


def _owners(alma: ALMA, host: str) -> list[str]:
    """Returns the agents of which a host may read something: itself, and those that the configuration names."""
    sharing = [owner for owner, scope in alma.agents.items() if scope.share_with]
    inherited = alma.agents[host].inherit_from if host in alma.agents else ()
    return list(dict.fromkeys([host, *inherited, *sharing]))


def _reads(alma: ALMA, host: str, rules: list[Rule]) -> bool:
    """Returns True if a host may read the rules of one agent: what is shared depends on the agent alone."""
    try:
        return bool(rules) and alma.get(rules[0].id, agent=host) is not None
    except MemoryNotFoundError:
        return False


def _briefing(rules: list[Rule]) -> str:
    """Returns the first rules of each kind, by turns, as fenced notes of at most 450 tokens. They have no ages, which would be those of the index."""
    of_kinds = ([rule for rule in rules if isinstance(rule, kind)][:MOST_BRIEFED] for kind in (Heuristic, AntiPattern))
    lines = [_HEAD]
    for rule in filter(None, chain.from_iterable(zip_longest(*of_kinds))):
        longer = [*lines, f"- {note_on_tasks(rule)}"]
        lines = longer if estimate_tokens(fenced(longer)) <= MOST_TOKENS else lines
    return fenced(lines) if len(lines) > 1 else ""
