"""Sessions and hand-offs as values."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Handoff(_Value):
    """The state that a session left for the next one. With `is_crash` the session never ended: this is what it had noted by then.

    Another process may still run it: only a longer silence says that it does not.
    """

    session_id: str
    agent: str
    user_id: str | None = None
    goal: str
    last_action: str = ""
    last_outcome: str = ""
    next_steps: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    key_decisions: tuple[str, ...] = ()
    active_files: tuple[str, ...] = ()
    is_crash: bool = False
    created_at: datetime


class SessionContext(_Value):
    """A session that began, with the hand-off of the one before it, if there is one."""

    session_id: str
    agent: str
    user_id: str | None = None
    goal: str
    started_at: datetime
    previous_handoff: Handoff | None = None


class SessionSummary(_Value):
    """A former or running session. `status` is "running", "ended" or, where no note came for ten minutes, "crashed"."""

    session_id: str
    agent: str
    user_id: str | None = None
    goal: str
    status: str
    started_at: datetime
    handoff: Handoff | None = None
