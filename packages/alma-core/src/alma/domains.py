"""`alma.domains`: names of the package `alma-harness`, which `alma-core[harness]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.domains", "alma_harness.domains", extra="harness", what="domains are")
