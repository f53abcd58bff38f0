"""`alma consolidate`, which this package adds to the command line."""

from typing import TYPE_CHECKING, Annotated

import typer

from alma.errors import MemoryNotFoundError
from alma.text import one_line, shortened
from alma_cli.options import AgentOption, ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable, table

if TYPE_CHECKING:
    from alma import ALMA
    from alma_knowledge.consolidation.results import ConsolidationResult

SHOWN, CHARS = 20, 160


def consolidate(
    agent: AgentOption,
    kind: Annotated[str | None, typer.Option("--kind", help="Only this kind, such as domain_knowledge.")] = None,
    threshold: Annotated[float, typer.Option(help="Least cosine of two memories that are compared.")] = 0.85,
    llm: Annotated[bool, typer.Option("--llm", help="Ask the language model of the configuration, too.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Merge; without it only show what would be merged.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Find stated memories of an agent that say the same, and with --apply merge them.

    \b
    Examples:
      alma consolidate --agent helena
      alma consolidate --agent helena --kind domain_knowledge --apply
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        result = alma.consolidate(agent, kind, threshold, use_llm=llm, dry_run=not apply)
        if not json:
            _show(alma, result)
    if json:
        print_json(result.to_dict())


def _show(alma: "ALMA", result: "ConsolidationResult") -> None:
    out = console()
    for each in result.merge_details[:SHOWN]:
        stays, *others = each["merged_from"]
        verb = "would take in" if result.dry_run else "took in"
        out.print(table((stays, verb), [("", _text(alma, one)) for one in (stays, *others)]))
    if result.unsure:
        rows = [("/".join(each["ids"]), "\n".join(_text(alma, one) for one in each["ids"])) for each in result.unsure[:SHOWN]]
        out.print(table(("unsure", "which `alma review ID/ID` or a language model may judge"), rows))
    for pair in result.contradictions[:SHOWN]:
        rows = [("", _text(alma, one)) for one in pair["ids"]]
        out.print(table((" / ".join(pair["ids"]), printable(pair["reason"])), rows))
    out.print(printable(str(result)), soft_wrap=True)
    if result.journal_seq is not None:
        out.print(f"As record {result.journal_seq}; `alma undo --to {result.journal_seq - 1}` takes that back", soft_wrap=True)
    elif result.dry_run and result.merged_count:
        out.print("Nothing was changed; --apply merges them", soft_wrap=True)


def _text(alma: "ALMA", memory_id: str) -> str:
    """Returns the beginning of a memory's text, or the id of one that was merged."""
    try:
        return shortened(one_line(alma.get(memory_id).text), CHARS)
    except MemoryNotFoundError:
        return memory_id
