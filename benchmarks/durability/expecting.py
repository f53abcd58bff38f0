"""From the ledgers to what the store has to hold, once it is settled which of the calls in doubt have landed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from benchmarks.durability.findings import Findings
from benchmarks.durability.intents import Done, Made
from benchmarks.durability.ledgers import Account
from benchmarks.durability.sights import Sight
from benchmarks.durability.states import KEYED, State, States, apply

Stream = tuple[str, str | None]
"""Records that have one order: those of an actor in a shared project; all of a project that one hand has for itself."""


@dataclass(slots=True)
class Expected:
    """What should be there: the states of all hands, the words of calls that must have left nothing, and how often the shared counter went up."""

    states: dict[str, States] = field(default_factory=dict)
    unmade: set[str] = field(default_factory=set)
    landed: Counter[str] = field(default_factory=Counter)
    counted: int = 0
    may_count: int = 0

    def of(self, project: str) -> list[State]:
        """The states that are about a project."""
        return [state for states in self.states.values() for (name, _), state in states.items() if name == project]


def expected(accounts: Sequence[Account], seen: Mapping[str, Sight], findings: Findings) -> Expected:
    """What the accounts say should be there. Calls that the journal does not have are found lost here, and those that it has too many."""
    result = Expected()
    actual = _streams(seen)
    for account in accounts:
        landed = _landed(account, actual, findings)
        states: States = {}
        result.states[account.hand] = states
        for line in account.lines:
            if not isinstance(line, Done):
                states.setdefault((line[0], account.hand), State()).mark(line[1])
            elif line.fate == "acknowledged":
                _apply(states, line, line.ids, account, findings)
            elif line.fate == "unknown" and _has_landed(line, account, seen, findings, is_journalled=landed):
                result.landed[line.intent.call] += 1
                _apply(states, line, _ids(line, seen, findings), account, findings)
            elif line.intent.actor != KEYED:  # another may have made what this one did not
                result.unmade |= {made.token for made in line.intent.made}
            _count_together(result, line)
    _compare_shared(accounts, actual, findings)
    return result


def _apply(states: States, done: Done, ids: Mapping[str, str], account: Account, findings: Findings) -> None:
    try:
        apply(states, done.intent, ids, hand=account.hand)
    except KeyError as error:
        findings.add("half", f"{account.hand}: {done.intent.call} landed, but {error} is not there")
        findings.half_calls[done.intent.call] += 1


def _streams(seen: Mapping[str, Sight]) -> dict[Stream, list[str]]:
    """The operations of each stream, oldest first. An import writes as many records as it needs: they count as one."""
    streams: dict[Stream, list[str]] = defaultdict(list)
    for name, sight in seen.items():
        for _, actor, operation in sight.journal:
            stream = streams[_stream(name, actor)]
            if not (operation == "import" and stream):
                stream.append(operation)
    return streams


def _stream(project: str, actor: str) -> Stream:
    return (project, None) if project.startswith(("solo-", "copy-")) else (project, actor)


def _landed(account: Account, actual: Mapping[Stream, Sequence[str]], findings: Findings) -> bool:
    """Whether the call in doubt has its record. Compares every stream that this hand alone wrote."""
    expected: dict[Stream, list[tuple[str, str]]] = defaultdict(list)
    for done in account.calls:
        stream = _stream(done.intent.project, done.intent.actor)
        if done.fate == "acknowledged" and done.wrote and (stream[1] is None or stream[1] == account.hand):
            expected[stream] += [(name, done.intent.call) for name in done.intent.operations]
    doubt = next((done for done in account.calls if done.fate == "unknown"), None)
    in_doubt = None if doubt is None else _stream(doubt.intent.project, doubt.intent.actor)
    if in_doubt is not None and in_doubt[1] not in (None, account.hand):  # not in a stream of this hand
        in_doubt = None
    has_landed = False
    for stream in {*expected, *([in_doubt] if in_doubt else [])}:
        found = list(actual.get(stream, ()))
        wanted = [name for name, _ in expected[stream]]
        extra = list(doubt.intent.operations) if doubt and stream == in_doubt else []
        if extra and found == wanted + extra:
            has_landed = True
        elif found != wanted:
            _tell_difference(account, stream, expected[stream], found, findings)
    findings.checked["journal streams"] += len(expected)
    return has_landed


def _tell_difference(
    account: Account, stream: Stream, wanted: Sequence[tuple[str, str]], found: Sequence[str], findings: Findings
) -> None:
    matcher = SequenceMatcher(None, [name for name, _ in wanted], list(found), autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag in ("delete", "replace"):
            for name, call in wanted[first:last]:
                findings.add("lost", f"{account.hand}: {call} in {stream[0]} was acknowledged; the journal has no {name} of it")
                findings.lost_calls[call] += 1
        if tag in ("insert", "replace"):
            findings.add(
                "phantom", f"{account.hand}: the journal of {stream[0]} has {found[begin:end]}, of no call that returned"
            )


def _has_landed(done: Done, account: Account, seen: Mapping[str, Sight], findings: Findings, *, is_journalled: bool) -> bool:
    """Whether a call in doubt is in the store. Where the journal says whose records are whose, memories have to say the same."""
    is_there, actor = _is_there(done, seen), _stream(done.intent.project, done.intent.actor)[1]
    is_own = actor is None or actor == account.hand
    if is_own and done.intent.made and is_there != is_journalled:
        findings.add("half", f"{account.hand}: {done.intent.call} has {'memories' if is_there else 'a journal record'} alone")
        findings.half_calls[done.intent.call] += 1
    return is_there or (is_own and is_journalled)


def _is_there(done: Done, seen: Mapping[str, Sight]) -> bool:
    """Whether a memory of a call in doubt is there. Of those calls that many hands make as one actor, the journal does not say whose they are."""
    sight = seen.get(done.intent.project)
    return bool(sight and done.intent.made and _found(done.intent.made[0], sight))


def _found(made: Made, sight: Sight) -> str | None:
    return next((memory_id for memory_id, memory in sight.memories.items() if made.token in str(memory["body"])), None)


def _ids(done: Done, seen: Mapping[str, Sight], findings: Findings) -> dict[str, str]:
    """The ids of what a call in doubt has made. A memory that is missing among them makes it half a call."""
    ids = {}
    for made in done.intent.made:
        found = _found(made, seen[done.intent.project])
        if found is None:
            findings.add("half", f"{done.intent.call} in {done.intent.project} landed without the memory of {made.token}")
            findings.half_calls[done.intent.call] += 1
        ids[made.token] = found or f"missing {made.token}"
    return ids


def _count_together(result: Expected, line: object) -> None:
    if isinstance(line, Done) and line.intent.call == "put_record of all":
        result.counted += line.fate == "acknowledged"
        result.may_count += line.fate == "unknown"


def _compare_shared(accounts: Iterable[Account], actual: Mapping[Stream, Sequence[str]], findings: Findings) -> None:
    """Counts the records of actors that many hands share: at least those acknowledged, at most those in doubt besides."""
    sure, doubtful = Counter[tuple[Stream, str]](), Counter[tuple[Stream, str]]()
    hands = set()
    for account in accounts:
        hands.add(account.hand)
        for done in account.calls:
            stream = _stream(done.intent.project, done.intent.actor)
            if stream[1] not in (None, KEYED, account.hand) and done.wrote:
                counter = {"acknowledged": sure, "unknown": doubtful}.get(done.fate, Counter())
                counter.update((stream, name) for name in done.intent.operations)
    found = Counter(
        (stream, name)
        for stream, names in actual.items()
        for name in names
        if stream[1] not in (None, KEYED) and stream[1] not in hands
    )
    for key in {*sure, *found}:
        if found[key] < sure[key]:
            findings.add("lost", f"{sure[key]} calls of {key} were acknowledged; the journal has {found[key]}")
            findings.lost_calls[key[1]] += sure[key] - found[key]
        elif found[key] > sure[key] + doubtful[key]:
            findings.add("phantom", f"the journal has {found[key]} calls of {key}; {sure[key]} were acknowledged")
