"""What summaries keep, and whether prompts packed with them show more evidence: `python -m benchmarks.compression --data locomo_dev.jsonl.gz`.

*Sessions*: each session of LoCoMo is compressed to a share of its tokens, with what is rare in all sessions kept first. Counted are what must be kept
(measured numbers, paths, denials, words that bind; each once a session), and of the questions whose answer stands word by word in a gold turn those
of which it stands in the summary of that session. *Packing* (`--packing FILE`, of LoCoMo or LongMemEval): the prompts of a budget as they are, and
with each turn longer than a limit shortened to a share of its sentences, so that more turns fit. Counted are questions of which any gold turn is
shown, and the share of the telling words of gold turns that the prompt has.
"""

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from alma import ALMA, MemorySlice
from alma.text import estimate_tokens, normalised
from alma_knowledge.compression.extractive import Usual, extract, find_kept_first
from alma_learning.denials import telling
from alma_learning.numbers import words_and_numbers
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.locomo.questions import read_questions as read_locomo
from benchmarks.longmemeval.questions import Question, read_questions
from benchmarks.longmemeval.recall import AGENT, NEVER_ASKED, USED, Haystack, QuestionClock
from benchmarks.records import read_records
from benchmarks.screen import wide_console

SHARES = (2 / 3, 1 / 3, 1 / 6)
ASKED = 1 / 3
LEAST_KEPT, LEAST_ANSWERED = 0.95, 0.80
BUDGETS = (500, 1_000)
LONG, SHORTENED = 20, 0.5
"""Tokens from which a turn is shortened, and the share that is left."""

_SESSION, _TURN = re.compile(r"session_\d+"), re.compile(r"D\d+:\d+")


def read_sessions(path: Path) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Returns the sessions by name, and the answers that stand in a gold turn, each with its session."""
    sessions, answers = dict[str, str](), list[tuple[str, str]]()
    for number, record in enumerate(read_records(path)):
        turns = dict[str, tuple[str, str]]()
        for name, said in record["conversation"].items():
            if _SESSION.fullmatch(name) and said:
                key = f"{number}/{name}"
                sessions[key] = "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in said)
                turns |= {turn["dia_id"]: (key, normalised(turn["text"])) for turn in said}
        for asked in record["qa"]:
            answer = normalised(str(asked.get("answer", "")))
            gold = [turns[turn] for text in asked.get("evidence") or () for turn in _TURN.findall(str(text)) if turn in turns]
            homes = [key for key, text in gold if answer and f" {answer} " in f" {text} "]
            answers += [(homes[0], answer)] if homes else []
    return sessions, answers


def judge_sessions(path: Path) -> Iterator[Gate]:
    """Yields what summaries of sessions keep."""
    sessions, answers = read_sessions(path)
    usual = Usual.of(sessions.values())
    for share in SHARES:
        made = {key: extract(text, int(estimate_tokens(text) * share), usual) for key, text in sessions.items()}
        pairs = [({*find_kept_first(text)}, {*find_kept_first(made[key])}) for key, text in sessions.items()]
        kept = sum(len(one & other) for one, other in pairs) / sum(len(one) for one, _ in pairs)
        answered = mean(f" {answer} " in f" {normalised(made[key])} " for key, answer in answers)
        new = sum(not {*re.findall(r"\d+", made[key])} <= {*re.findall(r"\d+", text)} for key, text in sessions.items())
        is_asked, name = share == ASKED, f"at {share:.0%} of the tokens"
        yield Gate(f"{name}: what must be kept", kept, "", LEAST_KEPT if is_asked else None, more_is_better=True)
        yield Gate(f"{name}: answers of {len(answers)}", answered, "", LEAST_ANSWERED if is_asked else None, more_is_better=True)
        yield Gate(f"{name}: summaries with a number of their own", new, "", limit=0)


def shorten(found: MemorySlice) -> MemorySlice:
    """Returns a slice of which each long turn has only the sentences that matter."""
    items = []
    for item in found.recalled:
        turns = tuple(turn.model_copy(update={"text": _shorten(turn.text)}) for turn in item.turns)
        items.append(item.model_copy(update={"turns": turns}))
    return found.model_copy(update={"recalled": tuple(items)})


def _shorten(text: str) -> str:
    tokens = estimate_tokens(text)
    return text if tokens <= LONG else extract(text, int(tokens * SHORTENED)).replace("\n", " ") or text


def _stems(text: str) -> set[str]:
    return set(telling(words_and_numbers(text)[0]))


def judge_packing(questions: Sequence[Question]) -> Iterator[Gate]:
    """Yields what prompts show of the evidence, as they are and with long turns shortened."""
    ways: Mapping[str, Callable[[MemorySlice], MemorySlice]] = {"as it is": lambda found: found, "shortened": shorten}
    shown = {(way, budget): list[tuple[bool, float]]() for way in ways for budget in BUDGETS}
    clock, haystack, made = QuestionClock(), None, 0
    with tempfile.TemporaryDirectory() as folder, ALMA.open(Path(folder), project_id="packing", clock=clock) as store:
        for question in questions:
            if not question.gold_turns or question.is_abstention:
                continue
            clock.now = question.asked_at or NEVER_ASKED
            if haystack is None or haystack.sessions is not question.sessions:
                made += 1
                project = store.for_project(f"haystack {made}")
                haystack = Haystack(project, question.sessions, question.secrets)
            found = project.retrieve(task=question.text, agent=AGENT, top_k=USED, profile="recall")
            gold = [question.sessions[place].turns[turn].text for place, turn in question.gold_turns]
            for way, change in ways.items():
                for budget in BUDGETS:
                    kept, prompt = change(found).fitted(budget)
                    is_shown = not question.gold_turns.isdisjoint(haystack._turns(kept))
                    words = _stems(prompt)
                    shares = [len(_stems(text) & words) / max(len(_stems(text)), 1) for text in gold]
                    shown[way, budget].append((is_shown, mean(shares)))
    for (way, budget), rows in shown.items():
        yield Gate(f"{budget} tokens, {way}: any gold turn of {len(rows)} questions", mean(row[0] for row in rows), "")
        yield Gate(f"{budget} tokens, {way}: words of gold turns", mean(row[1] for row in rows), "")


def _read(path: Path, limit: int | None) -> list[Question]:
    first: dict[str, Any] = next(iter(read_records(path)))
    return read_locomo(path, limit=limit) if "qa" in first else read_questions(path, limit=limit)


def main() -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 if a limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compression", description=__doc__)
    parser.add_argument("--data", type=Path, help="LoCoMo's conversations, whose sessions are compressed")
    parser.add_argument(
        "--packing", type=Path, metavar="FILE", help="questions of LoCoMo or LongMemEval, whose prompts are packed"
    )
    parser.add_argument("--limit", type=int, help="the first questions only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    options = parser.parse_args()
    result = [*judge_sessions(options.data)] if options.data else []
    result += judge_packing(_read(options.packing, options.limit)) if options.packing else ()
    gates.show(wide_console(), result, "Compression")
    if options.json:
        gates.write_json(options.json, result)
    gates.enforce(result)


if __name__ == "__main__":
    main()
