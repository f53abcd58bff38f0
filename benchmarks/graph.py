"""How well entities and relations are read from texts, names kept apart, histories answered, and a large graph searched.

`python -m benchmarks.graph` prints all but the large graph, which `--large` adds (five minutes); `--misses` lists what is wrong in the half of the
sentences that rules may be tuned on. The sentences were labelled before the rules were written, by one hand; half of them, by the hash of the
sentence, was not looked at while the rules were.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any

from alma import ALMA
from alma.integration import open_records
from alma.text import normalised, sentences_of
from alma_graph.extraction import EntityExtractor
from benchmarks.locomo.questions import read_questions
from benchmarks.longmemeval.questions import Question

DATA = Path(__file__).parent / "data"
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)

HISTORIES = 100
ENTITIES, RELATIONS = 100_000, 500_000


def read_lines(name: str) -> list[dict[str, Any]]:
    """Returns the rows of a data file."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


# texts


def score_sentences(half: str) -> dict[str, float]:
    """Returns precision and recall of entities and of relations in one half.

    An entity that stands in a labelled relation is right, too. Entities are compared by their names, relations by both names and the type.
    """
    counts = dict.fromkeys(("found", "right", "wanted", "hit", "found_relations", "right_relations", "wanted_relations"), 0)
    for one in read_lines("graph_sentences.jsonl"):
        if one["half"] == half:
            for name, value in _compare(one).items():
                counts[name] += len(value)
    return {
        "entity_precision": counts["right"] / counts["found"],
        "entity_recall": counts["hit"] / counts["wanted"],
        "entities": counts["found"],
        "relation_precision": counts["right_relations"] / counts["found_relations"],
        "relation_recall": counts["right_relations"] / counts["wanted_relations"],
        "relations": counts["found_relations"],
    }


def _compare(one: dict[str, Any]) -> dict[str, set[Any]]:
    entities, relationships = EntityExtractor().extract(one["text"])
    names = {each.id: each.name for each in entities}
    found = {_plain(each.name) for each in entities}
    relations = {(_plain(names[each.source_id]), each.relation_type, _plain(names[each.target_id])) for each in relationships}
    wanted = {_plain(name) for name, _ in one["entities"]}
    wanted_relations = {(_plain(source), kind, _plain(target)) for source, kind, target in one["relations"]}
    ends = {name for source, _, target in wanted_relations for name in (source, target)}
    return {
        "found": found,
        "right": found & (wanted | ends),
        "wanted": wanted,
        "hit": wanted & found,
        "found_relations": relations,
        "right_relations": relations & wanted_relations,
        "wanted_relations": wanted_relations,
    }


def _plain(name: str) -> str:
    return name.casefold().rstrip(".")


def list_misses(half: str = "dev") -> Iterator[str]:
    """Yields what is found wrongly or not at all."""
    for one in read_lines("graph_sentences.jsonl"):
        if one["half"] == half:
            found = _compare(one)
            ends = {name for source, _, target in found["wanted_relations"] for name in (source, target)}
            wrong = [f"+{name}" for name in found["found"] - found["wanted"] - ends]
            lost = [f"-{name}" for name in found["wanted"] - found["found"]]
            wrong += [f"+{'>'.join(each)}" for each in found["found_relations"] - found["wanted_relations"]]
            lost += [f"-{'>'.join(each)}" for each in found["wanted_relations"] - found["found_relations"]]
            if wrong or lost:
                yield f"{one['text']}   {'; '.join([*wrong, *lost])}"


# names


def score_names() -> dict[str, int]:
    """Returns how many pairs of names became one entity: rightly, wrongly; and which were missed. Each pair is stated in a project of its own."""
    counts = dict.fromkeys(("pairs", "merged", "wrong", "missed"), 0)
    with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="names", embedding_provider="hash") as whole:
        for number, pair in enumerate(read_lines("graph_names.jsonl")):
            graph = whole.for_project(f"pair{number}").graph
            stated = [
                graph.relate(name, "seen_in", f"place {place}", agent="a", source_type=kind)
                for place, (name, kind) in enumerate((pair["a"], pair["b"]))
            ]
            is_one = stated[0].source_id == stated[1].source_id
            counts["pairs"] += 1
            counts["merged"] += is_one and pair["same"]
            counts["wrong"] += is_one and not pair["same"]
            counts["missed"] += pair["same"] and not is_one
    return counts


# histories


@dataclass
class History:
    """What was so: the values of a relation by the day on which each began, `None` for a gap, and what is said of it, in the order of saying."""

    truth: list[tuple[int, str | None]]
    said: list[tuple[str, int, int | None]] = field(default_factory=list)
    """Value, day from which, day until which."""
    wrong: list[tuple[str, int]] = field(default_factory=list)
    """What is said first and taken back, or corrected, later."""
    friends: set[str] = field(default_factory=set)
    """What else is said, of a type that any number may have."""

    def value_at(self, day: int) -> str | None:
        """Returns the value on a day."""
        return next((value for start, value in reversed(self.truth) if start <= day), None)


def make_history(seed: int) -> History:
    """Returns a history: moves, returns to a former value, gaps, news that comes late or twice, corrections."""
    rnd = random.Random(seed)
    days = sorted(rnd.sample(range(10, 1_000, 5), rnd.randint(2, 6)))
    truth: list[tuple[int, str | None]] = []
    for day in days:
        last = truth[-1][1] if truth else None
        is_gap = last is not None and rnd.random() < 0.15
        truth.append((day, None if is_gap else rnd.choice([name for name in ("Acme", "Beta", "Corex", "Delta") if name != last])))
    history = History(truth, friends={f"Friend {rnd.randint(1, 9)}" for _ in range(3)})
    ends = [*days[1:], None]
    for (day, value), end in zip(truth, ends, strict=True):
        if value is None:
            continue
        following = history.value_at(end) if end is not None else value
        history.said.append((value, day, end if following is None else None))
        if rnd.random() < 0.4 and (end is None or end - day > 4):
            history.said.append((value, day + 2, end if following is None else None))
        if rnd.random() < 0.25:
            history.wrong.append((f"Wrong {day}", day))
    rnd.shuffle(history.said)
    return history


def score_histories(count: int = HISTORIES) -> dict[str, float]:
    """Returns how many questions about a day were answered rightly, and how many relations that still hold were not found any more."""
    asked = right = retired = 0
    with tempfile.TemporaryDirectory() as folder:
        clock = _Clock()
        with ALMA.open(folder, project_id="histories", embedding_provider="hash", clock=clock) as whole:
            for seed in range(count):
                history, graph = make_history(seed), whole.for_project(f"history{seed}").graph
                _tell(history, graph, clock, random.Random(seed))
                for day in range(0, 1_010, 11):
                    found = [one.properties["target"] for one in graph.relations("Ann", "works_for", _day(day))]
                    wanted = history.value_at(day)
                    asked += 1
                    right += found == ([] if wanted is None else [wanted])
                known = {one.properties["target"] for one in graph.relations("Ann", "knows")}
                retired += len(history.friends - known)
    return {"histories": count, "asked": asked, "right": right / asked, "wrongly_retired": retired}


class _Clock:
    def __init__(self) -> None:
        self.now = _day(2_000)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def _tell(history: History, graph: Any, clock: Callable[[], datetime], rnd: random.Random) -> None:
    for value, day in history.wrong:
        stated = graph.relate("Ann", "works_for", value, agent="a", valid_from=_day(day), source_type="person")
        if rnd.random() < 0.5:
            graph.retract(stated, agent="a")
    for value, day, end in history.said:
        until = None if end is None else _day(end)
        graph.relate("Ann", "works_for", value, agent="a", valid_from=_day(day), valid_to=until, source_type="person")
    for friend in sorted(history.friends):
        graph.relate("Ann", "knows", friend, agent="a", valid_from=_day(1), source_type="person")


def _day(number: int) -> datetime:
    return EPOCH + timedelta(days=number)


# lists


def measure_lists(path: Path) -> dict[str, float]:
    """Returns the mean share of gold sessions of LoCoMo's list questions of which 1,000 tokens hold words of a gold turn: of the pages of the persons
    that a question names, and of the prompt for it."""
    questions = [one for one in read_questions(path) if one.kind == "multi-hop"]
    shares = {"page": 0.0, "prompt": 0.0}
    for sessions, asked in groupby(questions, key=lambda one: one.sessions):
        with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="talks") as alma:
            for number, session in enumerate(sessions):
                alma.add_conversation([(turn.speaker, turn.text) for turn in session.turns], "a", f"s{number}", at=session.time)
            alma.graph.read_memories()
            speakers = {turn.speaker for session in sessions for turn in session.turns}
            for one in asked:
                named = [name for name in speakers if name in one.text]
                pages = [str(alma.graph.about(name, max_tokens=1_000 // len(named))) for name in named]
                prompt = alma.retrieve(one.text, "a", top_k=10, profile="recall").to_prompt(max_tokens=1_000)
                shares["page"] += _share_of_gold(one, "\n".join(pages))
                shares["prompt"] += _share_of_gold(one, prompt)
    return {"questions": len(questions), **{name: share / len(questions) for name, share in shares.items()}}


def _share_of_gold(question: Question, text: str) -> float:
    said, sessions = normalised(text), question.sessions
    hit = {
        session
        for session, turn in question.gold_turns
        if any(len(piece) > 20 and normalised(piece)[:40] in said for piece in sentences_of(sessions[session].turns[turn].text))
    }
    return len(hit & question.gold) / len(question.gold)


# cost


def measure_learn(tasks: int = 300) -> dict[str, float]:
    """Returns the time of `learn` without the graph and with it, in milliseconds, and that of reading what was learned for entities, for each."""
    times: dict[str, float] = {}
    for name, block in (("off", ""), ("on", "graph: {enabled: true}\n")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "config.yaml")
            path.write_text(f"project_id: p\nembedding_provider: hash\nstorage_dir: {folder}\n{block}", encoding="utf-8")
            with ALMA.from_config(path) as alma:
                begun = perf_counter()
                for number in range(tasks):
                    alma.learn("dev", f"Fix src/part_{number}.py for Alice from Acme Corp", "success", f"Bob reviewed #{number}")
                times[f"learn_{name}_ms"] = (perf_counter() - begun) * 1_000 / tasks
                begun = perf_counter()
                alma.graph.stats()
                times[f"first_look_{name}_ms_a_memory"] = (perf_counter() - begun) * 1_000 / tasks
    return times


def measure_large() -> dict[str, float]:
    """Returns times and memory of a graph of 100,000 entities and 500,000 relations, one in fifty of them with a hub."""
    with tempfile.TemporaryDirectory() as folder:
        with ALMA.open(folder, project_id="big", embedding_provider="hash") as alma:
            _fill(alma)
        with ALMA.open(folder, project_id="big", embedding_provider="hash") as alma:
            alma.get_stats()
            before, begun = _memory(), perf_counter()
            alma.graph.entity("Entity 1", agent="dev")
            opened = perf_counter() - begun
            times = sorted(_timed(lambda: alma.graph.around(["Entity 0"], max_hops=2, limit=200, agent="dev")) for _ in range(9))
            return {
                "build_s": opened,
                "two_hops_of_a_hub_ms": times[4] * 1_000,
                "path_ms": _timed(lambda: alma.graph.path("Entity 5", "Entity 77", agent="dev")) * 1_000,
                "memory_mb": _memory() - before,
            }


def _fill(alma: ALMA) -> None:
    rnd, records, batch = random.Random(1), open_records(alma, "graph.source"), list[Any]()
    types = ("uses", "depends_on", "works_for", "knows", "owns")
    for number in range(0, RELATIONS, 5):
        ends = [(rnd.randrange(ENTITIES), 0 if rnd.random() < 0.02 else rnd.randrange(ENTITIES)) for _ in range(5)]
        entities = [[f"Entity {one}", "organization"] for pair in ends for one in pair]
        relations = [
            {
                "source": 2 * place,
                "target": 2 * place + 1,
                "type": types[rnd.randrange(5)],
                "from": 1_700_000_000_000_000 + number + place,
            }
            for place in range(5)
        ]
        body = {"agent": "dev", "recorded": 1_700_000_000_000_000, "entities": entities, "relations": relations}
        key = f"{rnd.getrandbits(128):032x}"
        named = "-".join((key[:8], key[8:12], key[12:16], key[16:20], key[20:]))
        batch.append((f"{named[-2:]}/{named}", body, 0))
        if len(batch) == 2_000:
            records.put_many(batch)
            batch.clear()
    if batch:
        records.put_many(batch)


def _timed(call: Callable[[], object]) -> float:
    begun = perf_counter()
    call()
    return perf_counter() - begun


def _memory() -> float:
    """Returns the memory of this process in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1_024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--locomo", type=Path, metavar="FILE", help="LoCoMo, for its list questions")
    given = parser.parse_args()
    if given.misses:
        print("\n".join(list_misses()))
        return
    found: dict[str, Callable[[], dict[str, Any]]] = {
        "sentences, tuned on": lambda: score_sentences("dev"),
        "sentences, kept aside": lambda: score_sentences("kept"),
        "names": score_names,
        "histories": score_histories,
        "cost": measure_learn,
    }
    if given.large:
        found = {"large": measure_large}
    if given.locomo is not None:
        found = {"list questions": lambda: measure_lists(given.locomo)}
    for name, measure in found.items():
        print(name, {key: round(value, 3) for key, value in measure().items()}, flush=True)


if __name__ == "__main__":
    main()
