"""An old store loses the secrets that it holds, and nothing else but its history."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from alma import ALMA, ValidationError
from facade import OpenStore
from secret_writes import OLD_WRITES, TOKEN


@pytest.fixture
def old(open_store: OpenStore) -> Callable[[Callable[[ALMA], None]], ALMA]:
    """A store that holds what was written before it redacted."""

    def opened(write: Callable[[ALMA], None]) -> ALMA:
        with open_store(redact="off") as alma:
            write(alma)
            alma.learn("dev", "Deploy the shop", True, "blue-green")
        return open_store()

    return opened


@pytest.mark.parametrize("write", OLD_WRITES)
def test_no_byte_of_a_secret_is_left(
    old: Callable[[Callable[[ALMA], None]], ALMA], tmp_path: Path, write: Callable[[ALMA], None]
) -> None:
    alma = old(write)

    report = alma.redact_existing()

    assert report.seq is not None
    assert report.kinds["github_token"] > 0
    assert alma.verify().ok
    alma.compact()
    alma.close()
    assert TOKEN.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("write", OLD_WRITES)
def test_the_memories_stay_and_are_found(old: Callable[[Callable[[ALMA], None]], ALMA], write: Callable[[ALMA], None]) -> None:
    alma = old(write)
    before = {memory.id: memory.created_at for memory in alma.list_memories()}

    alma.redact_existing()

    assert {memory.id: memory.created_at for memory in alma.list_memories()} == before
    assert alma.retrieve(task="Deploy the shop", agent="dev").outcomes[0].strategy_used == "blue-green"


def test_evidence_goes_on_counting(old: Callable[[Callable[[ALMA], None]], ALMA]) -> None:
    alma = old(OLD_WRITES[1])
    text = f"The deployment needed {TOKEN}"
    alma.redact_existing()
    before = alma.strategies(task=text, agent="dev").rows[0]

    alma.learn("dev", text, True, text)

    after = alma.strategies(task=text, agent="dev").rows[0]
    assert (after.strategy, after.trials) == (before.strategy, before.trials + 1)


def test_what_was_undone_leaves_the_journal_too(old: Callable[[Callable[[ALMA], None]], ALMA]) -> None:
    def undone(alma: ALMA) -> None:
        alma.learn("dev", f"Use {TOKEN}", True)
        alma.undo(0)

    alma = old(undone)
    report = alma.redact_existing()

    assert (report.rows, report.history) == (0, 1)
    assert alma.redact_existing(dry_run=True).history == 0


def test_a_dry_run_and_a_clean_project_change_nothing(old: Callable[[Callable[[ALMA], None]], ALMA], alma: ALMA) -> None:
    found = alma.redact_existing()
    assert (found.rows, found.history, found.seq) == (0, 0, None)
    alma.close()

    other = old(OLD_WRITES[0])
    head = other.get_stats().journal_records
    assert other.redact_existing(dry_run=True).rows > 0
    assert other.get_stats().journal_records == head


def test_a_store_that_does_not_redact_refuses(open_store: OpenStore) -> None:
    with pytest.raises(ValidationError, match="redact="):
        open_store(redact="off").redact_existing()


KEY_LINES = [hashlib.sha256(bytes([number])).hexdigest() for number in range(40)]
PRIVATE_KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"])
WRITES_OF_A_KEY: list[Callable[[ALMA], object]] = [
    lambda alma: alma.add_domain_knowledge("dev", "shop", f"The key is {PRIVATE_KEY}\nIt is from May."),
    lambda alma: alma.add_conversation([("Ann", f"The key is {PRIVATE_KEY}\nIt is from May.")], "dev", "chat"),
]


@pytest.mark.parametrize("write", WRITES_OF_A_KEY)
def test_no_passage_keeps_a_part_of_a_private_key(
    old: Callable[[Callable[[ALMA], object]], ALMA], tmp_path: Path, write: Callable[[ALMA], object]
) -> None:
    alma = old(write)

    alma.redact_existing()

    assert "It is from May" in alma.retrieve(task="When was it May?", agent="dev").to_prompt()
    assert alma.redact_existing().rows == 0
    alma.compact()
    alma.close()
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [line for line in KEY_LINES if line.encode() in left]


@pytest.mark.parametrize("write", WRITES_OF_A_KEY)
def test_an_import_leaves_no_part_of_a_private_key(
    tmp_path: Path, open_store: OpenStore, write: Callable[[ALMA], object]
) -> None:
    file = io.BytesIO()
    with open_store(redact="off") as alma:
        write(alma)
        alma.export(file)
        alma.purge([memory.id for memory in alma.list_memories()])
        alma.compact()
    file.seek(0)

    with open_store() as alma:
        alma.import_from(file)
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [line for line in KEY_LINES if line.encode() in left]


def test_what_was_learned_under_a_key_is_known_under_it_afterwards(old: Callable[[Callable[[ALMA], object]], ALMA]) -> None:
    def learned(alma: ALMA) -> str:
        return alma.learn("dev", f"Use {TOKEN}", True, idempotency_key="order-7").id

    alma = old(learned)
    (before,) = (one.id for one in alma.list_memories() if one.metadata.get("idempotency_key"))
    alma.redact_existing()

    assert learned(alma) == before


def test_a_secret_in_the_name_of_an_agent_does_not_erase_history_again_and_again(
    old: Callable[[Callable[[ALMA], object]], ALMA],
) -> None:
    alma = old(lambda alma: (alma.learn(TOKEN, "Deploy", True), alma.learn("dev", f"Use {TOKEN}", True)))

    assert alma.redact_existing().seq is not None
    assert alma.redact_existing().seq is None
