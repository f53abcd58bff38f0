"""Making, listing and revoking tokens from the command line."""

import argparse
from dataclasses import replace
from pathlib import Path

from alma_access import MEMORY_RIGHTS, Access, TokenFile


def bound(access: Access, project: str) -> Access:
    """Returns the access of a new token: bound to the project of this server, with the rights that its tools need."""
    return replace(access, projects=(project,), rights=MEMORY_RIGHTS)


def manage(given: argparse.Namespace, folder: Path, access: Access) -> None:
    """Does what the arguments say about tokens, and prints it. A new one is bound by `access`; its secret is printed alone on standard output."""
    file = TokenFile(folder)
    if given.new_token:
        print(file.add(given.new_token, access))
    elif given.revoke_token:
        file.revoke(given.revoke_token)
        print(f"revoked {given.revoke_token}; a running server no longer accepts it")
    else:
        for token in file.tokens().values():
            print(f"{token.name}: {token.access}")
