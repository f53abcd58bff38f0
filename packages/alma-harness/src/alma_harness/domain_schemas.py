"""The six schemas that come with the package."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from alma import MemoryScope
from alma.errors import ValidationError
from alma.text import normalised, quoted
from alma_harness.domain_schema import DomainSchema, EntityType, RelationshipType


def _entities(**attributes: str) -> tuple[EntityType, ...]:
    return tuple(EntityType(name=name, attributes=tuple(words.split())) for name, words in attributes.items())


def _relations(**ends: str) -> tuple[RelationshipType, ...]:
    pairs = {name: words.split() for name, words in ends.items()}
    return tuple(RelationshipType(name=name, source=source, target=target) for name, (source, target) in pairs.items())


def get_coding_schema() -> DomainSchema:
    """Returns the schema of software development."""
    return DomainSchema(
        name="coding",
        description="You write, test and review software.",
        entity_types=_entities(component="path language", test_case="path covers", defect="symptom cause", dependency="version"),
        relationship_types=_relations(
            tests="test_case component", fixes="component defect", depends_on="component dependency", causes="component defect"
        ),
        learning_categories=("testing strategies", "debugging", "api design", "deployment", "code review", "performance tuning"),
        excluded_categories=("customer conversations", "sales negotiation", "marketing copy"),
        constraints=("Run the tests before you say that it works.", "Change no more than the task asks for."),
    )


def get_research_schema() -> DomainSchema:
    """Returns the schema of finding and weighing sources."""
    return DomainSchema(
        name="research",
        description="You find sources, weigh them, and report what they support.",
        entity_types=_entities(paper="authors year finding", dataset="size licence", hypothesis="status", method="limits"),
        relationship_types=_relations(
            supports="paper hypothesis", contradicts="paper hypothesis", uses="paper dataset", applies="paper method"
        ),
        learning_categories=(
            "literature search",
            "source evaluation",
            "experiment design",
            "data analysis",
            "summarising findings",
        ),
        excluded_categories=("software deployment", "sales negotiation", "personal opinions"),
        constraints=("Name the source of each claim.", "Say what is uncertain."),
    )


def get_sales_schema() -> DomainSchema:
    """Returns the schema of selling."""
    return DomainSchema(
        name="sales",
        description="You qualify leads, answer objections and close deals.",
        entity_types=_entities(lead="stage value source", account="industry size", deal="stage value", objection="reason"),
        relationship_types=_relations(belongs_to="lead account", raises="lead objection", becomes="lead deal"),
        learning_categories=("lead qualification", "objection handling", "price negotiation", "closing techniques", "follow up"),
        excluded_categories=("software debugging", "medical advice", "payment card data"),
        constraints=("Promise nothing that the product does not do.",),
    )


def get_general_schema() -> DomainSchema:
    """Returns the schema for work of no particular domain."""
    return DomainSchema(
        name="general",
        description="You help with whatever comes.",
        entity_types=_entities(person="role", project="status", document="place"),
        relationship_types=_relations(works_on="person project", describes="document project"),
        learning_categories=("planning", "communication", "problem solving", "tool use", "finding information"),
        excluded_categories=("passwords and secrets", "medical records"),
    )


def get_customer_support_schema() -> DomainSchema:
    """Returns the schema of helping customers."""
    return DomainSchema(
        name="customer_support",
        description="You help customers, and hand over to a person where you may not decide.",
        entity_types=_entities(customer="plan language", ticket="status priority", product="version", policy="scope"),
        relationship_types=_relations(opened="customer ticket", concerns="ticket product", answers="policy ticket"),
        learning_categories=("refunds and returns", "troubleshooting", "complaint handling", "account access", "escalation"),
        excluded_categories=("software deployment", "payment card data", "legal advice"),
        constraints=("Follow the policy, and name it.",),
    )


def get_content_creation_schema() -> DomainSchema:
    """Returns the schema of writing for readers."""
    return DomainSchema(
        name="content_creation",
        description="You plan, write and edit texts for readers.",
        entity_types=_entities(
            article="topic audience status", campaign="goal channel", audience="interests", style_guide="tone"
        ),
        relationship_types=_relations(addresses="article audience", is_part_of="article campaign", follows="article style_guide"),
        learning_categories=("headlines", "article structure", "tone of voice", "search optimisation", "editing"),
        excluded_categories=("software debugging", "customer refunds", "legal advice"),
        constraints=("Write for the reader that is named.",),
    )


DOMAINS: Mapping[str, Callable[[], DomainSchema]] = MappingProxyType(
    {
        "coding": get_coding_schema,
        "research": get_research_schema,
        "sales": get_sales_schema,
        "general": get_general_schema,
        "customer_support": get_customer_support_schema,
        "content_creation": get_content_creation_schema,
    }
)
"""The schemas by name."""


def schema_named(domain: str | DomainSchema) -> DomainSchema:
    """Returns the schema of a name, or the schema itself. `ValidationError` for another name."""
    if isinstance(domain, DomainSchema):
        return domain
    name: object = domain
    found = DOMAINS.get(name) if isinstance(name, str) else None
    if found is None:
        raise ValidationError(
            f"no domain {quoted(domain)}; it is {', '.join(DOMAINS)}, or a schema of DomainMemoryFactory.create_schema"
        )
    return found()


def filled(scope: MemoryScope) -> MemoryScope:
    """Returns the rules with what they leave out taken from the schema that their `domain` names. Rules of another domain are unchanged."""
    make = DOMAINS.get(scope.domain)
    if make is None:
        return scope
    own = make().to_scope()
    wanted = set(map(normalised, scope.can_learn))
    left_out = {
        "can_learn": own.can_learn,
        "cannot_learn": tuple(category for category in own.cannot_learn if normalised(category) not in wanted),
        "min_occurrences_for_heuristic": own.min_occurrences_for_heuristic,
    }
    return scope.model_copy(update={name: value for name, value in left_out.items() if name not in scope.model_fields_set})
