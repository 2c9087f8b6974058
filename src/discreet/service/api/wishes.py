"""What may be asked of a list, in a body: a URL is kept by proxies, and says what one looks for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.release.ranking import MOST_DIVERSITY, RANKINGS, RECENCY, Ranking
from discreet.service.api.shapes import Strict
from discreet.service.limits import MOST_RECOMMENDATIONS

Count = Annotated[int, Field(ge=1, le=MOST_RECOMMENDATIONS)]
RankBy = Annotated[
    Literal["best", "likely", "liked"],
    Field(description="; ".join(f"{by}: by {words}" for by, words in RANKINGS.items())),
]
Diversity = Annotated[
    float,
    Field(
        ge=0,
        le=MOST_DIVERSITY,
        description="How much it counts against an item that it is like those above it.",
    ),
]
Value = str | float
Range = dict[Literal["from", "to"], float | None]
Filter = list[str] | dict[str, Value | list[Value] | Range]
_NAMED = 'ids, or public columns: {"genres": "Comedy", "year": {"from": 1990, "to": 1999}}'


class ListIn(Strict):
    """Which items a list may hold, and by what it is ranked."""

    n: Count = 10
    rank_by: RankBy = "best"
    diversity: Diversity = 0.0
    recency: Annotated[
        float,
        Field(ge=0, le=1, description="How much less old choices count than late ones."),
    ] = RECENCY
    among: Annotated[
        Filter | None, Field(description=f"Only these, which have all that is asked: {_NAMED}")
    ] = None
    without: Annotated[
        Filter | None, Field(description="None of these, which have anything of it; likewise.")
    ] = None
    include_rated: Annotated[
        bool, Field(description="Whether what one has rated or chosen may be listed, too.")
    ] = False
    with_error: Annotated[
        bool, Field(description="Whether each score has its standard error; not of events.")
    ] = False

    @property
    def ranking(self) -> Ranking:
        """As the library takes it."""
        return Ranking(
            by=self.rank_by,
            diversity=self.diversity,
            recency=self.recency,
            among=_filter(self.among),
            without=_filter(self.without),
            exclude_rated=not self.include_rated,
        )


def _filter(wanted: Filter | None) -> Any:
    if not isinstance(wanted, dict):
        return wanted
    return {
        column: (value.get("from"), value.get("to")) if isinstance(value, dict) else value
        for column, value in wanted.items()
    }
