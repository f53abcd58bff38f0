"""Encryption at rest: keys, and the seal that uses them. `cryptography` is imported only when a key is used."""
