"""Every tool by name: its function, what hosts may assume about it, and the profiles that have it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from alma.errors import ConfigurationError
from alma.text import quoted
from alma_mcp.tools import after, before, knowing, upkeep, workflow


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool. It reads only, or writes; writing may take something away, and may be repeated without effect."""

    name: str
    title: str
    call: Callable[..., Any]
    reads_only: bool = False
    is_destructive: bool = False
    is_idempotent: bool = False
    needs: str = ""

    @property
    def right(self) -> str:
        """The right that a token needs: `needs`, else to read or to write."""
        return self.needs or ("read" if self.reads_only else "write")


TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec("alma_retrieve", "Recall for a task", before.retrieve, reads_only=True),
        ToolSpec("alma_check", "Check an action", before.check, reads_only=True),
        ToolSpec("alma_strategies", "Compare strategies", before.strategies, reads_only=True),
        ToolSpec("alma_learn", "Record an outcome", after.learn),
        ToolSpec("alma_record_usage", "Record what helped", after.record_usage),
        ToolSpec("alma_add_knowledge", "Keep a fact", after.add_knowledge),
        ToolSpec("alma_add_preference", "Keep a preference", after.add_preference),
        ToolSpec("alma_add_anti_pattern", "Keep a warning", after.add_anti_pattern),
        ToolSpec("alma_record_feedback", "Rate a memory", after.record_feedback),
        ToolSpec("alma_settle", "Judge an attempt", after.settle, is_idempotent=True, needs="judge"),
        ToolSpec("alma_assess", "Assess a strategy", before.assess, reads_only=True),
        ToolSpec("alma_explain", "Explain a retrieval", before.explain, reads_only=True),
        ToolSpec("query_memory", "Look something up", before.query_memory, reads_only=True),
        ToolSpec("get_self_model", "See what you know of your world", knowing.get_self_model, reads_only=True),
        ToolSpec("update_self_model", "Keep what you learn of your world", knowing.update_self_model),
        ToolSpec("alma_wakeup", "Begin a session", workflow.wakeup, reads_only=True),
        ToolSpec("alma_handoff", "End a session", workflow.handoff),
        ToolSpec("alma_checkpoint", "Store a state", workflow.checkpoint, is_idempotent=True),
        ToolSpec("alma_resume", "Go on with work", workflow.resume, reads_only=True),
        ToolSpec("alma_merge_states", "Merge branches", workflow.merge_states, reads_only=True),
        ToolSpec("alma_workflow_learn", "Record a workflow's outcome", workflow.workflow_learn),
        ToolSpec("alma_link_artifact", "Record a product", workflow.link_artifact, is_idempotent=True),
        ToolSpec("alma_get_artifacts", "List products", workflow.get_artifacts, reads_only=True),
        ToolSpec(
            "alma_cleanup_checkpoints",
            "Erase old states",
            workflow.cleanup_checkpoints,
            is_destructive=True,
            is_idempotent=True,
            needs="forget",
        ),
        ToolSpec("alma_retrieve_scoped", "Recall within a workflow", workflow.retrieve_scoped, reads_only=True),
        ToolSpec("alma_stats", "Count memories", upkeep.stats, reads_only=True),
        ToolSpec("alma_health", "See the state", upkeep.health, reads_only=True),
        ToolSpec("alma_history", "History of a memory", upkeep.history, reads_only=True),
        ToolSpec("alma_forget", "Forget", upkeep.forget, is_destructive=True, is_idempotent=True, needs="forget"),
        ToolSpec(
            "alma_consolidate",
            "Merge what says the same",
            upkeep.consolidate,
            is_destructive=True,
            is_idempotent=True,
            needs="forget",
        ),
        ToolSpec("alma_reflect", "Note lessons", upkeep.reflect, is_idempotent=True),
        ToolSpec("alma_undo", "Undo", upkeep.undo, is_destructive=True, needs="forget"),
    )
}

CORE = (
    "alma_retrieve",
    "alma_check",
    "alma_strategies",
    "alma_learn",
    "alma_record_usage",
    "alma_add_knowledge",
    "alma_add_preference",
)
"""What an agent needs around a task. The names and schemas of tools fill a model's context, so no more by default."""

SELF = ("get_self_model", "update_self_model", "query_memory", "alma_retrieve", "alma_add_preference", "alma_add_knowledge")
"""What an agent needs that knows its user and its world."""

WORKFLOW = (
    "alma_wakeup",
    "alma_handoff",
    "alma_checkpoint",
    "alma_resume",
    "alma_merge_states",
    "alma_workflow_learn",
    "alma_link_artifact",
    "alma_get_artifacts",
    "alma_cleanup_checkpoints",
    "alma_retrieve_scoped",
)
"""What an agent needs for work that goes on over sessions and branches."""

_PROFILES = {"core": CORE, "self": SELF, "workflow": WORKFLOW, "all": tuple(TOOLS)}


def in_profile(profile: str | Iterable[str]) -> list[ToolSpec]:
    """Returns the tools of a profile, or those that a list names, as a text with commas or as names. A list may contain profiles.

    `ConfigurationError` for a name that is neither, and for an empty list.
    """
    names = profile.split(",") if isinstance(profile, str) else list(profile)
    wanted: dict[str, ToolSpec] = {}
    for name in (each.strip() for each in names):
        if name not in TOOLS and name not in _PROFILES:
            near = get_close_matches(name[:100], [*_PROFILES, *TOOLS], n=1)
            raise ConfigurationError(
                f"there is no profile or tool {quoted(name)}" + (f", did you mean {near[0]!r}?" if near else "")
            )
        wanted |= {each: TOOLS[each] for each in _PROFILES.get(name, (name,))}
    return list(wanted.values())
