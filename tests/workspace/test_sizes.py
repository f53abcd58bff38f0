"""The core stays small: its size and the ways of `learn` and `retrieve` grow by no more than a little over `sizes.json`.

Whoever adds code takes other code away. A figure in `sizes.json` may be lowered at any time. Raising one needs its reason in the changelog.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alma import ALMA
from lines_of_code import count_lines
from traces import trace

CORE = Path(__file__).parents[2] / "packages/alma-core/src/alma"
RECORDED: dict[str, dict[str, int]] = json.loads(Path(__file__).with_name("sizes.json").read_text("utf-8"))
GROWTH = 1.02
PAY = "take other code away; raising the figure in tests/workspace/sizes.json needs its reason in CHANGELOG.md"


@pytest.mark.parametrize("unit", ["lines", "files"])
def test_the_core_grows_by_no_more_than_a_fiftieth(unit: str) -> None:
    sources = [path.read_text("utf-8") for path in CORE.rglob("*.py")]
    size = len(sources) if unit == "files" else sum(map(count_lines, sources))
    recorded = RECORDED["core"][unit]
    assert size <= recorded * GROWTH, f"the core has {size} {unit} of code, {recorded} are recorded: {PAY}"


def test_neither_comments_nor_docstrings_nor_blank_lines_are_code() -> None:
    source = '"""A page\nof words."""\n\n# Why.\ndef f(\n    x,\n):  # here\n    """Returns it."""\n    return """a\n\nb"""\n'
    assert count_lines(source) == 6


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Callable[[], object]]]:
    """A `learn` and a `retrieve` in a store of forty outcomes, each of which was done before."""
    alma = ALMA.open(tmp_path_factory.mktemp("shop"), project_id="shop", embedding_provider="hash")
    numbers = iter(range(1_000))

    def learn() -> object:
        return alma.learn("dev", f"Deploy the service {next(numbers)}", "success", "blue-green")

    def retrieve() -> object:
        return alma.retrieve(f"Which service was deployed after {next(numbers)}?", "dev")

    for _ in range(40):
        learn()
    retrieve()
    yield {"learn": learn, "retrieve": retrieve}
    alma.close()


@pytest.mark.parametrize("call", ["learn", "retrieve"])
def test_a_call_takes_a_short_way_through_the_code(call: str, calls: dict[str, Callable[[], object]]) -> None:
    calls[call]()
    way = trace(calls[call])._asdict()
    longer = {unit: f"{count} > {RECORDED[call][unit]}" for unit, count in way.items() if count > RECORDED[call][unit]}
    assert longer == {}, f"a warm {call} takes a longer way than recorded: {PAY}"
