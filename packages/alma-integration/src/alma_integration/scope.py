"""The project and the user whose memories a run reads and writes."""

import threading

from alma import ALMA
from alma.errors import ValidationError
from alma.memory.arguments import checked_name
from alma_integration.context import Identity, RunContext, check_identity, identified


class Scope:
    """The projects of one ALMA by tenant. Everything that belongs to one agent asks here, so that no part of it reads or writes
    elsewhere."""

    def __init__(self, alma: ALMA, *, user_id: Identity = None, tenant_id: Identity = None) -> None:
        check_identity(user_id, "user_id")
        check_identity(tenant_id, "tenant_id")
        self.alma = alma
        self._user_id = user_id
        self._tenant_id = tenant_id
        self._tenants: dict[str, ALMA] = {}
        self._lock = threading.RLock()

    def project(self, context: RunContext) -> ALMA:
        """Returns the memory that a run belongs to: a tenant's own project, `PROJECT:TENANT`, or the project of this ALMA."""
        name = identified(self._tenant_id, "tenant_id", context)
        if name is None and self._tenant_id is not None:
            raise ValidationError("tenant_id gave no name for this run, whose memory all tenants would share")
        if name is None:
            return self.alma
        checked_name(name, "tenant_id")
        with self._lock:
            if name not in self._tenants:
                apart = name.replace("%", "%25").replace(":", "%3A")  # escaped, so that no tenant can name the project of another
                self._tenants[name] = self.alma.for_project(f"{self.alma.project_id}:{apart}")
            return self._tenants[name]

    def user(self, context: RunContext) -> str | None:
        """Returns the user whose preferences are shown."""
        return identified(self._user_id, "user_id", context)
