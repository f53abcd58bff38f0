"""`alma.ingestion`: names of the package `alma-agents`, which `alma-core[agents]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.ingestion", "alma_agents.ingestion", extra="agents", what="ingestion is")
