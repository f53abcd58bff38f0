"""`alma.session`: names of the package `alma-harness`, which `alma-core[harness]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.session", "alma_harness.session", extra="harness", what="sessions are")
