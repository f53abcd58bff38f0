"""`alma migrate` to another file, and `alma pg-setup`."""

from importlib.util import find_spec
from pathlib import Path

from alma import ALMA


def test_a_store_is_copied_to_another_file(project) -> None:
    project("learn", "-a", "helena", "-t", "Deploy the shop", "-o", "success")
    told = project("migrate", "--to", "copy/alma.db", "--json").json
    assert (told["heads"], told["kept"]) == ({"shop": 1}, 0)
    with ALMA.open("copy", project_id="shop") as copy:
        assert copy.content_hash() == told["content_hashes"]["shop"]
        assert copy.retrieve("Deploy the shop", "helena").total_items == 1
        assert copy.verify().ok


def test_a_person_is_told_what_was_copied(project) -> None:
    project("learn", "-a", "helena", "-t", "Deploy the shop", "-o", "success")
    out = project("migrate", "--to", "copy.db").out
    assert out.startswith("Copied ")
    assert out.endswith("all content hashes are equal: shop up to record 1\n")


def test_a_store_that_is_there_is_left_alone(project) -> None:
    project("learn", "-a", "helena", "-t", "Deploy the shop", "-o", "success")
    project("migrate", "--to", "copy.db")
    before = Path("copy.db").read_bytes()
    assert "exists already" in project("migrate", "--to", "copy.db", code=None).err
    assert Path("copy.db").read_bytes() == before
    assert not Path("copy.db.moving").exists()


def test_the_script_for_postgresql_is_printed_on_request_alone(project) -> None:
    assert "give --print-sql" in project("pg-setup", code=None).err
    printed = project("pg-setup", "--print-sql", code=None)
    if find_spec("alma_postgres") is None:
        assert "alma-core[postgres]" in printed.err
    else:
        assert "CREATE ROLE alma_app LOGIN" in printed.out
