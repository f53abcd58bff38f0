"""Access to what was recorded and what went wrong, for objects that users do not construct."""

from alma_integration import Identity, Integration, Learning, RunContext, identified


class Recorded(Learning):
    """Errors of ALMA and the last report of a decorated function or a remembered client: its attribute `learning`."""

    def __init__(self, integration: Integration) -> None:
        self._integration = integration


def ids_of(
    integration: Integration, context: RunContext, *, run_id: Identity = None, thread_id: Identity = None
) -> dict[str, str | None]:
    """Returns the ids of a run: as given, else those that its context has. One that is no name is left out, with a warning."""
    found: dict[str, str | None] = {"run_id": None, "thread_id": None}
    for name, given in (("run_id", run_id), ("thread_id", thread_id)):
        with integration.guard(f"the {name} of a run was not read"):
            found[name] = identified(given, name, context)
    return found
