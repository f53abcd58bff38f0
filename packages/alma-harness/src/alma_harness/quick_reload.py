"""A hand-off as lines of a prompt."""

from collections.abc import Iterator

from alma_harness.fitting import checked_budget, fitted_notes, line_of
from alma_harness.session_values import Handoff


def handoff_lines(handoff: Handoff) -> Iterator[str]:
    """Yields what the next session needs, most important first."""
    yield line_of("Last goal", handoff.goal)
    if handoff.is_crash:
        yield "Last session: it has not ended; check what it left half done."
    if handoff.last_action:
        outcome = f" ({handoff.last_outcome})" if handoff.last_outcome else ""
        yield line_of("Last action", handoff.last_action) + outcome
    for label, items in (
        ("Blocker", handoff.blockers),
        ("Next step", handoff.next_steps),
        ("Decision", handoff.key_decisions),
        ("File", handoff.active_files),
    ):
        yield from (line_of(label, item) for item in items)


def quick_reload(handoff: Handoff | None, max_tokens: object) -> str:
    """Returns the hand-off as fenced notes of at most `max_tokens`."""
    budget = checked_budget(max_tokens)
    return "" if handoff is None else fitted_notes(handoff_lines(handoff), budget)
