"""The benchmark of secrets, injections and poison: what it forges and how it halves."""

import re
from pathlib import Path

import pytest
from benchmarks.trust.halves import rows_of
from benchmarks.trust.secret_texts import forged


@pytest.mark.parametrize("shape", ["ghp_[A-Za-z0-9]{36}", "[a-f0-9]{8}-[a-f0-9]{4}", "SG.[A-Za-z0-9_-]{22}"])
def test_a_secret_is_forged_in_its_shape_and_alike_for_the_same_seed(shape: str) -> None:
    secret = forged(shape, "7")

    assert re.fullmatch(shape, secret)
    assert secret == forged(shape, "7") != forged(shape, "8")


def test_each_row_is_in_one_half(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(f'{{"id": "row-{number}"}}' for number in range(50)))

    tuning, judging = rows_of(file, "tuning"), rows_of(file, "judging")

    assert len(tuning) > 10 < len(judging)
    assert sorted(row["id"] for row in (*tuning, *judging)) == sorted(row["id"] for row in rows_of(file, "both"))
