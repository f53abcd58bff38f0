"""A file is not held in memory whole."""

import io
import json
import random
from pathlib import Path

import pytest
from benchmarks import coding_agents_streaming

from alma_agents import streaming


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    missed = [gate.what for gate in coding_agents_streaming.figures(60, tmp_path) if gate.holds is False]
    assert missed == []


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_an_array_is_read_element_by_element(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_CHUNK", chunk)
    values = [{"a": 'x]}\\"é' * number, "b": [{"c": number}]} for number in range(9)]
    data = b"\xef\xbb\xbf \n" + json.dumps(values, ensure_ascii=False, indent=1).encode()

    assert list(streaming.elements(io.BytesIO(data))) == values
    assert list(streaming.elements(io.BytesIO(b'{"loglines": ' + json.dumps(values).encode()))) == values


@pytest.mark.parametrize("seed", range(5))
def test_a_torn_array_yields_what_is_whole_and_one_loss(seed: int) -> None:
    values = [{"n": number, "t": "[{"} for number in range(5)]
    data = json.dumps(values).encode()
    cut = random.Random(seed).randrange(1, len(data))
    found = list(streaming.elements(io.BytesIO(data[:cut])))

    assert found[-1] is None
    assert found[:-1] == values[: len(found) - 1]


def test_a_line_that_is_too_long_is_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "LONGEST_RECORD", 10)
    assert list(streaming.lines(io.BytesIO(b'{"a": 1}\n{"b": "' + b"x" * 50 + b'"}\n{"c": 1}\n'))) == [
        b'{"a": 1}\n',
        b"{",
        b'{"c": 1}\n',
    ]
