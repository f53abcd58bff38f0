"""`alma.stack`: names of the package `alma-harness`, which `alma-core[harness]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.stack", "alma_harness.stack", extra="harness", what="the memory stack is")
