"""Reflection: what successful runs of like tasks did that failed ones did not, noted as lessons that later evidence keeps or retires."""

from alma import ALMA
from alma.memory.alma import opened_room
from alma.memory.arguments import checked_name, optional_label
from alma.text import one_line, shortened
from alma_knowledge.llm.configured import checked_model
from alma_knowledge.reflection.asking import ask_for_lessons
from alma_knowledge.reflection.contrasts import Difference, find_differences
from alma_knowledge.reflection.results import RETIRED, Lesson, ReflectionResult
from alma_knowledge.reflection.runs import Kind, read_kinds
from alma_knowledge.reflection.storing import check_entries, name_lessons, read_kept, store

TASK_CHARS = 120


def reflect(
    alma: ALMA, *, agent: str, task_type: str | None = None, llm: object = None, dry_run: bool = True
) -> ReflectionResult:
    """Compares an agent's runs, and without `dry_run` notes lessons and retires others, in one journal record."""
    room, owner = opened_room(alma), checked_name(agent, "agent")
    model = checked_model(alma, llm)
    before = model.used if model else None
    kinds, worths = read_kinds(room, owner, optional_label(task_type, "task_type"))
    runs = [kind.runs for kind in kinds]
    found = [_describe(kind, each) for kind, those in zip(kinds, find_differences(runs), strict=True) for each in those]
    said, rejected, errors = ask_for_lessons(model, runs) if model else ([], [], [])
    kept = read_kept(room, owner, worths)
    entries, refused = check_entries(room, owner, name_lessons(room, owner, [*found, *said], kept))
    retired = {key: each for key, each in kept.items() if each.lesson.status == RETIRED and not each.is_retired}
    new = [lesson for lesson, _ in entries.values()]
    seq, done = (None, new) if dry_run else store(room, owner, entries, retired)
    used = model.used if model else None
    return ReflectionResult(
        dry_run=dry_run,
        method="llm" if said else "steps",
        runs=sum(map(len, runs)),
        kinds=len(kinds),
        lessons=tuple(done),
        known=tuple(each.lesson for each in kept.values()),
        retired=tuple(each.lesson.id for each in retired.values()),
        rejected=(*rejected, *refused),
        errors=tuple(errors),
        journal_seq=seq,
        llm_calls=used.calls - before.calls if used and before else 0,
        tokens=used.tokens - before.tokens if used and before else 0,
    )


def _describe(kind: Kind, found: Difference) -> Lesson:
    """Returns a difference as a lesson, in a fixed sentence."""
    (won, own), (others_won, others) = found.with_it, found.without_it
    action = kind.wordings[found.key]
    quoted = next((run for run in reversed(kind.runs) if not run.is_doubtful), kind.runs[-1])
    having = [run.id for run in kind.runs if found.key in run.keys]
    return Lesson(
        id="",
        title=shortened(f"{'do' if found.is_good else 'avoid'}: {action}", TASK_CHARS),
        when=f"tasks like {shortened(one_line(quoted.text), TASK_CHARS)!r}",
        do=action if found.is_good else None,
        avoid=None if found.is_good else action,
        because=f"{won} of {own} runs with it succeeded, {others_won} of {others} without it",
        cites=tuple(dict.fromkeys([*having, quoted.id])),
        with_it=found.with_it,
        without_it=found.without_it,
        p=found.p,
    )
