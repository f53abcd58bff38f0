import gzip
import json
from pathlib import Path

import pytest
from benchmarks.records import DataError, read_records

RECORDS = [{"a": 1, "text": "naïve [brackets]"}, {"a": 2, "text": "two\nlines"}]
ARRAY = json.dumps(RECORDS)
LINES = "\n".join(json.dumps(record) for record in RECORDS) + "\n"


@pytest.mark.parametrize("text", [ARRAY, json.dumps(RECORDS, indent=1), f"\n {ARRAY}", LINES, f"\n{LINES}\n\n"])
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("name", ["data", "data.json", "data.jsonl", "data.gz"])
def test_arrays_and_lines_are_read_packed_or_not_under_any_name(tmp_path: Path, text: str, is_packed: bool, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if is_packed else text.encode())

    assert read_records(path) == RECORDS


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no records"),
        (b"[]", "no records"),
        (b"[1, 2]", "record 0"),
        (b'{"a": 1}\n{"a": ', "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (gzip.compress(ARRAY.encode(), mtime=0)[:-9], "cannot be read"),
    ],
)
def test_a_file_that_is_not_such_data_is_an_error_that_names_it(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)

    with pytest.raises(DataError, match=f"broken.*{said}|{said}.*broken"):
        read_records(path)


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="absent"):
        read_records(tmp_path / "absent")
