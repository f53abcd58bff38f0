"""Artifacts: references to what a workflow produced, with checksums."""

import contextlib
import hashlib
import re
from typing import Any

from alma import ALMA
from alma.errors import ConflictError, ValidationError
from alma.types import Artifact
from alma_harness.keys import checked_key, digest
from alma_harness.retrying import until_stored
from alma_integration import checked_json, checked_text, open_records, optional_name

KIND = "workflow.artifact"
TYPES_KIND = "workflow.artifact_type"
TYPES = ("code", "test", "document", "config", "deployment")
LONGEST_REF = 2_000
LARGEST_METADATA = 10_000

_TYPE = re.compile(r"[a-z][a-z0-9_]{0,39}")
_CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}")


def register_artifact_type(alma: ALMA, name: object) -> str:
    """Registers a type of artifacts with a project, permanently. Registering it again changes nothing."""
    if not isinstance(name, str) or not _TYPE.fullmatch(name):
        raise ValidationError("a type of artifacts is a lower-case word of at most 40 characters, as dashboard")
    records = open_records(alma, TYPES_KIND)
    if name not in TYPES and records.get(name) is None:
        with contextlib.suppress(ConflictError):  # another process registered it at this moment
            records.put(name, {})
    return name


def link_artifact(
    alma: ALMA,
    workflow_id: object,
    artifact_type: object,
    ref: object,
    *,
    checksum: object,
    content: object,
    metadata: object,
    user_id: object,
) -> Artifact:
    """Stores the reference, in place of the one of the same type and `ref`."""
    records = open_records(alma, KIND)
    workflow, user = checked_key(workflow_id, "workflow_id"), optional_name(user_id, "user_id")
    kind, target = _checked_type(alma, artifact_type), checked_text(ref, "ref", limit=LONGEST_REF)
    body: dict[str, Any] = {
        "workflow_id": workflow,
        "artifact_type": kind,
        "ref": target,
        "checksum": _checked_checksum(checksum, content),
        "metadata": {} if metadata is None else checked_json(metadata, "metadata", largest=LARGEST_METADATA),
        **({"user_id": user} if user else {}),
    }
    stored = records.as_stored(body)
    key = f"{digest(workflow, user)}/{digest(kind, target)}"

    def attempt() -> Artifact:
        before = records.get(key)
        if before is not None and {name: value for name, value in before.body.items() if name != "created_at"} == stored:
            return Artifact.model_validate(before.body)
        whole = {**body, "created_at": records.now().isoformat()}
        return Artifact.model_validate(records.put(key, whole, version=0 if before is None else before.version).body)

    return until_stored(attempt)


def get_artifacts(alma: ALMA, workflow_id: object, artifact_type: object, *, user_id: object) -> list[Artifact]:
    """Returns the artifacts of a workflow, oldest first."""
    line = digest(checked_key(workflow_id, "workflow_id"), optional_name(user_id, "user_id"))
    kind = None if artifact_type is None else _checked_type(alma, artifact_type)
    found = [Artifact.model_validate(record.body) for record in open_records(alma, KIND).listed(under=line)]
    return sorted((one for one in found if kind in (None, one.artifact_type)), key=lambda one: one.created_at)


def _checked_type(alma: ALMA, value: object) -> str:
    if isinstance(value, str) and (value in TYPES or (_TYPE.fullmatch(value) and open_records(alma, TYPES_KIND).get(value))):
        return value
    raise ValidationError(
        f"artifact_type must be one of {', '.join(TYPES)}, or registered with alma.workflow.register_artifact_type"
    )


def _checked_checksum(checksum: object, content: object) -> str | None:
    computed = None if content is None else _checksum(content)
    if checksum is None:
        return computed
    if not isinstance(checksum, str) or not _CHECKSUM.fullmatch(checksum):
        raise ValidationError("checksum must be sha256: and 64 lower-case hexadecimal digits")
    if computed not in (None, checksum):
        raise ValidationError(f"checksum is not that of the content, which is {computed}")
    return checksum


def _checksum(content: object) -> str:
    if isinstance(content, str):
        try:
            content = content.encode()
        except UnicodeEncodeError as error:
            raise ValidationError("content has a character that no text file can hold; give bytes") from error
    if not isinstance(content, bytes):
        raise ValidationError("content must be a text or bytes")
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
