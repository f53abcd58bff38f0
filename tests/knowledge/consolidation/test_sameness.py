"""What speaks against two texts saying the same keeps them apart, however near their vectors are."""

import pytest

from alma_knowledge.consolidation.sameness import Verdict, compare

SAME = [
    ("Deployments are done on Tuesdays and Thursdays.", "Deployments on Tuesdays and Thursdays are done."),
    ("Acme was acquired by Globex.", "Globex acquired Acme."),
    ("the retry limit of the mailer is 5", "The retry limit of the mailer is 5."),
    ("The timeout is 30 s.", "The timeout is thirty seconds."),
]
APART = [
    ("Acme was acquired by Globex.", "Acme acquired Globex."),
    ("Data flows from Kafka to Postgres.", "Data flows from Postgres to Kafka."),
    ("Files up to 5 MB are accepted.", "Files over 5 MB are accepted."),
    ("Admins may delete projects.", "Admins must be able to delete projects."),
    ("Admins may delete projects.", "Admins may not delete projects."),
    ("Set the offset to -5.", "Set the offset to 5."),
    ("The load must be > 5.", "The load must be < 5."),
    ("Ticket #12 is about the login page.", "Ticket #13 is about the login page."),
    ("The file is /etc/a.b.", "The file is /etc/a/b."),
    ("It is written in C++.", "It is written in C."),
    ("Only Ada may deploy.", "Ada may deploy."),
    ("The primary is db-1 and the replica is db-2.", "The primary is db-2 and the replica is db-1."),
    ("Staging has 2 nodes and production has 8 nodes.", "Staging has 8 nodes and production has 2 nodes."),
    ("Die Datenbank läuft auf Postgres.", "Die Datenbank läuft nicht auf Postgres."),
    ("数据库运行在生产环境", "数据库不运行在生产环境"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert compare(one, other) is compare(other, one) is Verdict.SAME


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_is_not_the_same(one: str, other: str) -> None:
    assert Verdict.SAME not in (compare(one, other), compare(other, one))
