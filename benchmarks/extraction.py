"""How well statements are found in conversations, without a model: `python -m benchmarks.extraction --data FILE`.

The sentences were labelled before the rules were written; the second file was looked at when they were done. The same author wrote sentences
and rules, so that those of others may be found less often. FILE is LoCoMo's: of its turns those are right that an observation, written by a
language model, cites. Most of those are small talk to an agent that works, so recall there is reported and not sought. Those observations, and
the same changed in one place, are also held to their sources as facts of a model are.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.guard import MUTATIONS, facts_in
from benchmarks.records import read_records

FOLDER = Path(__file__).with_name("data")
SENTENCES = {"tuned on": FOLDER / "extraction.jsonl", "judging": FOLDER / "extraction_judging.jsonl"}
KINDS = ("preference", "fact", "anti_pattern", "outcome")
NAMES = {"domain_knowledge": "fact"}


def found_in(record: dict[str, Any]) -> str:
    """Returns the kind of fact that is found in a labelled sentence, "none" if there is none."""
    from alma_knowledge.extraction import RuleBasedExtractor

    asked = [{"role": "user", "content": record["asked"]}] if "asked" in record else []
    facts = RuleBasedExtractor().extract([*asked, {"role": record["role"], "content": record["text"]}]).facts
    kinds = [NAMES.get(fact.fact_type.value, fact.fact_type.value) for fact in facts if fact.metadata["turn"] == len(asked)]
    return kinds[0] if kinds else "none"


def show_sentences(name: str, path: Path) -> None:
    """Prints precision and recall of each kind on labelled sentences."""
    pairs = [(record["kind"], found_in(record)) for record in read_records(path)]
    print(f"sentences, {name}: {len(pairs)}")
    for kind in KINDS:
        right = sum(pair == (kind, kind) for pair in pairs)
        found, there = sum(made == kind for _, made in pairs), sum(label == kind for label, _ in pairs)
        print(f"  {kind:13} precision {right}/{found}, recall {right}/{there}")
    nothing = [made for label, made in pairs if label == "none"]
    print(f"  nothing stated: {sum(made != 'none' for made in nothing)} of {len(nothing)} read as a statement")


def cited_turns(record: dict[str, Any]) -> set[str]:
    """Returns the ids of the turns that the observations of a conversation cite."""
    cited = (one for said in record["observation"].values() for facts in said.values() for _, one in facts)
    return {turn for one in cited for turn in ([one] if isinstance(one, str) else one)}


def judged_turns(record: dict[str, Any]) -> Iterator[tuple[bool, bool]]:
    """Yields for each turn of a conversation whether something is found in it, and whether an observation cites it."""
    from alma_knowledge.extraction import RuleBasedExtractor

    cited = cited_turns(record)
    for turns in (value for value in record["conversation"].values() if isinstance(value, list)):
        facts = RuleBasedExtractor().extract([{"role": turn["speaker"], "content": turn["text"]} for turn in turns]).facts
        found = {fact.metadata["turn"] for fact in facts}
        yield from ((place in found, turn["dia_id"] in cited) for place, turn in enumerate(turns))


def show_turns(path: Path) -> None:
    """Prints precision and recall of the turns of LoCoMo."""
    pairs = [pair for record in read_records(path) for pair in judged_turns(record)]
    right = pairs.count((True, True))
    found, there = sum(made for made, _ in pairs), sum(is_cited for _, is_cited in pairs)
    print(f"LoCoMo: {len(pairs)} turns, {there} cited ({there / len(pairs):.3f})")
    print(f"  precision {right}/{found} ({right / max(found, 1):.3f}), recall {right}/{there} ({right / there:.3f})")


def quote_for(fact: str, sources: list[str]) -> str:
    """Returns the sentence of the sources that has the most words of a fact: the one that a model would quote."""
    from alma.text import sentences_of, telling_words

    said = set(telling_words(fact))
    return max((one for source in sources for one in sentences_of(source)), key=lambda one: len(said & set(telling_words(one))))


def show_support(path: Path) -> None:
    """Prints how many facts of a model are borne out by the turns that they cite, and how many changed ones are."""
    from alma_knowledge.extraction.model import find_unsupported
    from alma_knowledge.extraction.rules import Said

    chance, accepted, changed, refused = random.Random(1), 0, 0, 0
    facts = [fact for record in read_records(path) for fact in facts_in(record)]
    for fact, sources in facts:
        quote = quote_for(fact, sources)
        cited = [Said(place, *source.split(": ", 1), True) for place, source in enumerate(sources)]
        if find_unsupported(fact, quote, cited, None):
            continue
        accepted += 1
        mutants = [mutant for mutate in MUTATIONS if (mutant := mutate(fact, chance)) != fact]
        changed += len(mutants)
        refused += sum(bool(find_unsupported(mutant, quote, cited, None)) for mutant in mutants)
    print(f"facts of a model: {accepted} of {len(facts)} accepted ({accepted / len(facts):.3f})")
    print(f"  changed in one place: {refused} of {changed} refused ({refused / changed:.3f})")


def main() -> None:
    """Prints the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a file of LoCoMo")
    parser.add_argument("--judge", action="store_true", help="also the sentences that were kept aside")
    options = parser.parse_args()
    for name, path in SENTENCES.items():
        if options.judge or name != "judging":
            show_sentences(name, path)
    if options.data:
        show_turns(options.data)
        show_support(options.data)


if __name__ == "__main__":
    main()
