"""Workflows: checkpoints, merging of states, artifacts, outcomes of whole workflows, retrieval within one."""

from alma import ALMA
from alma.types import Artifact, Checkpoint
from alma_harness.artifacts import get_artifacts, link_artifact, register_artifact_type
from alma_harness.checkpoints import checkpoint, cleanup_checkpoints, newest_of_branches, resume
from alma_harness.reducers import REDUCERS, checked_states, merged
from alma_harness.workflow_memory import learn_from_workflow, retrieve_scoped

__all__ = [
    "REDUCERS",
    "Artifact",
    "Checkpoint",
    "checkpoint",
    "cleanup_checkpoints",
    "get_artifacts",
    "learn_from_workflow",
    "link_artifact",
    "merge_states",
    "register_artifact_type",
    "resume",
    "retrieve_scoped",
]


def merge_states(alma: ALMA, workflow_id: object, states: object, reducer: object, *, user_id: object) -> dict[str, object]:
    """Merges the given states, or those of the newest checkpoint of each branch."""
    newest = newest_of_branches(alma, workflow_id, user_id)
    given = {branch: one.state for branch, one in newest.items()} if states is None else states
    return merged(checked_states(given), reducer)
