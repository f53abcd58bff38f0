"""How the guard judges facts that a language model wrote, and the same facts changed in one place: `python -m benchmarks.guard --data FILE`.

FILE is LoCoMo's: its observations are facts by a language model, each with the turns that it cites. What is refused of them is lost to
extraction; what is not refused of the changed ones would be believed.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.records import read_records

NEGATIONS = re.compile(r"\b(never|not|no|does not|don't)\b ?", re.IGNORECASE)
CONDITIONS = re.compile(r"[, ]*\b(unless|if|before|without|only)\b.*$", re.IGNORECASE)
NAMES = re.compile(r"\b(?:[A-Z][a-z]*[A-Z]\w*|[\w.-]+[/_-][\w./=-]+|[A-Z]{3,}\w*|Alice|Bob|Carol)\b")


def other_number(fact: str, chance: random.Random) -> str:
    return re.sub(r"\d+", lambda found: str(int(found[0]) + chance.randint(1, 40)), fact, count=1)


def other_name(fact: str, chance: random.Random) -> str:
    return NAMES.sub(lambda found: chance.choice(["Quentin", "RedShift", "lib/other.py", "stage-us-9"]), fact, count=1)


def without_negation(fact: str, chance: random.Random) -> str:
    return NEGATIONS.sub("", fact, count=1)


def with_negation(fact: str, chance: random.Random) -> str:
    return (
        fact
        if NEGATIONS.search(fact)
        else re.sub(r"\b(is|was|prefers|likes|owns|accepts|fixed|breaks|failed)\b", r"\1 not", fact, count=1)
    )


def without_condition(fact: str, chance: random.Random) -> str:
    return CONDITIONS.sub("", fact)


def with_condition(fact: str, chance: random.Random) -> str:
    return f"{fact} {chance.choice(['unless somebody objects', 'if it rains', 'until the audit'])}"


MUTATIONS: list[Callable[[str, random.Random], str]] = [
    other_number,
    other_name,
    without_negation,
    with_negation,
    without_condition,
    with_condition,
]


def facts_in(record: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yields the observations of a conversation, each with the turns that it cites."""
    sessions = [value for value in record["conversation"].values() if isinstance(value, list)]
    turns = {turn["dia_id"]: f"{turn['speaker']}: {turn['text']}" for session in sessions for turn in session}
    for said in record["observation"].values():
        for facts in said.values():
            for fact, cited in facts:
                sources = [turns[one] for one in ([cited] if isinstance(cited, str) else cited) if one in turns]
                if sources:
                    yield fact, sources


def main() -> None:
    """Prints the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo")
    options = parser.parse_args()
    from alma_knowledge.llm import find_invented

    chance, accepted, refused, made = random.Random(1), 0, Counter[str](), Counter[str]()
    facts = [fact for record in read_records(options.data) for fact in facts_in(record)]
    for fact, sources in facts:
        if find_invented(fact, sources):
            continue
        accepted += 1
        for mutate in MUTATIONS:
            mutant = mutate(fact, chance)
            if mutant != fact:
                made[mutate.__name__] += 1
                refused[mutate.__name__] += bool(find_invented(mutant, sources))
    print(f"facts as they were written: {accepted} of {len(facts)} accepted ({accepted / len(facts):.3f})")
    print(f"changed in one place: {refused.total()} of {made.total()} refused ({refused.total() / made.total():.3f})")
    for name, count in made.items():
        print(f"  {name.replace('_', ' ')}: {refused[name]} of {count}")


if __name__ == "__main__":
    main()
