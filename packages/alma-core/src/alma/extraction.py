"""`alma.extraction`: names of the package `alma-knowledge`, which `alma-core[knowledge]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.extraction", "alma_knowledge.extraction", extra="knowledge", what="extraction is")
