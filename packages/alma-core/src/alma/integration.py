"""`alma.integration`: names of the package `alma-integration`, which every adapter and `alma-core[integration]` install."""

from typing import TYPE_CHECKING

from alma.extensions import forwarding

if TYPE_CHECKING:
    from alma_integration import *  # noqa: F403 - so that annotations of adapters are checked

__getattr__ = forwarding("alma.integration", "alma_integration", extra="integration", what="the kit for adapters is")
