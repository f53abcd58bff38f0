"""Why a strategy is bad, in its most telling error."""

from alma.learning.informative_error import most_informative


def test_the_commonest_error_is_told() -> None:
    assert most_informative([("ImagePullBackOff", 2, 10), ("connection refused by the registry", 1, 20)]) == "ImagePullBackOff"


def test_a_bare_failure_is_told_only_if_there_is_nothing_else() -> None:
    bare = [("Error", 9, 30), ("failed with exit code 1", 8, 30)]

    assert most_informative([*bare, ("readiness probe timed out", 1, 10)]) == "readiness probe timed out"
    assert most_informative(bare) == "Error"


def test_of_errors_equally_common_the_one_in_more_telling_words_is_told() -> None:
    assert (
        most_informative([("timeout", 2, 99), ("timeout while draining node <id>", 2, 10)]) == "timeout while draining node <id>"
    )


def test_of_errors_equally_telling_the_newest_is_told() -> None:
    assert most_informative([("disk full", 1, 10), ("quota exceeded", 1, 20)]) == "quota exceeded"


def test_the_order_of_the_record_does_not_matter() -> None:
    errors = [("disk full", 1, 10), ("port taken", 1, 10), ("Error", 3, 10)]

    assert most_informative(errors) == most_informative(errors[::-1]) == "port taken"


def test_of_no_errors_none_is_told() -> None:
    assert most_informative([]) is None


def test_a_number_that_never_varied_makes_an_error_no_more_telling() -> None:
    assert most_informative([("failed with 4711", 9, 30), ("readiness probe timed out", 1, 10)]) == "readiness probe timed out"
