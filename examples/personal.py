"""What a person may ask of their own days: mood by weekday, and energy after runs before and after eight.

Each event is a dated relation of the user's own entity, with its figures. The answers are arithmetic; no model is asked.
"""

import random
import tempfile
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from statistics import mean

from alma import ALMA
from alma.graph import Graph, Relationship

ME = {"agent": "diary", "user_id": "me"}
MONDAY = datetime(2026, 9, 7, tzinfo=UTC)


def note(graph: Graph, what: str, at: datetime, **figures: float) -> None:
    """Keeps an event of the user: what it was, when, and its figures."""
    graph.relate(
        "me",
        what,
        f"{what} at {at:%Y-%m-%d %H:%M}",
        valid_from=at,
        source_type="user",
        target_type="event",
        properties=figures,
        **ME,
    )


def events(graph: Graph, what: str) -> list[Relationship]:
    """Returns the events of a sort, oldest first."""
    return [one for one in graph.timeline("user:me", **ME) if one.relation_type == what]


def mood_by_weekday(graph: Graph) -> dict[str, float]:
    """Returns the mean mood of each day of the week."""
    days = defaultdict(list)
    for one in events(graph, "felt"):
        days[f"{one.valid_from:%A}"].append(one.properties["mood"])
    return {day: round(mean(moods), 1) for day, moods in days.items()}


def energy_after_runs(graph: Graph) -> tuple[float, float]:
    """Returns the mean energy after runs before eight, and after later ones."""
    early, late = (
        [one.properties["energy"] for one in events(graph, "ran") if (one.valid_from.hour < 8) is is_early]
        for is_early in (True, False)
    )
    return round(mean(early), 1), round(mean(late), 1)


with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="diary") as alma:
    rnd = random.Random(7)
    for number in range(28):
        day = MONDAY + timedelta(days=number)
        note(
            alma.graph, "felt", day.replace(hour=20), mood=3 + (day.weekday() >= 5) - (day.weekday() == 0) + rnd.choice((0, 0, 1))
        )
        if number % 2 == 0:
            hour = rnd.choice((6, 7, 12, 18))
            note(
                alma.graph,
                "ran",
                day.replace(hour=hour, minute=30),
                km=5,
                energy=4 + rnd.choice((0, 1)) if hour < 8 else 2 + rnd.choice((0, 1)),
            )

    moods = mood_by_weekday(alma.graph)
    print("Mood by day:", ", ".join(f"{day} {mood}" for day, mood in moods.items()))
    assert min(moods, key=moods.__getitem__) == "Monday"

    before, after = energy_after_runs(alma.graph)
    print(f"Energy after runs before 8: {before}; later: {after}")
    assert before > after

    assert alma.graph.entities(agent="diary", user_id="somebody else") == [], "another user sees none of it"
