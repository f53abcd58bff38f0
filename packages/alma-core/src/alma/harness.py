"""`alma.harness`: names of the package `alma-harness`, which `alma-core[harness]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.harness", "alma_harness.harness", extra="harness", what="the harness is")
