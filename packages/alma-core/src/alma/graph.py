"""`alma.graph`: names of the package `alma-graph`, which `alma-core[graph]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.graph", "alma_graph", extra="graph", what="the graph is")
