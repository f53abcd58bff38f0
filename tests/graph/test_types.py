from alma.graph import Entity, Relationship


def test_a_relationship_holds_openly_and_surely_where_nothing_else_is_said() -> None:
    alice, acme = Entity("alice", "Alice", "person"), Entity("acme", "Acme Corp", "organization")
    relation = Relationship("r", alice.id, acme.id, "WORKS_FOR")
    assert (relation.valid_from, relation.valid_to, relation.confidence) == (None, None, 1.0)
