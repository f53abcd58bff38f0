"""Limits of the requests that a server accepts, as its command and its application know them."""

MAX_BODY = 1024 * 1024
"""The largest request, in bytes, where no other limit is given."""
