"""Tools for the time before a task: what is known, what is dangerous, what was tried."""

from typing import Annotated

from pydantic import Field

from alma.types import MemorySlice
from alma.types.prompt import fenced
from alma.types.strategies import TRIED
from alma.types.tags import defused
from alma_mcp.answers import Assessed, Checked, Explained, Found, Notes, Strategies, Tried, Warned
from alma_mcp.calls import Calls
from alma_mcp.tools.arguments import Agent, MemoryId, Task, TaskType, TopK, UserId

Action = Annotated[str, Field(description="The call, command or step.")]
WAY = "strategy"
"""The kind under which an answer names a way that was tried and is no rule."""

Tokens = Annotated[int, Field(description="Budget of the notes.")]


def retrieve(
    calls: Calls,
    task: Task,
    agent: Agent = None,
    user_id: UserId = None,
    task_type: TaskType = None,
    top_k: TopK = 5,
    max_tokens: Tokens = 2000,
) -> Notes:
    """Use before each task: what worked, what failed, facts and the user's preferences for such a task. Cite the tags of notes that helped."""
    who = calls.access
    found = calls.alma.retrieve(
        task=task, agent=who.as_agent(agent), user_id=who.as_user(user_id), task_type=task_type, top_k=top_k
    )
    return notes_of(found, max_tokens)


def query_memory(
    calls: Calls,
    question: Annotated[str, Field(description="A question, in a sentence.")],
    agent: Agent = None,
    user_id: UserId = None,
    top_k: TopK = 10,
    max_tokens: Tokens = 2000,
) -> Notes:
    """Use to look something up rather than to prepare a task: the self-model, and memories by similarity alone, whatever their record."""
    who = calls.access
    found = calls.alma.graph.query_memory(question, agent=who.as_agent(agent), user_id=who.as_user(user_id), top_k=top_k)
    notes = notes_of(found.memories, max_tokens)
    if not found.lines:
        return notes
    known = fenced(["Known of the user and their world:", *(defused(one) for one in found.lines)])
    return notes.model_copy(update={"notes": f"{known}\n{notes.notes}"})


def check(
    calls: Calls,
    action: Action,
    agent: Agent = None,
    task: Annotated[str | None, Field(description="What it is for.")] = None,
    user_id: UserId = None,
) -> Checked:
    """Use before a risky step: says whether the action is known to fail, and what to do instead."""
    who = calls.access
    checked = calls.alma.check(agent=who.as_agent(agent), action=action, task=task, user_id=who.as_user(user_id))
    warnings = [Warned(id=each.anti_pattern.id, summary=each.summary) for each in checked.warnings]
    hint = str(checked) if checked.is_clear and checked.elsewhere else checked.hint
    return Checked(clear=checked.is_clear, warnings=warnings, hint=hint or "")


def strategies(
    calls: Calls,
    task: Annotated[str | None, Field(description="The task; all tasks if left out.")] = None,
    agent: Agent = None,
    task_type: TaskType = None,
    user_id: UserId = None,
    limit: Annotated[int, Field(description="Most rows.")] = 5,
) -> Strategies:
    """Use to choose between ways: the strategies tried for such tasks, best expected rate of success first."""
    who = calls.access
    table = calls.alma.strategies(
        task=task, agent=who.as_agent(agent), task_type=task_type, user_id=who.as_user(user_id), limit=limit
    )
    return Strategies(
        rows=[
            Tried(
                strategy=row.strategy,
                verdict=row.verdict,
                successes=row.successes,
                trials=row.trials,
                tasks=row.tasks,
                summary=row.summary,
            )
            for row in table
        ]
    )


def assess(
    calls: Calls,
    context: Annotated[str, Field(description="The task, in a sentence.")],
    strategy: Annotated[str | None, Field(description="The way to judge; the task itself if left out.")] = None,
    agent: Agent = None,
    task_type: TaskType = None,
    user_id: UserId = None,
) -> Assessed:
    """Use before committing to one way: how likely a strategy is to succeed at a task, and how sure that is."""
    who = calls.access
    found = calls.alma.assess(
        strategy=strategy, context=context, agent=who.as_agent(agent), task_type=task_type, user_id=who.as_user(user_id)
    )
    return Assessed(
        verdict=found.verdict,
        recommendation=found.recommendation,
        successes=found.successes,
        trials=found.trials,
        summary=str(found),
    )


def explain(
    calls: Calls, query: Task, memory_id: MemoryId, agent: Agent = None, user_id: UserId = None, top_k: TopK = 5
) -> Explained:
    """Use when a retrieval surprises: why a memory is returned for a task, or the first filter that excludes it."""
    who = calls.access
    found = calls.alma.explain_retrieval(query, memory_id, agent=who.as_agent(agent), user_id=who.as_user(user_id), top_k=top_k)
    return Explained(selected=found.selected, reason=found.reason, summary=str(found))


def notes_of(found: MemorySlice, max_tokens: int) -> Notes:
    """Returns a slice as fenced notes within a budget."""
    kept, notes = found.fitted(max_tokens)
    ways = [Found(tag=way.tag, id=way.id, kind=WAY) for way in kept.strategies if way.tag is not None and way.rule == TRIED]
    memories = [Found(tag=item.tag, id=item.memory.id, kind=str(item.memory.kind)) for item in kept.recalled]
    return Notes(notes=notes, memories=[*memories, *ways], hint=found.hint or "")
