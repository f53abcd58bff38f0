"""Base of adapters for agent frameworks: they translate their framework's events into a `Run`, and this package does the rest.

`docs/guides/integrating.md` shows an adapter for a new framework. `alma.testing.IntegrationContract` is the test that every adapter passes.
"""

from alma.memory.alma import checked_alma, open_records
from alma.memory.arguments import (
    checked_choice,
    checked_count,
    checked_items,
    checked_json,
    checked_label,
    checked_name,
    checked_text,
    checked_time,
    optional_name,
    optional_text,
)
from alma.memory.package_records import Records
from alma.types.kinds import Verdict, VerdictSource
from alma.types.package_records import Record
from alma.types.prompt import fenced, note
from alma.types.tags import defused
from alma_integration.answers import ToolVerdict, answer_text, tool_verdict
from alma_integration.bounded import Bounded
from alma_integration.calls import (
    ToolUse,
    call_with_arguments,
    call_with_choices,
    choices_of,
    named_call,
    schema_of,
    tool_use,
)
from alma_integration.context import Identity, RunContext, check_identity, identified, required
from alma_integration.credit import ToolStep, strategy_of
from alma_integration.documents import document_metadata, documented, way_metadata
from alma_integration.framework_parts import check_parts
from alma_integration.judging import Evaluator, Judgement
from alma_integration.kit import LOOP_SECONDS, Integration, Learning
from alma_integration.narrowing import checked_kinds, checked_names
from alma_integration.options import (
    MOST_TOKENS,
    Inject,
    OnError,
    OptionArguments,
    Options,
    ToolkitArguments,
    check_score,
    default_tool_outcome,
    taken,
)
from alma_integration.parts import holding, tag_beside, together
from alma_integration.run import Run, noted_on
from alma_integration.scope import Scope
from alma_integration.toolkit import Tool, Toolkit
from alma_integration.views import RunReport, RunView, tools_succeeded
from alma_integration.work import in_event_loop

__all__ = [
    "LOOP_SECONDS",
    "MOST_TOKENS",
    "Bounded",
    "Evaluator",
    "Identity",
    "Inject",
    "Integration",
    "Judgement",
    "Learning",
    "OnError",
    "OptionArguments",
    "Options",
    "Record",
    "Records",
    "Run",
    "RunContext",
    "RunReport",
    "RunView",
    "Scope",
    "Tool",
    "ToolStep",
    "ToolUse",
    "ToolVerdict",
    "Toolkit",
    "ToolkitArguments",
    "Verdict",
    "VerdictSource",
    "answer_text",
    "call_with_arguments",
    "call_with_choices",
    "check_identity",
    "check_parts",
    "check_score",
    "checked_alma",
    "checked_choice",
    "checked_count",
    "checked_items",
    "checked_json",
    "checked_kinds",
    "checked_label",
    "checked_name",
    "checked_names",
    "checked_text",
    "checked_time",
    "choices_of",
    "default_tool_outcome",
    "defused",
    "document_metadata",
    "documented",
    "fenced",
    "holding",
    "identified",
    "in_event_loop",
    "named_call",
    "note",
    "noted_on",
    "open_records",
    "optional_name",
    "optional_text",
    "required",
    "schema_of",
    "strategy_of",
    "tag_beside",
    "taken",
    "together",
    "tool_use",
    "tool_verdict",
    "tools_succeeded",
    "way_metadata",
]
