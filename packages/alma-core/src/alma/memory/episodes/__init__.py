"""Episodes: attempts from their beginning to their verdict."""
