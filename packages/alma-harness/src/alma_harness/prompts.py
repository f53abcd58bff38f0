"""The prompt of a run: the setting, the task, and what is remembered."""

import inspect
import json
from typing import Any

from alma.text import shortened
from alma_harness.setting import Context, Setting, tool_name

INPUT_CHARS = 4_000
"""Each input is shortened to this length."""


def prompt_of(setting: Setting, context: Context, notes: str) -> str:
    """Returns the prompt. The notes stand beside the task, after what never changes, so that a provider can cache the beginning."""
    parts = [
        setting.description,
        _listed("Tools", [_described(tool) for tool in setting.tools]),
        _listed("Always", setting.global_constraints),
        notes,
        _listed("Inputs", [f"{name}: {_shown(value)}" for name, value in context.inputs.items()]),
        _listed("For this task", context.constraints),
        f"Task: {context.task}",
    ]
    return "\n\n".join(part for part in parts if part)


def _listed(title: str, lines: Any) -> str:
    return "\n".join([f"{title}:", *(f"- {line}" for line in lines)]) if lines else ""


def _described(tool: Any) -> str:
    said = "" if isinstance(tool, str) else (inspect.getdoc(tool) or "").partition("\n")[0]
    return f"{tool_name(tool)}: {said}" if said else tool_name(tool)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return shortened(value, INPUT_CHARS)
    try:
        return shortened(json.dumps(value, ensure_ascii=False, default=str), INPUT_CHARS)
    except (TypeError, ValueError, RecursionError):
        return f"a value of type {type(value).__name__}"
