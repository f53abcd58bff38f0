"""Events of a memory, and webhooks: each change, read from the journal."""
