"""`alma show`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, table
from alma_cli.slices import record_of

if TYPE_CHECKING:
    from alma.types.memories import AnyMemory


def show(
    memory_id: Annotated[str, typer.Argument(help="The memory's id, as in `alma list` and `alma retrieve --json`.")],
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show all that is kept of one memory, and where it comes from. With --json, the memory alone.

    \b
    Examples:
      alma show 0199b0f2-6c1e-7a30-8d4f-3b1c9f0a2d55
      alma show 0199b0f2-6c1e-7a30-8d4f-3b1c9f0a2d55 --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        memory = alma.get(memory_id)
        provenance = alma.provenance(memory_id)
    if json:
        print_json(memory.model_dump(mode="json"))
        return
    record = record_of(memory)
    fields = {**_fields(memory), **({"record": record} if record else {}), "where from": provenance.lines()}
    console().print(table(("field", "value"), ((name, _shown(value)) for name, value in fields.items())))


def _fields(memory: "AnyMemory") -> dict[str, Any]:
    """Returns every field that is not empty, with the fields of a registered kind."""
    from alma.types import CustomMemory

    values = memory.model_dump(mode="json", exclude={"fields", "definition"})
    own = memory.definition.plain(memory.fields) if isinstance(memory, CustomMemory) else {}
    return {name: value for name, value in {**values, **own}.items() if value not in (None, "", {}, [])}


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name}: {text}" for name, text in value.items())
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)
