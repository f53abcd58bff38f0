"""A folder of Chroma that is gone is filled again, as docs/guides/symptoms.md says."""

from pathlib import Path

from alma import ALMA


def test_a_collection_that_is_gone_is_filled_again(tmp_path: Path) -> None:
    folder, path = tmp_path / "chroma", tmp_path / "alma.yaml"
    path.write_text(f"project_id: shop\nstorage: chroma\nembedding_provider: hash\nchroma: {{persist_directory: {folder}}}\n")
    with ALMA.from_config(path) as alma:
        alma.learn("helena", "Test the login form", "success", "Empty fields first")
        assert alma.retrieve("Test the login form", "helena").total_items == 1
    moved = tmp_path / "elsewhere"
    path.write_text(path.read_text().replace(str(folder), str(moved)))

    with ALMA.from_config(path) as alma:
        assert alma.retrieve("Test the login form", "helena").total_items == 1
    assert (moved / "chroma.sqlite3").is_file()
