"""Statements in labelled sentences: none is taken for another kind, and nothing is read into the others."""

import pytest
from benchmarks import extraction
from benchmarks.records import read_records


@pytest.mark.parametrize("name", extraction.SENTENCES)
def test_what_is_found_in_a_sentence_is_what_it_states(name: str) -> None:
    records = read_records(extraction.SENTENCES[name])
    wrong = [
        (record["text"], found) for record in records if (found := extraction.found_in(record)) not in (record["kind"], "none")
    ]
    assert wrong == []


def test_the_rates_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for name, path in extraction.SENTENCES.items():
        extraction.show_sentences(name, path)
    assert capsys.readouterr().out.count("0 of ") == 2
