"""Words of one character are found: Chinese, Japanese and Korean ones inside a run of others, and emoji."""

import sqlite3
from pathlib import Path

import pytest

from alma import ALMA

FACTS = {
    "肉": "冰箱里没有肉了",
    "駅": "待ち合わせは駅の北口",
    "雨": "明日は雨",
    "약": "할머니는 약을 아침에 드신다",
    "窗": "请把窗关上",
    "🚀": "Releases are marked with 🚀 in the log",
    "☕": "The room with the ☕ is on floor 3",
}


@pytest.mark.parametrize("options", [{}, {"encryption_key": b"k" * 32}, {"storage": "file"}])
def test_a_word_of_one_character_is_found_inside_a_sentence(tmp_path: Path, options: dict[str, object]) -> None:
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash", **options) as alma:  # type: ignore[arg-type]
        for fact in FACTS.values():
            alma.add_domain_knowledge("dev", "notes", fact)
        for word, fact in FACTS.items():
            assert [found.fact for found in alma.retrieve(word, "dev").domain_knowledge][:1] == [fact], word
        for absent in ("鳥", "꿈", "🐙"):
            assert not alma.retrieve(absent, "dev").domain_knowledge
        assert alma.verify().ok


def test_a_question_of_two_characters_is_still_about_their_pair(alma: ALMA) -> None:
    pair = alma.add_domain_knowledge("dev", "notes", "北京的天气很好")
    alma.add_domain_knowledge("dev", "notes", "京都在北方")
    assert [found.id for found in alma.retrieve("北京", "dev").domain_knowledge] == [pair.id]


def test_a_store_of_before_finds_them_when_it_is_opened(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma:
        alma.add_domain_knowledge("dev", "notes", FACTS["肉"])
    with sqlite3.connect(tmp_path / "alma.db") as connection:  # as the version before left it
        connection.execute("DELETE FROM migration WHERE name LIKE 'm010%'")
        connection.execute("INSERT INTO text_1 (text_1) VALUES ('delete-all')")
    connection.close()
    with ALMA.open(tmp_path, project_id="p") as alma:
        assert alma.retrieve("肉", "dev").domain_knowledge
        assert alma.verify().ok
