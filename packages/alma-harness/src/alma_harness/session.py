"""Sessions: one agent works towards a goal, and hands over to the next session, also when its process dies."""

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from alma.errors import MemoryNotFoundError, ScopeViolationError, ValidationError
from alma.types.episodes import LEASE_DURATION
from alma_harness.asynchronous import OfProjectAsync, mirrored
from alma_harness.keys import checked_key, digest
from alma_harness.projects import OfProject
from alma_harness.quick_reload import quick_reload
from alma_harness.retrying import until_stored
from alma_harness.session_values import Handoff, SessionContext, SessionSummary
from alma_integration import (
    Record,
    Records,
    checked_choice,
    checked_count,
    checked_items,
    checked_name,
    checked_text,
    open_records,
    optional_name,
    optional_text,
)

__all__ = ["AsyncSessionManager", "Handoff", "SessionContext", "SessionManager", "SessionSummary"]

KIND = "session.session"
OUTCOMES = ("success", "failure", "partial", "unverified", "interrupted")
LONGEST_TEXT = 4_000
MOST_ITEMS = 100
MOST_SESSIONS = 1_000


class SessionManager(OfProject):
    """Sessions of a project. `SessionManager("my-project")` opens `.alma`; `SessionManager(alma=alma)` uses an open one.

    Sessions belong to an agent, and to a user if one is given: no other agent's or user's are returned. They are stored with the
    project's memories, so they survive restarts.
    """

    def start_session(self, agent: str, goal: str, *, user_id: str | None = None) -> SessionContext:
        """Begins a session and returns it, with the hand-off of the agent's last session that ended, or that this program did not begin."""
        owner, user = checked_name(agent, "agent"), optional_name(user_id, "user_id")
        text = checked_text(goal, "goal", limit=LONGEST_TEXT)
        previous = self._last_handoff(owner, user)
        stored = self._begun(owner, user, text)
        return SessionContext(
            session_id=_id(stored.key),
            agent=owner,
            user_id=user,
            goal=stored.body["goal"],
            started_at=stored.body["started_at"],
            previous_handoff=previous,
        )

    def update_session(
        self,
        session_id: str,
        *,
        agent: str | None = None,
        last_action: str | None = None,
        last_outcome: str | None = None,
        next_steps: Iterable[str] | None = None,
        blockers: Iterable[str] | None = None,
        key_decisions: Iterable[str] | None = None,
        active_files: Iterable[str] | None = None,
    ) -> SessionSummary:
        """Notes the state of a running session, so that a crash leaves it as a hand-off. What is not given stays as it was."""
        notes = _checked_notes(
            last_action=last_action,
            last_outcome=last_outcome,
            next_steps=next_steps,
            blockers=blockers,
            key_decisions=key_decisions,
            active_files=active_files,
        )
        return self._summary(self._changed(session_id, optional_name(agent, "agent"), notes))

    def create_handoff(
        self,
        agent: str,
        session_id: str,
        last_action: str,
        last_outcome: str = "unverified",
        *,
        next_steps: Iterable[str] | None = None,
        blockers: Iterable[str] | None = None,
        key_decisions: Iterable[str] | None = None,
        active_files: Iterable[str] | None = None,
    ) -> Handoff:
        """Ends a session and stores its state for the next one. `last_outcome` is "success", "failure", "partial", "unverified" or
        "interrupted".

        `ScopeViolationError` if the session is another agent's.
        """
        notes = _checked_notes(
            last_action=checked_text(last_action, "last_action", limit=LONGEST_TEXT),
            last_outcome=last_outcome,
            next_steps=next_steps,
            blockers=blockers,
            key_decisions=key_decisions,
            active_files=active_files,
        )
        stored = self._changed(session_id, checked_name(agent, "agent"), notes, is_ended=True, has_handoff=True)
        return _handoff(stored, is_crash=False)

    def record_handoff(
        self,
        agent: str,
        goal: str,
        last_action: str,
        last_outcome: str = "unverified",
        *,
        user_id: str | None = None,
        next_steps: Iterable[str] | None = None,
        blockers: Iterable[str] | None = None,
        key_decisions: Iterable[str] | None = None,
        active_files: Iterable[str] | None = None,
    ) -> Handoff:
        """Stores a session that is over, with its state for the next one, in one transaction. For callers that began none with
        `start_session`; the arguments are those of `create_handoff`."""
        owner, user = checked_name(agent, "agent"), optional_name(user_id, "user_id")
        text = checked_text(goal, "goal", limit=LONGEST_TEXT)
        notes = _checked_notes(
            last_action=checked_text(last_action, "last_action", limit=LONGEST_TEXT),
            last_outcome=last_outcome,
            next_steps=next_steps,
            blockers=blockers,
            key_decisions=key_decisions,
            active_files=active_files,
        )
        return _handoff(self._begun(owner, user, text, is_ended=True, has_handoff=True, notes=notes), is_crash=False)

    def end_session(self, session_id: str, *, agent: str | None = None) -> SessionSummary:
        """Ends a session without a hand-off, as when its goal is reached."""
        return self._summary(self._changed(session_id, optional_name(agent, "agent"), {}, is_ended=True))

    def get_previous_sessions(self, agent: str, *, user_id: str | None = None, limit: int = 10) -> list[SessionSummary]:
        """Returns the sessions of an agent, for a user if one is given, newest first."""
        most = checked_count(limit, "limit", largest=MOST_SESSIONS)
        found = self._listed(checked_name(agent, "agent"), optional_name(user_id, "user_id"))
        return [self._summary(record) for record in found[:most]]

    def get_quick_reload(self, agent: str, *, user_id: str | None = None, max_tokens: int = 300) -> str:
        """Returns the last hand-off as a short text for a prompt, fenced as notes; "" if there is none."""
        handoff = self._last_handoff(checked_name(agent, "agent"), optional_name(user_id, "user_id"))
        return quick_reload(handoff, max_tokens)

    def last_handoff(self, agent: str, *, user_id: str | None = None) -> Handoff | None:
        """Returns the hand-off that the next session of an agent will get, `None` if there is none."""
        return self._last_handoff(checked_name(agent, "agent"), optional_name(user_id, "user_id"))

    def _begun(self, agent: str, user_id: str | None, goal: str, **state: Any) -> Record:
        """Stores a new session, which is running unless `state` says otherwise."""
        now = self._records.now()
        micros = round(now.timestamp() * 1_000_000)
        session_id = f"{digest(agent, user_id)}-{micros:016x}-{secrets.token_hex(4)}"
        body = {
            "agent": agent,
            **({"user_id": user_id} if user_id else {}),
            "goal": goal,
            "started_at": now.isoformat(),
            "updated_at": now.isoformat(),
            "holder": self._records.holder,
            "is_ended": False,
            "has_handoff": False,
            "notes": {},
            **state,
        }
        return self._records.put(_key(session_id), body, actor=agent)

    @property
    def _records(self) -> Records:
        return open_records(self.alma, KIND)

    def _listed(self, agent: str, user_id: str | None) -> list[Record]:
        return list(reversed(self._records.listed(under=digest(agent, user_id))))

    def _last_handoff(self, agent: str, user_id: str | None) -> Handoff | None:
        """Returns the newest hand-off by the time at which the session last changed."""
        found = [self._summary(record).handoff for record in self._listed(agent, user_id)]
        return max((one for one in found if one is not None), key=lambda one: (one.created_at, one.session_id), default=None)

    def _summary(self, record: Record) -> SessionSummary:
        body = record.body
        is_left = not body["is_ended"] and body["holder"] != self._records.holder
        silence = self._records.now() - datetime.fromisoformat(body["updated_at"])
        status = "ended" if body["is_ended"] else "crashed" if is_left and silence > LEASE_DURATION else "running"
        return SessionSummary(
            session_id=_id(record.key),
            agent=body["agent"],
            user_id=body.get("user_id"),
            goal=body["goal"],
            status=status,
            started_at=body["started_at"],
            handoff=_handoff(record, is_crash=is_left) if is_left or body["has_handoff"] else None,
        )

    def _changed(self, session_id: object, agent: str | None, notes: dict[str, Any], **changes: bool) -> Record:
        key = _key(checked_key(session_id, "session_id"))

        def attempt() -> Record:
            before = self._records.get(key)
            if before is None:
                raise MemoryNotFoundError(f"project {self.alma.project_id!r} has no session of this id")
            body = before.body
            if agent not in (None, body["agent"]):
                raise ScopeViolationError(f"this session belongs to {body['agent']!r}, not to {agent!r}; nothing was stored")
            if body["is_ended"]:
                raise ValidationError("this session has ended; start another one")
            now = self._records.now().isoformat()
            changed = {
                **body,
                **changes,
                "notes": {**body["notes"], **notes},
                "updated_at": now,
                "holder": self._records.holder,
            }
            return self._records.put(key, changed, version=before.version, actor=body["agent"])

        return until_stored(attempt)


def _checked_notes(**given: object) -> dict[str, Any]:
    """Returns the notes that were given, checked."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name == "last_action":
            found[name] = optional_text(value, name, limit=LONGEST_TEXT) or ""
        elif name == "last_outcome":
            found[name] = checked_choice(value, name, OUTCOMES)
        else:
            items = list(checked_items(value, name))
            if len(items) > MOST_ITEMS:
                raise ValidationError(f"{name} has {len(items):,} items; at most {MOST_ITEMS} are kept")
            found[name] = [checked_text(item, f"an item of {name}", limit=LONGEST_TEXT) for item in items]
    return found


def _handoff(record: Record, *, is_crash: bool) -> Handoff:
    body = record.body
    return Handoff(
        session_id=_id(record.key),
        agent=body["agent"],
        user_id=body.get("user_id"),
        goal=body["goal"],
        is_crash=is_crash,
        created_at=body["updated_at"],
        **body["notes"],
    )


def _key(session_id: str) -> str:
    return session_id.replace("-", "/", 1)


def _id(key: str) -> str:
    return key.replace("/", "-", 1)


class AsyncSessionManager(OfProjectAsync[SessionManager]):
    """As `SessionManager`, for asyncio; `alma` may be an `AsyncALMA`, too."""

    _kind = SessionManager
    start_session = mirrored(SessionManager.start_session)
    update_session = mirrored(SessionManager.update_session)
    create_handoff = mirrored(SessionManager.create_handoff)
    record_handoff = mirrored(SessionManager.record_handoff)
    end_session = mirrored(SessionManager.end_session)
    get_previous_sessions = mirrored(SessionManager.get_previous_sessions)
    get_quick_reload = mirrored(SessionManager.get_quick_reload)
    last_handoff = mirrored(SessionManager.last_handoff)
