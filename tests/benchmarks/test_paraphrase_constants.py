"""The weights of words in paraphrases are those that the script finds."""

import pytest
from benchmarks import paraphrase_constants

from alma.learning import paraphrases


@pytest.mark.slow
def test_the_weights_in_use_are_those_that_are_fitted(capsys: pytest.CaptureFixture[str]) -> None:
    paraphrase_constants.main()

    first = capsys.readouterr().out.split("\n\n")[0].replace("\n", " ")
    found = dict(part.strip().rsplit(" ", 1) for part in first.split(" set ")[0].split(","))
    used = dict(zip(paraphrase_constants.NAMES[1:], paraphrases.WEIGHTS, strict=True))
    assert {name: float(found[name].split()[0]) for name in used} == pytest.approx(used, abs=0.011)
