"""`alma.events`: names of the package `alma-events`, which `alma-core[events]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.events", "alma_events", extra="events", what="events are")
