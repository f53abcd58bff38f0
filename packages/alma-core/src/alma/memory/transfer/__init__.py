"""Moves memories out of a store and into one: export, import, migration."""
