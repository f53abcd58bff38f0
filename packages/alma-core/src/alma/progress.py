"""`alma.progress`: names of the package `alma-harness`, which `alma-core[harness]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.progress", "alma_harness.progress", extra="harness", what="progress tracking is")
