"""How well entities and relations are read from texts, names kept apart, histories answered, and a large graph searched.

`python -m benchmarks.graph` prints all; `--misses` lists what is wrong in the half that rules may be tuned on. The sentences were labelled before
the rules were written; half of them, by the hash of the sentence, was never looked at while the rules were.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alma_graph.extraction import EntityExtractor

DATA = Path(__file__).parent / "data"


def read_sentences() -> list[dict[str, Any]]:
    """Returns the labelled sentences."""
    return [json.loads(line) for line in (DATA / "graph_sentences.jsonl").read_text(encoding="utf-8").splitlines()]


def score_sentences(half: str) -> dict[str, float]:
    """Returns precision and recall of entities and of relations in one half.

    An entity that stands in a labelled relation is right, too. Entities are compared by their names, relations by both names and the type.
    """
    counts = dict.fromkeys(("found", "right", "wanted", "hit", "found_relations", "right_relations", "wanted_relations"), 0)
    for one in read_sentences():
        if one["half"] == half:
            for name, value in _compared(one).items():
                counts[name] += len(value)
    return {
        "entity_precision": counts["right"] / counts["found"],
        "entity_recall": counts["hit"] / counts["wanted"],
        "entities": counts["found"],
        "relation_precision": counts["right_relations"] / counts["found_relations"],
        "relation_recall": counts["right_relations"] / counts["wanted_relations"],
        "relations": counts["found_relations"],
    }


def _compared(one: dict[str, Any]) -> dict[str, set[Any]]:
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
    for one in read_sentences():
        if one["half"] == half:
            found = _compared(one)
            ends = {name for source, _, target in found["wanted_relations"] for name in (source, target)}
            wrong = [f"+{name}" for name in found["found"] - found["wanted"] - ends]
            lost = [f"-{name}" for name in found["wanted"] - found["found"]]
            wrong += [f"+{'>'.join(each)}" for each in found["found_relations"] - found["wanted_relations"]]
            lost += [f"-{'>'.join(each)}" for each in found["wanted_relations"] - found["found_relations"]]
            if wrong or lost:
                yield f"{one['text']}   {'; '.join([*wrong, *lost])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    if parser.parse_args().misses:
        print("\n".join(list_misses()))
        return
    for half in ("dev", "kept"):
        print(half, {name: round(value, 3) for name, value in score_sentences(half).items()})


if __name__ == "__main__":
    main()
