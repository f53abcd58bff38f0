"""Hypothesis strategies for texts of users and tools, and the settings of contracts for hypothesis."""

from hypothesis import settings
from hypothesis import strategies as st

few_examples = settings(max_examples=25, deadline=None, database=None)

_HOSTILE = (
    *(
        "'; DROP TABLE memory; --",
        '" OR 1=1 --',
        "NEAR(a b, 2)",
        "own : secret",
        "{a b} : c",
        "deploy*",
        '"',
        "\\",
        "%s {0} ${HOME}",
    ),
    *(
        "[H1]",
        "<<<",
        ">>>",
        "\u202e",
        "\u2066",
        "\u2028",
        "\x1b[31m",
        "\x7f",
        "\x85",
        "\ufeff",
        "\ud7ff",
        "🎉👩‍👩‍👧",
        "e\u0301",
        "日本語",
        "مرحبا",
    ),
)

words = st.sampled_from(("deploy", "service", "login", "form", "retry", "ledger", "Müller", "naïve", "42", "v2.1"))
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
storable_texts = (
    st.lists(words | st.sampled_from(_HOSTILE) | st.text(characters, max_size=20), min_size=1, max_size=8)
    .map(" ".join)
    .filter(lambda text: bool(text.strip()))
)
"""Any storable text: no NUL, no lone surrogate, not blank."""
