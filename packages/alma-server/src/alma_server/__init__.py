"""An HTTP API for a memory."""
