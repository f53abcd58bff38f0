"""Making, listing and revoking tokens from the command line."""

import argparse
from pathlib import Path

from alma_mcp.command import access_of
from alma_mcp.tokens import TokenFile


def manage(given: argparse.Namespace, folder: Path) -> None:
    """Does what the arguments say about tokens, and prints it. A new secret is printed alone on standard output."""
    file = TokenFile(folder)
    if given.new_token:
        print(file.add(given.new_token, access_of(given)))
    elif given.revoke_token:
        file.revoke(given.revoke_token)
        print(f"revoked {given.revoke_token}; a running server no longer accepts it")
    else:
        for token in file.tokens().values():
            print(f"{token.name}: {token.access}")
