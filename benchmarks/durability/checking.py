"""The check of a store after its writers are gone, by a process that has seen nothing of it before."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import perf_counter

from alma import ALMA
from alma.errors import AlmaError
from benchmarks.durability.calls.recording import COUNTER, RECORDS
from benchmarks.durability.copies import check_copies
from benchmarks.durability.expecting import Expected, expected
from benchmarks.durability.findings import Findings
from benchmarks.durability.intents import Done, Made
from benchmarks.durability.ledgers import Account, accounts
from benchmarks.durability.sights import Sight, sights, words_in_files
from benchmarks.durability.states import KEYED, Held
from benchmarks.durability.stores import SHARED, opened

MOST_SEARCHES = 60
TOP_K, MOST_ROWS = 10, 100
USAGE = ("used", "ignored", "thumbs_up", "thumbs_down")


@dataclass(frozen=True, slots=True)
class Search:
    """A search for one memory by its own text, and the ids that came."""

    project: str
    agent: str
    user: str | None
    text: str
    ids: tuple[str, ...]


@dataclass(slots=True)
class Checked:
    """What came of a check. `hashes` and `searches` are what other processes should see, too."""

    findings: Findings = field(default_factory=Findings)
    hashes: dict[str, str] = field(default_factory=dict)
    searches: list[Search] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    calls: list[tuple[str, str, float]] = field(default_factory=list)
    landed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def check(store: Path, files: Path, seed: str) -> Checked:
    """Compares the store with the ledgers of all who wrote to it."""
    began, result = perf_counter(), Checked()
    told = accounts(files)
    _look_at_ledgers(told, result)
    try:
        with opened(store) as alma:
            _compare(alma, told, result, Random(seed))
            check_copies(alma, told, files, result.findings)
    except AlmaError as error:
        result.findings.add("lost", f"the store cannot be read: {type(error).__name__}: {error}")
    result.seconds = perf_counter() - began
    return result


def _look_at_ledgers(told: Sequence[Account], result: Checked) -> None:
    for account in told:
        for done in account.calls:
            result.calls.append((done.intent.call, done.fate, done.seconds))
            if done.fate == "failed":
                result.findings.add("error", f"{account.hand}: {done.intent.call}: {done.error}")
            elif done.fate == "refused":
                result.refused[f"{done.intent.call}: {_short(done)}"] += 1
        for complaint in account.complaints:
            result.findings.add("wrong", f"{account.hand}: {complaint}")


def _short(done: Done) -> str:
    return done.error.partition(":")[0]


def _compare(alma: ALMA, told: Sequence[Account], result: Checked, chance: Random) -> None:
    findings = result.findings
    report = alma.verify()
    for problem in report.problems:
        findings.add("verify", str(problem))
    seen = sights(alma)
    wanted = expected(told, seen, findings)
    result.landed = wanted.landed
    result.hashes = {name: sight.content_hash for name, sight in seen.items()}
    for name, sight in seen.items():
        _compare_journal(sight, findings)
        _compare_keyed(sight, findings)
        _compare_memories(sight, wanted, findings)
        _compare_episodes(sight, wanted, findings)
        _compare_records(sight, wanted, findings)
        _compare_strategies(alma.for_project(name), sight, findings)
        found = alma.for_project(name).list_memories(limit=100_000)
        listed = {
            memory.id for memory in found if not memory.metadata.get("learned")
        }  # rules that follow from outcomes are in no file
        if listed != sight.live:
            findings.add("retrieval", f"{name}: list_memories and the export differ in {sorted(listed ^ sight.live)[:4]}")
    for project in {name for states in wanted.states.values() for name, _ in states} - set(seen):
        if any(state.now.held for state in wanted.of(project)):
            findings.add("lost", f"project {project} is not there at all")
    _compare_counter(seen, wanted, findings)
    result.searches = list(_searches(alma, seen, wanted, findings, chance))
    result.erased = _erased(seen, wanted)


def _compare_journal(sight: Sight, findings: Findings) -> None:
    numbers = [seq for seq, _, _ in sight.journal]
    findings.checked["journal records"] += len(numbers)
    if numbers != list(range(1, len(numbers) + 1)):
        findings.add("chain", f"{sight.project}: the journal's records are not numbered 1 to {len(numbers)}")


def _compare_keyed(sight: Sight, findings: Findings) -> None:
    """What all send under one key is there once, with one record."""
    texts = [memory["body"]["task_description"] for memory in sight.memories.values() if memory["agent"] == KEYED]
    records = [actor for _, actor, _ in sight.journal if actor == KEYED]
    if not len(set(texts)) == len(texts) == len(records):
        findings.add("counts", f"{sight.project}: {len(set(texts))} keys made {len(texts)} outcomes in {len(records)} records")


def _compare_memories(sight: Sight, wanted: Expected, findings: Findings) -> None:
    held = {memory_id: each for state in wanted.of(sight.project) for memory_id, each in state.now.held.items()}
    usage = {memory_id: each for state in wanted.of(sight.project) for memory_id, each in state.now.usage.items()}
    findings.checked["memories"] += len(held)
    for memory_id, each in held.items():
        found = sight.memories.get(memory_id)
        if found is None:
            findings.add("lost", f"{sight.project}: the {each.made.kind} {memory_id} ({each.made.token}) is not there")
        elif fault := "; ".join(_faults(each, found, usage.get(memory_id, Counter()))):
            findings.add("half", f"{sight.project}: the {each.made.kind} {memory_id} {fault}")
    for memory_id in sight.memories.keys() - held.keys():
        memory = sight.memories[memory_id]
        findings.add("phantom", f"{sight.project}: nobody made the {memory['kind']} {memory_id}: {str(memory['body'])[:100]}")


def _faults(each: Held, found: Mapping[str, object], usage: Mapping[str, int]) -> Iterable[str]:
    made, body = each.made, found["body"]
    assert isinstance(body, dict)
    owner = body.get("user_id") if made.is_user else found["agent"]
    if (found["kind"], owner) != (made.kind, made.owner):
        yield f"is a {found['kind']} of {owner}"
    if made.token not in json.dumps(body) or made.text not in json.dumps(body):
        yield f"says {str(body)[:100]}"
    if (found["archived_at"] is not None) is not each.is_archived:
        yield f"is {'not ' * each.is_archived}archived"
    if made.verdict is not None and body.get("outcome") != made.verdict:
        yield f"says {body.get('outcome')}, not {made.verdict}"
    if not found["passages"]:
        yield "has no passages"
    counted = found["usage"] or {}
    assert isinstance(counted, dict)
    if wrong := [name for name in USAGE if counted.get(name, 0) != usage.get(name, 0)]:
        yield f"was counted {[(name, counted.get(name, 0), usage.get(name, 0)) for name in wrong]}"


def _compare_episodes(sight: Sight, wanted: Expected, findings: Findings) -> None:
    steps = Counter(key.rpartition("/")[0] for kind, key in sight.records if kind == "episode_step")
    endings = {key: record["body"]["status"] for (kind, key), record in sight.records.items() if kind == "episode_end"}
    found = {key: (str(endings.get(key, "open")), steps[key]) for kind, key in sight.records if kind == "episode"}
    should = {key: each for state in wanted.of(sight.project) for key, each in state.now.episodes.items()}
    findings.checked["episodes"] += len(should)
    for key in should.keys() | found.keys():
        status, count = should.get(key, ("unknown", 0))
        if found.get(key) != ("open" if status == "waiting" else status, count):
            sort = "lost" if key not in found else "phantom" if key not in should else "half"
            findings.add(sort, f"{sight.project}: episode {key} is {found.get(key)}, not {(status, count)} (status, steps)")


def _compare_records(sight: Sight, wanted: Expected, findings: Findings) -> None:
    should = {key: version for state in wanted.of(sight.project) for key, version in state.now.saved.items()}
    found = {key: (each["version"], each["body"]["step"]) for (kind, key), each in sight.records.items() if kind == RECORDS}
    found.pop(COUNTER, None)
    findings.checked["small records"] += len(should)
    for key in should.keys() | found.keys():
        version = should.get(key)
        if found.get(key) != (None if version is None else (version, version)):
            findings.add("lost", f"{sight.project}: the small record {key} is at {found.get(key)}, not at {version}")


def _compare_counter(seen: Mapping[str, Sight], wanted: Expected, findings: Findings) -> None:
    record = seen[SHARED].records.get((RECORDS, COUNTER)) if SHARED in seen else None
    found = record["version"] if record else 0
    if not wanted.counted <= found <= wanted.counted + wanted.may_count or (record and record["body"]["step"] != found):
        findings.add("counts", f"the shared counter is at {found}; {wanted.counted} additions were acknowledged")


def _compare_strategies(alma: ALMA, sight: Sight, findings: Findings) -> None:
    """Recounts what the table of each agent counts from its outcomes, archived ones too. Single steps count apart."""
    counts: dict[str, Counter[str]] = {}
    for memory in sight.memories.values():
        body = memory["body"]
        if memory["kind"] == "outcome" and body.get("strategy_used") and "step" not in body.get("metadata", {}):
            counts.setdefault(memory["agent"], Counter())[body["outcome"]] += 1
    for agent, seen in counts.items():
        rows = alma.strategies(agent=agent, limit=MOST_ROWS)
        told = Counter(
            success=sum(row.successes for row in rows),
            partial=sum(row.partials for row in rows),
            failure=sum(row.failures for row in rows),
            unverified=sum(row.unverified for row in rows),
        )
        findings.checked["strategies"] += len(rows)
        if told != seen:
            findings.add("counts", f"{sight.project}: the table of {agent} counts {dict(+told)}; its outcomes are {dict(seen)}")


def _searches(alma: ALMA, seen: Mapping[str, Sight], wanted: Expected, findings: Findings, chance: Random) -> Iterable[Search]:
    """Searches for memories by their own text: those that are there are found, those that are not are not."""
    there, gone = [], []
    for project in seen:
        for state in wanted.of(project):
            there += [(project, memory_id, each.made) for memory_id, each in state.now.held.items() if not each.is_archived]
            gone += [(project, memory_id, each.made) for memory_id, each in state.now.held.items() if each.is_archived]
            gone += [(project, memory_id, made) for memory_id, made in state.purged.items()]
    there = [each for each in there if each[2].is_findable]
    for project, memory_id, made in chance.sample(there, min(len(there), MOST_SEARCHES)):
        search = searched(alma, project, made)
        findings.checked["searches"] += 1
        if memory_id not in search.ids:
            findings.add("retrieval", f"{project}: the {made.kind} {memory_id} is not found by its own text")
        yield search
    for project, memory_id, made in chance.sample(gone, min(len(gone), MOST_SEARCHES // 2)):
        search = searched(alma, project, made)
        findings.checked["searches"] += 1
        if memory_id in search.ids:
            findings.add("retrieval", f"{project}: the {made.kind} {memory_id} is found, but was forgotten or purged")
        yield search


def searched(alma: ALMA, project: str, made: Made) -> Search:
    """What a search for a memory by its text gives its owner."""
    agent, user = ("anybody", made.owner) if made.is_user else (made.owner, None)
    return answered(alma, Search(project, agent, user, made.text or made.token, ()))


def answered(alma: ALMA, search: Search) -> Search:
    """The same search with the answer that this process gives."""
    found = alma.for_project(search.project).retrieve(
        search.text, search.agent, user_id=search.user, profile="recall", top_k=TOP_K
    )
    return Search(search.project, search.agent, search.user, search.text, tuple(found.ids))


def _erased(seen: Mapping[str, Sight], wanted: Expected) -> list[str]:
    """The words that have to be in no file once it is compacted: what was purged and never copied, and what calls said that did not land."""
    kept = {memory_id for sight in seen.values() for memory_id in sight.memories}
    purged = {
        made.token
        for states in wanted.states.values()
        for state in states.values()
        for memory_id, made in state.purged.items()
        if memory_id not in kept
    }
    return sorted(purged | wanted.unmade)


def check_files(store: Path, checked: Checked) -> Findings:
    """Compacts the store, once nobody else has it open: what was erased is in no file, nothing else changed, and no file is left over."""
    findings = Findings()
    try:
        with opened(store) as alma:
            before = {name: alma.for_project(name).content_hash() for name in checked.hashes}
            if before != checked.hashes:
                findings.add("hash", "a process that opened the store anew sees other content")
            if not alma.compact().is_whole:
                findings.add("bytes", "compact could not empty the log, though nobody reads")
            found = words_in_files(store, checked.erased)
            findings.checked["erased words"] += len(checked.erased)
            for word in found:
                findings.add("bytes", f"{word} is still in a file")
            after = {name: alma.for_project(name).content_hash() for name in checked.hashes}
            if after != before or not alma.verify().ok:
                findings.add("verify", "compacting has changed what is stored")
    except AlmaError as error:
        findings.add("lost", f"the store cannot be compacted: {type(error).__name__}: {error}")
    for path in sorted(store.iterdir()):
        if path.name != "alma.db" and path.suffix != ".index":
            findings.add("files", f"{path.name} is left over")
    return findings
