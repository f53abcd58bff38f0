"""Nothing passes for what it is not: a flag that is a text, a share that is none, a file that took another's place."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, StorageError, ValidationError
from facade import StoredIn


@pytest.fixture
def alma(tmp_path: Path, stored_in: StoredIn) -> ALMA:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", **stored_in(tmp_path / "store")) as opened:
        yield opened


@pytest.mark.parametrize("flag", ["false", "no", 0, None, []])
def test_only_true_and_false_are_flags(alma: ALMA, flag: Any) -> None:
    kept = alma.learn("emp", "Deploy the shop", "success").id
    for call in (
        lambda: alma.purge([kept], dry_run=flag),
        lambda: alma.forget(memory_ids=[kept], dry_run=flag),
        lambda: alma.undo(0, dry_run=flag),
        lambda: alma.retrieve("Deploy", "emp", include_shared=flag),
        lambda: alma.retrieve("Deploy", "emp", explain=flag),
    ):
        with pytest.raises(ValidationError, match="True or False"):
            call()
    assert alma.get(kept).id == kept


def test_an_agent_cannot_make_its_own_memory_look_shared(alma: ALMA) -> None:
    alma.learn("emp", "Deploy the shop", "success", metadata={"shared_from": "ceo", "page": 3})
    (memory,) = memories = alma.retrieve("Deploy the shop", "emp")
    assert memory.metadata == {"page": 3}
    assert "ceo" not in memories.to_prompt()


def test_a_user_alone_opens_no_memory(alma: ALMA) -> None:
    preference = alma.add_user_preference("maria", "style", "Short answers").id
    with pytest.raises(ValidationError, match="needs an agent"):
        alma.get(preference, user_id="bob")
    assert alma.get(preference, agent="emp", user_id="maria").id == preference


@pytest.mark.parametrize("fate", ["deleted", "moved", "replaced"])
@pytest.mark.not_on("file", "postgres", reason="moves SQLite's file")
def test_a_store_whose_file_is_gone_says_so_instead_of_writing_into_nothing(alma: ALMA, tmp_path: Path, fate: str) -> None:
    alma.learn("emp", "Deploy the shop", "success")
    file = tmp_path / "store" / "alma.db"
    if fate == "replaced":
        shutil.copy(file, tmp_path / "copy.db")
        (tmp_path / "copy.db").replace(file)
    else:
        file.rename(tmp_path / "elsewhere.db")
    if fate == "deleted":
        (tmp_path / "elsewhere.db").unlink()
    for call in (lambda: alma.learn("emp", "Water the plants", "success"), lambda: alma.retrieve("Deploy the shop", "emp")):
        with pytest.raises(StorageError, match="moved, replaced or deleted"):
            call()
