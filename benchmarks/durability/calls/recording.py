"""Calls that record."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from alma import ConflictError, CustomMemoryType, DomainKnowledge, Heuristic, MemoryNotFoundError
from alma.types.memories import Draft, Memory, Passage
from benchmarks.durability.hands import STRATEGIES, TYPES, Hand
from benchmarks.durability.intents import Intent, Made
from benchmarks.durability.states import CROWD, KEYED
from benchmarks.durability.stores import SHARED

VERDICTS = ("success", "success", "failure", "partial", "unverified")
COUNTER = "counter"
OF_ALL = "note_of_all"
"""A kind of memory that all hands define."""

SHARED_KEYS = 40
RECORDS = "torture"
"""The kind of the small records that hands keep."""


def tried(hand: Hand, *, owner: str | None = None) -> Made:
    """An outcome of a known strategy for a known type of task."""
    what = (hand.chance.choice(TYPES), hand.chance.choice(STRATEGIES))
    return hand.made("outcome", owner=owner or hand.name, tried=what, verdict=hand.chance.choice(VERDICTS))


def arguments(made: Made) -> dict[str, object]:
    """The arguments of `learn` for it."""
    assert made.tried is not None
    return {
        "agent": made.owner,
        "task": made.text,
        "outcome": made.verdict,
        "strategy_used": made.tried[1],
        "task_type": made.tried[0],
        "task_id": f"{made.tried[0]} {made.token[-1]}",  # few tasks, so that a row counts more than one outcome
    }


def learn(hand: Hand) -> None:
    """An outcome of this hand."""
    _learn(hand, hand.project(), tried(hand))


def learn_for_all(hand: Hand) -> None:
    """An outcome of the agent that all hands learn for, so that all count in the same rows."""
    _learn(hand, SHARED, tried(hand, owner=CROWD))


def learn_twice_by_key(hand: Hand) -> None:
    """The same outcome sent twice under one key."""
    made, project = tried(hand), hand.project()
    given = {**arguments(made), "idempotency_key": f"key of {made.token}"}
    with hand.calling(Intent("learn by key", project, hand.name, ("learn",), (made,))) as call:
        first = hand.alma(project).learn(**given).id  # type: ignore[arg-type] # by name
        call.ids[made.token] = first
    if not call.ids:
        return
    with hand.calling(Intent("learn by key again", project, hand.name)):
        again = hand.alma(project).learn(**given).id  # type: ignore[arg-type] # by name
        if again != first:
            hand.ledger.complain(f"the key of {made.token} gave {again} after {first}")


def _is_back(hand: Hand) -> bool:
    """Whether an undo of an undo brought the kind back."""
    with hand.calling(Intent("memory_types", hand.solo)):
        if kind_of(hand).name in hand.alma(hand.solo).memory_types():
            hand.knows_kind.add(hand.solo)
    return hand.solo in hand.knows_kind


def learn_by_key_of_all(hand: Hand) -> None:
    """An outcome that other hands send too, under the same key: whoever comes first makes it, and all are given the same."""
    number = hand.chance.randrange(SHARED_KEYS)
    made = Made(f"zzkeyed{number}q", "outcome", KEYED, f"tune the piano zzkeyed{number}q", verdict="success")
    with hand.calling(Intent("learn by key of all", SHARED, KEYED, ("learn",), (made,))) as call:
        given = {"agent": KEYED, "task": made.text, "outcome": "success", "idempotency_key": made.token}
        call.ids[made.token] = hand.alma(SHARED).learn(**given).id  # type: ignore[arg-type] # by name


def _learn(hand: Hand, project: str, made: Made) -> None:
    with hand.calling(Intent("learn", project, made.owner, ("learn",), (made,))) as call:
        call.ids[made.token] = hand.alma(project).learn(**arguments(made)).id  # type: ignore[arg-type] # by name


def learn_many(hand: Hand) -> None:
    """A dozen outcomes or more in one call."""
    project, owner = hand.chance.choice(((hand.solo, hand.name), (SHARED, hand.name), (SHARED, CROWD)))
    made = tuple(tried(hand, owner=owner) for _ in range(hand.chance.choice((2, 12, 30))))
    with hand.calling(Intent("learn_many", project, owner, ("learn_many",), made)) as call:
        outcomes = hand.alma(project).learn_many(map(arguments, made))
        call.ids = {one.token: outcome.id for one, outcome in zip(made, outcomes, strict=True)}


def add_knowledge(hand: Hand) -> None:
    """A fact, a short or a long one, or one with passages of its own."""
    project, words = hand.project(), hand.chance.choice((7, 7, 900))
    made = hand.made("domain_knowledge", words=words)
    passages = [Passage(text=made.text, speaker="user")] if hand.chance.random() < 0.3 else None
    if passages:
        passages.append(Passage(text=hand.text("heard"), speaker="assistant", position=1, is_own=False))
    with hand.calling(Intent("add_domain_knowledge", project, hand.name, ("add_domain_knowledge",), (made,))) as call:
        call.ids[made.token] = hand.alma(project).add_domain_knowledge(hand.name, "orchards", made.text, passages=passages).id


def add_heuristic(hand: Hand) -> None:
    """A stated strategy."""
    project, made = hand.project(), hand.made("heuristic")
    with hand.calling(Intent("add_heuristic", project, hand.name, ("add_heuristic",), (made,))) as call:
        call.ids[made.token] = hand.alma(project).add_heuristic(hand.name, made.text, f"do so: {made.token}").id


def add_anti_pattern(hand: Hand) -> None:
    """A stated warning."""
    project, made = hand.project(), hand.made("anti_pattern")
    with hand.calling(Intent("add_anti_pattern", project, hand.name, ("add_anti_pattern",), (made,))) as call:
        call.ids[made.token] = hand.alma(project).add_anti_pattern(hand.name, made.text, "it leaks", "do not").id


def add_preference(hand: Hand) -> None:
    """What a user wants."""
    project, user = hand.project(), f"user-{hand.name}"
    made = hand.made("user_preference", owner=user, is_user=True)
    with hand.calling(Intent("add_user_preference", project, hand.name, ("add_user_preference",), (made,))) as call:
        call.ids[made.token] = hand.alma(project).add_user_preference(user, "style", made.text, agent=hand.name).id


def add_custom(hand: Hand) -> None:
    """A memory of a kind that this hand registered."""
    project, kind = hand.project(), kind_of(hand).name
    if project not in hand.knows_kind:
        return register(hand)
    made = hand.made(kind)
    fields = {"title": made.token, "summary": made.text, "date": datetime(2026, 3, 4, tzinfo=UTC)}
    with hand.calling(Intent("add", project, hand.name, ("add",), (made,))) as call:
        call.ids[made.token] = hand.alma(project).add(kind, agent=hand.name, **fields).id  # type: ignore[arg-type] # by name
    return None


def add_many(hand: Hand) -> None:
    """Memories of several kinds, with ids that are known before."""
    project = hand.project()
    facts = [hand.made("domain_knowledge") for _ in range(hand.chance.choice((1, 4, 15)))]
    rule = hand.made("heuristic")
    memories = [DomainKnowledge(agent=hand.name, domain="orchards", fact=made.text) for made in facts]
    drafts = [Draft(memory=memory, passages=(Passage(text=memory.fact),)) for memory in memories[1:]]
    items: list[Memory | Draft] = [
        memories[0],
        Heuristic(agent=hand.name, condition=rule.text, strategy=f"do so: {rule.token}"),
        *drafts,
    ]
    made = (facts[0], rule, *facts[1:])
    with hand.calling(Intent("add_many", project, hand.name, ("add_many",), made)) as call:
        ids = hand.alma(project).add_many(items)
        call.ids = dict(zip((one.token for one in made), ids, strict=True))


def kind_of(hand: Hand) -> CustomMemoryType:
    """The kind of memory that this hand defines."""
    fields = {"title": str, "summary": str, "date": datetime}
    return CustomMemoryType(name=f"note_{hand.name}", fields=fields, embedding_fields=["summary"])


def register(hand: Hand) -> None:
    """Defines the hand's own kind in a project where it has not yet done so, and grows one that all hands define at the same time."""
    for project in (SHARED, hand.solo):
        if project in hand.knows_kind:
            continue
        if project == hand.solo and _is_back(hand):
            continue
        with hand.calling(Intent("register_memory_type", project, "", ("register_memory_type",))):
            hand.alma(project).register_memory_type(kind_of(hand))
            hand.knows_kind.add(project)
    if OF_ALL in hand.knows_kind:
        return
    fields = {"summary": str, f"seen_by_{hand.name}": str | None}
    shared = CustomMemoryType(name=OF_ALL, fields=fields, embedding_fields=["summary"])
    with hand.calling(Intent("register_memory_type", SHARED, "", ("register_memory_type",))):
        hand.alma(SHARED).register_memory_type(shared)
        hand.knows_kind.add(OF_ALL)


def use(hand: Hand) -> None:
    """Counts what was used of what was shown."""
    project = hand.project()
    live = sorted(memory_id for memory_id, made in hand.state(project).live.items() if not made.is_user)
    shown = hand.chance.sample(live, min(len(live), 5))
    if not shown:
        return
    usage = {memory_id: {"ignored": 1} for memory_id in shown} | {shown[0]: {"used": 1}}
    with hand.calling(Intent("record_usage", project, hand.name, ("record_usage",), usage=usage)):
        report = hand.alma(project).record_usage(shown, shown[:1], agent=hand.name)
        if report.unknown:
            raise MemoryNotFoundError(f"record_usage does not know {report.unknown}, which were made before")


def give_feedback(hand: Hand) -> None:
    """Counts what somebody said of a memory."""
    project = hand.project()
    live = sorted(memory_id for memory_id, made in hand.state(project).live.items() if not made.is_user)
    if not live:
        return
    memory_id, signal = hand.chance.choice(live), hand.chance.choice(("thumbs_up", "thumbs_down"))
    intent = Intent("record_feedback", project, hand.name, ("record_feedback",), usage={memory_id: {signal: 1}})
    with hand.calling(intent):
        hand.alma(project).record_feedback(memory_id, signal=signal, agent=hand.name)


def keep_record(hand: Hand) -> None:
    """The next version of a small record of this hand."""
    project = hand.project()
    version = hand.state(project).now.saved.get(hand.name, 0)
    with hand.calling(Intent("put_record", project, hand.name, ("save",), saves=(hand.name, version + 1))):
        room = hand.alma(project)._room
        with room.project.write(actor=hand.name, operation="save", at=room.now()) as write:
            write.put_record(RECORDS, hand.name, {"step": version + 1}, version=version)


def count_together(hand: Hand) -> None:
    """Adds one to a counter that all hands change: whoever read an older version is refused."""
    with hand.calling(Intent("put_record of all", SHARED, COUNTER, ("save",)), ConflictError):
        room = hand.alma(SHARED)._room
        version, _ = room.project.record(RECORDS, [COUNTER])[COUNTER]
        with room.project.write(actor=COUNTER, operation="save", at=room.now()) as write:
            write.put_record(RECORDS, COUNTER, {"step": version + 1}, version=version)


CALLS: Mapping[Callable[[Hand], None], int] = {
    learn: 12,
    learn_for_all: 6,
    learn_twice_by_key: 2,
    learn_by_key_of_all: 2,
    learn_many: 3,
    add_knowledge: 4,
    add_heuristic: 2,
    add_anti_pattern: 2,
    add_preference: 2,
    add_custom: 2,
    add_many: 2,
    use: 4,
    give_feedback: 2,
    keep_record: 2,
    count_together: 2,
}
