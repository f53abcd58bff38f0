"""Calls that read while others write. Their answers are looked at, too."""

from collections.abc import Callable, Mapping

from benchmarks.durability.hands import STRATEGIES, TYPES, Hand
from benchmarks.durability.intents import Intent, Made


def retrieve(hand: Hand) -> None:
    """A memory of this hand is found by its own text."""
    project = hand.project()
    found = _findable(hand, project)
    if found is None:
        return
    memory_id, made = found
    with hand.calling(Intent("retrieve", project)):
        user = made.owner if made.is_user else None
        if memory_id not in hand.alma(project).retrieve(made.text, hand.name, user_id=user, profile="recall").ids:
            hand.ledger.complain(f"{project}: {made.kind} {memory_id} is not found by its own text {made.text[:60]!r}")


def advise(hand: Hand) -> None:
    """What was tried, and what is to be thought of doing it again."""
    project = hand.project()
    with hand.calling(Intent("strategies, check, assess", project)):
        alma = hand.alma(project)
        alma.strategies("replace the lamp of the lighthouse", hand.name)
        alma.check(hand.name, hand.chance.choice(STRATEGIES))
        alma.assess(hand.chance.choice(STRATEGIES), "a lamp", hand.name, task_type=TYPES[0])


def look_back(hand: Hand) -> None:
    """The history of a memory, and why it is found."""
    project = hand.project()
    found = _findable(hand, project)
    if found is None:
        return
    memory_id, made = found
    with hand.calling(Intent("history, explain, list", project)):
        alma = hand.alma(project)
        if not alma.history(memory_id):
            hand.ledger.complain(f"{project}: {memory_id} has no history")
        alma.explain_retrieval(made.text, memory_id, hand.name)
        alma.list_memories(agent=hand.name, limit=20)
        alma.recent_episodes(5)


def verify(hand: Hand) -> None:
    """Nothing is wrong at any moment."""
    with hand.calling(Intent("verify")):
        problems = hand.store().verify().problems
        if problems:
            hand.ledger.complain(f"verify: {'; '.join(map(str, problems[:3]))}")


def _findable(hand: Hand, project: str) -> tuple[str, Made] | None:
    live = sorted(memory_id for memory_id, made in hand.state(project).live.items() if made.is_findable)
    if not live:
        return None
    memory_id = hand.chance.choice(live)
    return memory_id, hand.state(project).live[memory_id]


CALLS: Mapping[Callable[[Hand], None], int] = {retrieve: 6, advise: 2, look_back: 2, verify: 1}
