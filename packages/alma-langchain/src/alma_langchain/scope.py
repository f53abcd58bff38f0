"""Whose memories a run reads and writes: the project of its tenant, and its user."""

import threading

from alma import ALMA
from alma.memory.arguments import checked_name
from alma_langchain.options import check_identity
from alma_langchain.settings import Identity, RunContext, identified


class Scope:
    """The projects of one ALMA by the tenants of runs. All that belongs to one agent asks here, so that none of it reads or writes elsewhere."""

    def __init__(self, alma: ALMA, *, user_id: Identity = None, tenant_id: Identity = None) -> None:
        check_identity(user_id, "user_id")
        check_identity(tenant_id, "tenant_id")
        self.alma = alma
        self._user_id = user_id
        self._tenant_id = tenant_id
        self._tenants: dict[str, ALMA] = {}
        self._lock = threading.Lock()

    def project(self, context: RunContext) -> ALMA:
        """The memory that a run belongs to: a tenant's own project, `PROJECT:TENANT`, or the project of this ALMA."""
        tenant = identified(self._tenant_id, "tenant_id", context)
        if tenant is None:
            return self.alma
        name = checked_name(tenant, "tenant_id")
        with self._lock:
            if name not in self._tenants:
                apart = name.replace("%", "%25").replace(":", "%3A")  # no tenant can name the project of another
                self._tenants[name] = self.alma.for_project(f"{self.alma.project_id}:{apart}")
            return self._tenants[name]

    def user(self, context: RunContext) -> str | None:
        """Whose preferences are shown."""
        found = identified(self._user_id, "user_id", context)
        return None if found is None else checked_name(found, "user_id")
