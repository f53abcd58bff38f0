"""How far a rule is believed, in the words of a prompt. They claim no more than the figures do, whatever the base rate."""

from alma.learning.levels import EVEN, Level, Row, Than
from alma.types.kinds import Standing
from alma.types.sentences import EXACT

AVOIDED = 0.9
"""A strategy is to be avoided if at 90 % (one-sided) it succeeds less than half the time. Any other one only fails more often than something."""

MOST_SURE = 0.99


def said_of(row: Row, level: Level, *, works: bool) -> dict[str, object]:
    """Returns what the metadata of a rule says of how far it is believed: on how many `tasks` its counts are, how `sure`, in words (`said`), and
    how it is named.

    A proof may rest on other tasks too: their number is in the words. Its `successes` are given where they are no whole number, with the trials
    that they are of.
    """
    sure = {} if level.standing is Standing.CANDIDATE else {"sure": round(level.sure, 3)}
    words = _believed(level, "better", "works") if works else _believed(level, "worse", "fails")
    if works and level.than is Than.OTHERS and row.lifetime.rate < EVEN:
        words = f"{words}; failed more often than not, but less often than the others"
    named = {} if works else {"caution": anti_pattern_name(row, level)}
    successes = row.lifetime.successes
    halves = {} if float(successes).is_integer() else {EXACT: [successes, row.lifetime.trials]}
    return {"tasks": row.tasks, **halves, **sure, "said": words, **named}


def anti_pattern_name(row: Row, level: Level) -> str:
    """ "Avoid" for what fails, else "Fails more often than …" with what it is compared with: most of its tries may succeed.

    `level` is that of the anti-pattern.
    """
    if row.recent.upper(AVOIDED) < EVEN and row.lifetime.rate < EVEN:
        return "Avoid"
    return "Fails more often than not" if level.than is Than.HALF else f"Fails more often than {level.than}"


def _believed(level: Level, compared: str, does: str) -> str:
    if level.standing is Standing.PROVEN:
        return f"proven over {_tasks(level.tasks)}"
    if level.standing is not Standing.LIKELY:
        return level.standing.value
    claim = f"{does} more often than not" if level.than is Than.HALF else f"{compared} than {level.than}"
    return f"likely: {claim} ({min(level.sure, MOST_SURE):.0%} sure, {_tasks(level.tasks)})".replace("%", " %")


def _tasks(number: int) -> str:
    return "1 task" if number == 1 else f"{number} tasks"
