"""Episodes that a person is asked to judge."""

from typing import Annotated

from pydantic import Field

from alma.types.episodes import EpisodeRecord, Forecast
from alma.types.value import Value


class ReviewItem(Value):
    """An episode to judge, and the forecast, made without its own verdict; `None` where too few episodes of the agent were judged.

    `priority` orders a list, highest first. For an unjudged episode it is the highest probability, within the interval, that its verdict
    differs from the forecast; for a surprising one it is the distance of the verdict from the forecast.
    """

    episode: EpisodeRecord
    forecast: Forecast | None
    priority: Annotated[float, Field(ge=0, le=1)]


class ReviewReport(Value):
    """Episodes that a person should judge first: unjudged ones, and those whose verdict differs from the forecast.

    The counts are of all that were found; the lists have at most `limit` each.
    """

    unjudged: tuple[ReviewItem, ...]
    surprising: tuple[ReviewItem, ...]
    unjudged_count: int
    surprising_count: int
