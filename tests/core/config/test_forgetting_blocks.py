"""The blocks `forgetting` and `maintenance` of a configuration file."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from alma.config import Settings, load_settings
from alma.errors import ConfigurationError

Load = Callable[[str], Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(blocks: str) -> Settings:
        path = tmp_path / "alma.yaml"
        path.write_text(f"alma:\n  project_id: shop\n{blocks}", encoding="utf-8")
        return load_settings(path, environ={"DAYS": "90"})

    return load


def test_without_them_only_the_window_of_outcomes_is_on(load: Load) -> None:
    settings = load("")
    on = settings.forgetting.model_dump(exclude_none=True)
    assert {kind: rule for kind, rule in on.items() if rule} == {"outcome": {"window": 10_000}}
    assert settings.maintenance.every is None


def test_the_documented_blocks_load_whole(load: Load) -> None:
    settings = load(
        "  forgetting:\n"
        "    outcome: {window: 5000, max_age_days: '${DAYS}'}\n"
        "    heuristic: {min_confidence: 0.2, min_usefulness: 0.9, max_count: 500}\n"
        "    user_preference: {max_age_days: 1000}\n"
        "    kinds:\n"
        "      meeting_note: {max_count: 200}\n"
        "  maintenance: {every: 12h}\n"
    )
    rules = settings.forgetting
    assert (rules.outcome.window, rules.outcome.max_age_days) == (5000, 90)
    assert rules.rule_of("heuristic").max_count == 500
    assert rules.rule_of("meeting_note").max_count == 200
    assert rules.rule_of("a kind without a rule").model_dump(exclude_none=True) == {}
    assert settings.maintenance.every == timedelta(hours=12)


def test_the_window_can_be_switched_off(load: Load) -> None:
    assert load("  forgetting: {outcome: {window: null}}\n").forgetting.outcome.window is None


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        ("  forgeting: {}\n", "alma.forgeting: unknown key, did you mean 'forgetting'?"),
        ("  forgetting:\n", "alma.forgetting: is empty"),
        ("  forgetting: {outcome: {max_age: 3}}\n", "alma.forgetting.outcome.max_age: unknown key, did you mean 'max_age_days'?"),
        ("  forgetting: {outcome: {window: 0}}\n", "alma.forgetting.outcome.window: "),
        ("  forgetting: {kinds: {note: 3}}\n", "alma.forgetting.kinds.note: must hold `key: value` lines"),
        ("  forgetting: {kinds: {outcome: {}}}\n", "its rule stands beside `kinds`"),
        ("  maintenance: {every: daily}\n", 'alma.maintenance.every: must be a duration such as "30m", "12h", "1d" or "2w"'),
        ("  maintenance: {every: 10s}\n", "alma.maintenance.every: "),
        ("  maintenance: {often: 1d}\n", "alma.maintenance.often: unknown key"),
    ],
)
def test_what_cannot_be_is_told_by_its_key(load: Load, blocks: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(blocks)
    assert told in str(caught.value)
