"""ALMA for asyncio."""

from alma.aio.alma import AsyncALMA
from alma.aio.episode import AsyncEpisode

__all__ = ["AsyncALMA", "AsyncEpisode"]
