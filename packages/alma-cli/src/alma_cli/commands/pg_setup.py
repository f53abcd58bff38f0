"""`alma pg-setup`."""

from importlib import import_module
from typing import Annotated

import typer

from alma.errors import ConfigurationError, MissingDependencyError, install_line
from alma_cli.options import JsonOption
from alma_cli.output import print_json


def pg_setup(
    print_sql: Annotated[bool, typer.Option("--print-sql", help="Print the script. ALMA runs nothing by itself.")] = False,
    schema: Annotated[str, typer.Option("--schema", help="The schema of the tables.")] = "alma",
    role: Annotated[str, typer.Option("--role", help="The role that ALMA connects as.")] = "alma_app",
    project: Annotated[
        list[str] | None, typer.Option("--project", help="Leave the role this project alone, by row-level security. Repeatable.")
    ] = None,
    vectors: Annotated[
        int | None,
        typer.Option("--vectors", help="Have pgvector search vectors of this length, the embedder's: 384 for `local`."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the SQL that prepares a PostgreSQL database: the tables, and a role with the rights that ALMA needs and no others.

    \b
    Examples:
      alma pg-setup --print-sql | psql alma
      alma pg-setup --print-sql --role shop_agents --project shop --vectors 384
    """
    if not print_sql:
        raise ConfigurationError(
            "ALMA changes no roles by itself; give --print-sql, and run the script as the owner of the database"
        )
    try:
        setup = import_module("alma_postgres.setup")
    except ImportError as error:
        raise MissingDependencyError(f"needs alma-postgres: {install_line('postgres')}") from error
    sql = setup.setup_sql(schema, role, project or (), dimension=vectors)
    if json:
        print_json({"sql": sql})
    else:
        typer.echo(sql, nl=False)
