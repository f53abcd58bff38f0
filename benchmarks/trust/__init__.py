"""Secrets, injections and poisoned memories: what is kept out, and at what cost."""
