"""`alma.consolidation`: names of the package `alma-knowledge`, which `alma-core[knowledge]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.consolidation", "alma_knowledge.consolidation", extra="knowledge", what="consolidation is")
