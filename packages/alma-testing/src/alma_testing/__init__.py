"""Support for tests of agents whose memory is ALMA, and of backends for ALMA.

Importing this module loads nothing heavy; the module behind a name is loaded when the name is first used. The contracts need pytest and
hypothesis: `pip install "alma-core[testing]"`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_testing.builders import (
        make_anti_pattern,
        make_domain_knowledge,
        make_heuristic,
        make_outcome,
        make_slice,
        make_user_preference,
        make_vector_changes,
    )
    from alma_testing.clocks import FixedClock, SteppingClock
    from alma_testing.contracts import (
        CandidateSearchContract,
        EmbedderContract,
        FileStoreContract,
        IntegrationContract,
        PortableContract,
        ReembeddableContract,
        StoreContract,
        TextScoresContract,
        VectorIndexContract,
    )
    from alma_testing.fakes import MockEmbedder, MockStorage
    from alma_testing.graph_contracts import GraphBackendContract, LastingGraphBackendContract, ServedGraphBackendContract
    from alma_testing.recalls import assert_never_recalls, assert_recalls

__all__ = [
    "CandidateSearchContract",
    "EmbedderContract",
    "FileStoreContract",
    "FixedClock",
    "GraphBackendContract",
    "IntegrationContract",
    "LastingGraphBackendContract",
    "MockEmbedder",
    "MockStorage",
    "PortableContract",
    "ReembeddableContract",
    "ServedGraphBackendContract",
    "SteppingClock",
    "StoreContract",
    "TextScoresContract",
    "VectorIndexContract",
    "assert_never_recalls",
    "assert_recalls",
    "make_anti_pattern",
    "make_domain_knowledge",
    "make_heuristic",
    "make_outcome",
    "make_slice",
    "make_user_preference",
    "make_vector_changes",
]

_HOMES = {
    "Clock": "clocks",
    "GraphBackend": "graph_contracts",
    "Contract": "contracts",
    "Mock": "fakes",
    "assert_": "recalls",
    "make_": "builders",
}
"""The module of each name, by a part of the name."""

_FORMER = {
    "create_test_anti_pattern": "make_anti_pattern",
    "create_test_heuristic": "make_heuristic",
    "create_test_knowledge": "make_domain_knowledge",
    "create_test_outcome": "make_outcome",
    "create_test_preference": "make_user_preference",
}
"""Names that alma-memory uses for builders."""


def __getattr__(name: str) -> Any:
    known = _FORMER.get(name, name)
    if known not in __all__:
        raise AttributeError(f"module 'alma_testing' has no attribute {name!r}")
    home = next(home for part, home in _HOMES.items() if part in known)
    return getattr(_loaded(home), known)


def _loaded(home: str) -> Any:
    try:
        return import_module(f"alma_testing.{home}")
    except ModuleNotFoundError as missing:
        extra = {"hypothesis": "testing", "pytest": "testing", "alma_graph": "graph"}.get(missing.name or "")
        if extra is None:
            raise
        from alma.errors import missing_for

        raise missing_for("The contracts need", missing, extra) from missing


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
