"""`alma.compression`: names of the package `alma-knowledge`, which `alma-core[knowledge]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.compression", "alma_knowledge.compression", extra="knowledge", what="compression is")
