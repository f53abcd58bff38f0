"""ALMA for asyncio."""

from alma.aio.alma import AsyncALMA, AsyncEpisode

__all__ = ["AsyncALMA", "AsyncEpisode"]
