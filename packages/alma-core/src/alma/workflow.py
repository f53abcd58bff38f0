"""`alma.workflow`: names of the package `alma-harness`, which `alma-core[harness]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.workflow", "alma_harness.workflow", extra="harness", what="workflows are")
