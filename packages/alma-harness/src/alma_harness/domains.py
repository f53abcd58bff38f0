"""`alma.domains`: schemas of domains, and memories that start with one."""

from alma_harness.domain_factory import DomainMemoryFactory
from alma_harness.domain_schema import DomainSchema, EntityType, RelationshipType
from alma_harness.domain_schemas import (
    DOMAINS,
    filled,
    get_coding_schema,
    get_content_creation_schema,
    get_customer_support_schema,
    get_general_schema,
    get_research_schema,
    get_sales_schema,
    schema_named,
)

__all__ = [
    "DOMAINS",
    "DomainMemoryFactory",
    "DomainSchema",
    "EntityType",
    "RelationshipType",
    "filled",
    "get_coding_schema",
    "get_content_creation_schema",
    "get_customer_support_schema",
    "get_general_schema",
    "get_research_schema",
    "get_sales_schema",
    "schema_named",
]
