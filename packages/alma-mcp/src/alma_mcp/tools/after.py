"""Tools for the time after a task: how it went, what helped, what to remember. The source of a token says who judges; without one, the agent."""

from typing import Annotated

from pydantic import Field

from alma.errors import MemoryNotFoundError, ScopeViolationError, ValidationError
from alma_mcp.answers import Counted, Settled, Stored, Used
from alma_mcp.calls import Calls
from alma_mcp.tools.arguments import HIDDEN, Agent, MemoryId, Task, TaskType, Unneeded, UserId, Verdict

NOTED_BY_AGENT = "noted_by_agent"
"""Source of facts and preferences that give none, as the integration kit has it."""


def learn(
    calls: Calls,
    task: Task,
    outcome: Verdict,
    strategy_used: Annotated[str | None, Field(description="What was done, in a sentence.")] = None,
    agent: Agent = None,
    user_id: UserId = None,
    task_type: TaskType = None,
    error_message: Annotated[str | None, Field(description="The error, if it failed.")] = None,
    feedback: Annotated[str | None, Field(description="What a person said of it.")] = None,
    duration_ms: Annotated[float | None, Field(json_schema_extra={HIDDEN: True})] = None,
) -> Stored:
    """Use after each task, also a failed one: records what was done and how it went. Report unverified if nothing checked the result."""
    who = calls.access
    stored = calls.alma.learn(
        agent=who.as_agent(agent),
        user_id=who.as_user(user_id),
        task=task,
        outcome=outcome,
        strategy_used=strategy_used,
        task_type=task_type,
        duration_ms=duration_ms,
        error_message=error_message,
        feedback=feedback,
        verdict_source=who.source,
    )
    return _stored(calls, stored.id)


def record_usage(
    calls: Calls,
    retrieved_memory_ids: Annotated[list[str], Field(description="Ids that alma_retrieve returned.")],
    used_memory_ids: Annotated[list[str] | None, Field(description="Those that helped.")] = None,
    agent: Agent = None,
    user_id: UserId = None,
    memory_type: Unneeded = None,
) -> Used:
    """Use after a task with notes from alma_retrieve: which of them helped. Later retrievals rank by it."""
    who, user = calls.access, calls.access.as_user(user_id)
    shown, hidden = _part_readable(calls, retrieved_memory_ids, who.as_agent(agent), user)
    used = [each for each in used_memory_ids or () if each not in hidden]
    report = calls.alma.record_usage(shown, used if used_memory_ids else None, memory_type, who.as_agent(agent), user_id=user)
    return Used(used=list(report.used), ignored=list(report.ignored), unknown=[*report.unknown, *hidden])


def record_feedback(
    calls: Calls,
    memory_id: MemoryId,
    signal: Annotated[str, Field(json_schema_extra={"enum": ["used", "ignored", "thumbs_up", "thumbs_down"]})],
    agent: Agent = None,
    user_id: UserId = None,
    memory_type: Unneeded = None,
) -> Counted:
    """Use when a single memory was right or wrong: counts one signal about it."""
    who, user = calls.access, calls.access.as_user(user_id)
    if _part_readable(calls, [memory_id], who.as_agent(agent), user)[1]:
        return Counted(counted=[], unknown=[memory_id])
    report = calls.alma.record_feedback(memory_id, memory_type, signal, who.as_agent(agent), user_id=user)
    return Counted(counted=list(report.counted), unknown=list(report.unknown))


def _part_readable(calls: Calls, memory_ids: list[str], agent: str, user: str | None) -> tuple[list[str], list[str]]:
    """Returns the ids of memories that the client may read, and the others: without a user, the library would take any user's."""
    if calls.access.is_for_all_users:
        return memory_ids, []
    hidden = [each for each in dict.fromkeys(memory_ids) if not _is_readable(calls, each, agent, user)]
    return [each for each in memory_ids if each not in hidden], hidden


def _is_readable(calls: Calls, memory_id: str, agent: str, user: str | None) -> bool:
    try:
        calls.alma.get(memory_id, agent=agent, user_id=user)
    except MemoryNotFoundError:
        return False
    return True


def settle(
    calls: Calls,
    outcome: Verdict,
    episode_id: Annotated[str | None, Field(description="The attempt to judge.")] = None,
    run_id: Annotated[str | None, Field(description="Or all attempts of a run.")] = None,
    reason: Annotated[str | None, Field(description="What shows it.")] = None,
    agent: Agent = None,
) -> Settled:
    """Use when the outcome of an ended attempt becomes clear later: sets or corrects its verdict, on your own word."""
    access = calls.access
    who, user = access.as_agent(agent), access.as_user(None)
    if (episode_id is None) == (run_id is None):
        raise ValidationError("give an episode_id or a run_id, and not both")
    found = calls.alma.run_episodes(run_id) if run_id is not None else [calls.alma.get_episode(episode_id or "")]
    if others := sorted({episode.agent for episode in found} - {who}):
        raise ScopeViolationError(f"the agent {who!r} cannot judge an attempt of {others[0]!r}")
    if not access.is_for_all_users and any(episode.user_id != user for episode in found):
        raise ScopeViolationError("this client cannot judge an attempt for another user, or for none")
    if run_id is not None:
        settled = calls.alma.settle(outcome=outcome, run_id=run_id, reason=reason, source=access.source)
    else:
        settled = [calls.alma.settle(found[0].id, outcome, reason, source=access.source)]
    return Settled(episode_ids=[episode.id for episode in settled], outcome=str(settled[0].outcome))


def add_knowledge(
    calls: Calls,
    domain: Annotated[str, Field(description="A word or two: what it is about.")],
    fact: Annotated[str, Field(description="One sentence that stands by itself.")],
    agent: Agent = None,
    user_id: UserId = None,
    source: str = NOTED_BY_AGENT,
) -> Stored:
    """Use to keep a fact for later work."""
    who = calls.access
    stored = calls.alma.add_domain_knowledge(who.as_agent(agent), domain, fact, source, user_id=who.as_user(user_id))
    return _stored(calls, stored.id)


def add_preference(
    calls: Calls,
    category: Annotated[str, Field(description="A word or two: what it is about.")],
    preference: Annotated[str, Field(description="One sentence that stands by itself.")],
    user_id: UserId = None,
    source: str = NOTED_BY_AGENT,
    agent: Agent = None,
) -> Stored:
    """Use to keep what the user said they always or never want."""
    who = calls.access
    user = who.as_user(user_id)
    if user is None:
        raise ScopeViolationError("user_id is missing: name the user whose preference this is")
    return _stored(calls, calls.alma.add_user_preference(user, category, preference, source, agent=who.as_any_agent(agent)).id)


def add_anti_pattern(
    calls: Calls,
    pattern: Annotated[str, Field(description="The way that fails.")],
    why_bad: Annotated[str, Field(description="What goes wrong.")],
    better_alternative: Annotated[str | None, Field(description="What to do instead.")] = None,
    agent: Agent = None,
    user_id: UserId = None,
) -> Stored:
    """Use when a way must not be tried again: states it, why, and what to do instead. alma_check warns of it."""
    who = calls.access
    stored = calls.alma.add_anti_pattern(who.as_agent(agent), pattern, why_bad, better_alternative, user_id=who.as_user(user_id))
    return _stored(calls, stored.id)


def _stored(calls: Calls, memory_id: str) -> Stored:
    """A memory that cannot be got right after it was stored went into quarantine."""
    try:
        calls.alma.get(memory_id)
    except MemoryNotFoundError:
        return Stored(id=memory_id, quarantined=True)
    return Stored(id=memory_id)
