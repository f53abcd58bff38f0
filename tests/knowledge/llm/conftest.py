"""Models over HTTP are asked where their client is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("httpx") else ["test_endpoints.py"]
