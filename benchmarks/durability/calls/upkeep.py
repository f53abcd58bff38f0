"""Calls that look after what is kept: forgetting, undoing, taking it elsewhere, rewriting the files."""

from collections.abc import Callable, Mapping

from alma import ConflictError
from alma.embedding import HashEmbedder
from alma.types.reports import MOST_NAMED
from benchmarks.durability.hands import Hand
from benchmarks.durability.intents import Intent, Made
from benchmarks.durability.states import CROWD
from benchmarks.durability.stores import SHARED, WINDOW

DIMENSIONS = (48, 64, 80)


def forget(hand: Hand) -> None:
    """Archives some memories by id."""
    project = hand.project()
    live = _own(hand.state(project).live)
    ids = tuple(hand.chance.sample(live, min(len(live), hand.chance.choice((1, 3)))))
    if not ids:
        return
    with hand.calling(Intent("forget", project, hand.name, ("forget",), archives=ids)):
        hand.alma(project).forget(hand.name, memory_ids=ids)


def forget_by_policy(hand: Hand) -> None:
    """Archives all outcomes of this hand in a project: those that happened before now."""
    project = hand.project()
    outcomes = {memory_id for memory_id, made in hand.state(project).live.items() if made.kind == "outcome"}
    ids: tuple[str, ...] = ()
    with hand.calling(Intent("forget by policy, dry run")):
        ids = hand.alma(project).forget(hand.name, older_than_days=0, below_confidence=None, dry_run=True).memory_ids
    if outcomes != set(ids) and not hand.is_timeless:
        hand.ledger.complain(f"forget by policy finds {sorted(outcomes ^ set(ids))[:5]} more or less than it should")
    if not ids or hand.is_timeless:
        return
    with hand.calling(Intent("forget by policy", project, hand.name, ("forget",), archives=ids)):
        hand.alma(project).forget(hand.name, older_than_days=0, below_confidence=None)


def purge(hand: Hand) -> None:
    """Erases memories that nothing was learned from, archived ones too."""
    project = hand.project()
    held = {memory_id: each.made for memory_id, each in hand.state(project).now.held.items() if each.made.kind != "outcome"}
    ids = tuple(hand.chance.sample(_own(held), min(len(_own(held)), hand.chance.choice((1, 2)))))
    if not ids:
        return
    with hand.calling(Intent("purge", project, hand.name, ("purge",), purges=ids)):
        hand.alma(project).purge(ids, agent=hand.name)


def undo(hand: Hand) -> None:
    """Takes back what this hand did since a mark, another undo perhaps; in its own project, all that was done since."""
    project = hand.project()
    marks = sorted(hand.state(project).marks)
    if not marks:
        return hand.mark(project)
    to = hand.chance.choice(marks[-4:])
    _drop_episodes(hand, project)
    if project == hand.solo:
        hand.knows_kind.discard(project)
    actor = hand.name if project == SHARED else ""
    with hand.calling(Intent("undo", project, actor, ("undo",), undoes_to=to), ConflictError) as call:
        call.wrote = hand.alma(project).undo(to, actor=actor or None).seq is not None
    return None


def mark(hand: Hand) -> None:
    """Remembers where a later undo may go back to."""
    hand.mark(hand.project())


def export_and_import(hand: Hand) -> None:
    """The own project to a file, and from there into a new project. What is in two projects is not purged any more."""
    state, target = hand.state(hand.solo), hand.files / f"{hand.name}.export"
    if not state.now.held:
        return
    with hand.calling(Intent("export")) as call:
        hand.alma(hand.solo).export(target, vectors=hand.chance.random() < 0.5)
        call.ids["file"] = str(target)
    if not call.ids:
        return
    copy = f"copy-{hand.token()}"
    with hand.calling(Intent("import_from", copy, "", ("import",), copies=hand.solo)):
        hand.alma(copy).import_from(target)
    if (copy, hand.name) in hand.states and not hand.attempts:
        _compare(hand, copy)


def _compare(hand: Hand, copy: str) -> None:
    """An import says the same as what was exported, but for who holds an open episode, when it was maintained, and definitions' versions."""
    with hand.calling(Intent("history, explain, list", hand.solo)):
        mine, theirs = (len(hand.alma(name).list_memories(limit=10_000)) for name in (hand.solo, copy))
        if mine != theirs:
            hand.ledger.complain(f"{copy} lists {theirs} memories, {hand.solo} {mine}")


def maintain(hand: Hand) -> None:
    """Has the oldest outcomes go, in the own project: there nobody else's are."""
    beyond = sum(made.kind == "outcome" for made in hand.state(hand.solo).live.values()) - WINDOW
    if beyond > MOST_NAMED:
        return
    ids: tuple[str, ...] = ()
    with hand.calling(Intent("maintain, dry run")):
        rules = hand.alma(hand.solo).maintain(dry_run=True).rules
        ids = tuple(memory_id for rule in rules for memory_id in rule.memory_ids)
    if len(ids) != max(beyond, 0):
        hand.ledger.complain(f"maintain would archive {len(ids)} outcomes, not {beyond}")
        return
    with hand.calling(Intent("maintain", hand.solo, "", ("maintain",), archives=ids)):
        hand.alma(hand.solo).maintain()


def compact(hand: Hand) -> None:
    """Rewrites the files."""
    with hand.calling(Intent("compact")):
        hand.store().compact()


def backup(hand: Hand) -> None:
    """A copy of the store while others write, if this version of ALMA can make one."""
    store = hand.store()
    make = getattr(store, "backup", None)
    if make is None:
        return export_and_import(hand)
    target = hand.files / f"{hand.name}.backup"
    target.unlink(missing_ok=True)
    with hand.calling(Intent("backup")) as call:
        least = store.get_stats().journal_records
        report = make(target)
        call.ids = {"file": str(target)} | {name: str(seq) for name, seq in report.heads.items() if seq}
        if report.heads.get(SHARED, 0) < least:
            hand.ledger.complain(f"a backup has {report.heads.get(SHARED)} records; there were {least} before it began")
    return None


def reindex(hand: Hand) -> None:
    """The whole store under another embedder."""
    dimension = hand.chance.choice(DIMENSIONS)
    with hand.calling(Intent("reindex"), ConflictError):  # another hand does so, too
        hand.store().reindex(HashEmbedder(dimension))


def _own(made: Mapping[str, Made]) -> list[str]:
    return sorted(memory_id for memory_id, each in made.items() if not each.is_user and each.owner != CROWD)


def _drop_episodes(hand: Hand, project: str) -> None:
    """What is under way may be undone: nothing more is done with it."""
    hand.attempts = {key: each for key, each in hand.attempts.items() if each.episode.record.project_id != project}


CALLS: Mapping[Callable[[Hand], None], int] = {
    forget: 3,
    forget_by_policy: 1,
    purge: 3,
    undo: 5,
    mark: 4,
    export_and_import: 1,
    maintain: 1,
    compact: 1,
    backup: 1,
}
