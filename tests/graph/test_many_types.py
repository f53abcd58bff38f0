"""However many types and relations there are, the graph is read."""

from uuid import uuid4

from alma import ALMA
from alma.integration import open_records


def test_more_types_than_a_small_number_counts_are_read(alma: ALMA) -> None:
    records = open_records(alma, "graph.source")
    for portion in range(9):
        relations = [{"source": 0, "target": 1, "type": f"t{portion}_{number}"} for number in range(4_000)]
        key, ends = str(uuid4()), [["A", "thing"], ["B", "thing"]]
        body = {"agent": "dev", "recorded": 1, "how": "caller", "entities": ends, "relations": relations}
        records.put(f"{key[-2:]}/{key}", body)
    assert alma.graph.stats(agent="dev") == {"entities": 2, "relations": 36_000}
