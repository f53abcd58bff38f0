"""The contract of graph backends, as classes that a backend's tests inherit."""

from alma_testing.graph_contracts.backend import (
    GraphBackendContract,
    LastingGraphBackendContract,
    ServedGraphBackendContract,
)

__all__ = ["GraphBackendContract", "LastingGraphBackendContract", "ServedGraphBackendContract"]
