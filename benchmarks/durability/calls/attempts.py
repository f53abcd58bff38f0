"""Calls of episodes."""

from collections.abc import Callable, Mapping

from alma import Episode
from benchmarks.durability.hands import STRATEGIES, TYPES, Attempt, Hand
from benchmarks.durability.intents import Intent, Made
from benchmarks.durability.stores import SHARED

ENDINGS = ("success", "failure", "partial", "unverified")
MOST_OPEN = 3


def begin(hand: Hand) -> None:
    """Begins an attempt; a deferred one is written with its first step."""
    if len(hand.attempts) >= MOST_OPEN:
        return end(hand)
    project, key = hand.project(), f"{hand.token()}e"
    kind, is_deferred = hand.chance.choice(TYPES), hand.chance.random() < 0.3
    # An episode that is given an id is written at once; a deferred one makes its own.
    intent = (
        Intent("episode deferred", project, hand.name)
        if is_deferred
        else Intent("episode", project, hand.name, ("episode_begin",), episode=(key, "open", 0))
    )
    through, given = hand.store(), None if is_deferred else key
    with hand.calling(intent):
        alma = hand.opens.view(through, project)
        episode = alma.episode(hand.name, hand.text(key), task_type=kind, episode_id=given, deferred=is_deferred)
        hand.attempts[episode.id] = Attempt(episode, through)
    return None


def step(hand: Hand) -> None:
    """One thing done; what fails for the first time becomes a memory, and so does what works after it."""
    found = _one(hand)
    if found is None:
        return begin(hand)
    episode, project = found
    token, ok = hand.token(), hand.chance.choice((True, False, None))
    lesson = Made(token, "outcome", hand.name, "", verdict="success" if ok else "failure", is_findable=False)
    # Whether a step becomes a memory is up to ALMA; a new tool that fails does.
    made = (lesson,) if ok is False else ()
    number = len(episode.steps) + 1
    intent = Intent("step", project, hand.name, ("episode_step",), made, episode=(episode.id, "open", number))
    with hand.calling(intent) as call:
        done = episode.step(f"turn the valve {token}", ok=ok, error=f"stuck {token}" if ok is False else None, tool=token)
        if made:
            assert done.memory_id is not None
            call.ids[token] = done.memory_id
    if not _is_acknowledged(hand, project, episode.id, number):
        _drop(hand, episode)
    return None


def end(hand: Hand) -> None:
    """Ends an attempt with a verdict, naming what was used of what was shown."""
    found = _one(hand)
    if found is None:
        return begin(hand)
    episode, project = found
    verdict, steps = hand.chance.choice(ENDINGS), len(episode.steps)
    usage = _use(hand, project, episode)
    token, tried = hand.token(), (episode.record.task_type or "", hand.chance.choice(STRATEGIES))
    made = (Made(token, "outcome", hand.name, "", verdict=verdict, tried=tried, is_findable=False),)
    intent = Intent("end", project, hand.name, ("episode_end",), made, usage=usage, episode=(episode.id, "ended", steps))
    _drop(hand, episode)
    with hand.calling(intent) as call:
        if usage:
            episode.used([memory_id for memory_id, counts in usage.items() if "used" in counts])
        record = episode.end(verdict, strategy=tried[1], feedback=f"seen by {token}")
        assert record.outcome_id is not None
        call.ids[token] = record.outcome_id
    return None


def abandon(hand: Hand) -> None:
    """Ends an attempt without a verdict."""
    found = _one(hand)
    if found is None:
        return begin(hand)
    episode, project = found
    _drop(hand, episode)
    operations = ("episode_abandon",)
    intent = Intent("abandon", project, hand.name, operations, episode=(episode.id, "abandoned", len(episode.steps)))
    with hand.calling(intent):
        episode.abandon("enough")
    return None


def suspend_and_resume(hand: Hand) -> None:
    """Lets go of an attempt, and takes it up again, most of the time."""
    found = _one(hand)
    if found is None:
        return begin(hand)
    episode, project = found
    steps = len(episode.steps)
    _drop(hand, episode)
    intent = Intent("suspend", project, hand.name, ("episode_suspend",), episode=(episode.id, "waiting", steps))
    with hand.calling(intent):
        episode.suspend()
    if hand.chance.random() < 0.3 or hand.state(project).now.episodes.get(episode.id, ("", 0))[0] != "waiting":
        return None
    intent = Intent("resume_episode", project, hand.name, ("episode_resume",), episode=(episode.id, "open", steps))
    through = hand.store()
    with hand.calling(intent):
        resumed = hand.opens.view(through, project).resume_episode(episode.id)
        hand.attempts[episode.id] = Attempt(resumed, through)
    return None


def settle(hand: Hand) -> None:
    """Corrects the verdict of an attempt that has ended, and of the memory of it."""
    project = hand.chance.choice((SHARED, hand.solo))
    state = hand.state(project)
    ended = sorted(key for key, (status, _) in state.now.episodes.items() if status == "ended")
    if not ended:
        return
    key, verdict = hand.chance.choice(ended), hand.chance.choice(ENDINGS)
    try:
        before = hand.alma(project).get_episode(key)
    except Exception:  # noqa: BLE001 - the call below fails the same way, and is noted
        before = None
    if before is not None and (before.outcome_id is None or before.outcome == verdict or before.outcome_id not in state.now.held):
        return
    verdicts = {} if before is None or before.outcome_id is None else {before.outcome_id: verdict}
    with hand.calling(Intent("settle", project, hand.name, ("settle",), verdicts=verdicts)):
        hand.alma(project).settle(key, verdict)


def _one(hand: Hand) -> tuple[Episode, str] | None:
    """One of the attempts under way, with its project."""
    if not hand.attempts:
        return None
    episode = hand.attempts[hand.chance.choice(sorted(hand.attempts))].episode
    return episode, episode.record.project_id


def _drop(hand: Hand, episode: Episode) -> None:
    hand.attempts.pop(episode.id, None)


def _is_acknowledged(hand: Hand, project: str, key: str, steps: int) -> bool:
    return hand.state(project).now.episodes.get(key) == ("open", steps)


def _use(hand: Hand, project: str, episode: Episode) -> dict[str, dict[str, int]]:
    """What is to be counted: the first of what was shown as used, the rest as passed over. Nothing, where nothing was shown."""
    live = hand.state(project).live
    shown = [exposure.memory_id for exposure in episode.record.shown]
    usage = {memory_id: {"ignored": 1} for memory_id in shown if memory_id in live}
    first = next(iter(usage), None)
    if first is None:
        return {}
    return usage | {first: {"used": 1}}


CALLS: Mapping[Callable[[Hand], None], int] = {
    begin: 4,
    step: 6,
    end: 4,
    abandon: 1,
    suspend_and_resume: 2,
    settle: 2,
}
