"""A rule keeps what it once was: one that no longer holds is demoted, and comes back with its evidence."""

from alma.learning.standing import Standing, changed


def test_a_rule_that_no_longer_holds_is_demoted_and_what_never_was_one_is_none() -> None:
    assert changed(None, None) is None
    assert changed("candidate", None) is changed("likely", None) is changed("demoted", None) is Standing.DEMOTED
    assert changed("demoted", Standing.CANDIDATE) is Standing.CANDIDATE
    assert changed("proven", Standing.LIKELY) is Standing.LIKELY
    assert changed(None, Standing.PROVEN) is Standing.PROVEN
