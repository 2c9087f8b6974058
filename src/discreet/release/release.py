"""The release: public item values and their certificate, the only output to be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.features import Features, encode
from discreet.data.ids import Ids
from discreet.data.items import Items
from discreet.data.scale import RatingScale
from discreet.errors import DataError, ParameterError, ReleaseError
from discreet.privacy.certificate import Certificate
from discreet.release.certainty import Predictions
from discreet.release.checks import check_release
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.choices import ChoiceModel
from discreet.release.durable import stage
from discreet.release.explaining import Explanation, explain, similar_items
from discreet.release.folder import read_folder, write_folder
from discreet.release.format import read_fields, write_files
from discreet.release.heard_sums import HeardSums
from discreet.release.lists import Family
from discreet.release.own import read_own
from discreet.release.predicting import errors, item_scores, predict
from discreet.release.ranking import BEST, RECENCY, Ranking
from discreet.release.recommending import build_choice_model, item_profiles, recommend
from discreet.release.scoring import FoldIn, ItemScores, Own, People
from discreet.release.shelves import shelves
from discreet.release.tallies import Tallies


@dataclass(frozen=True, eq=False)
class Release:
    """Public item values: a rating of item j is predicted as mean + effect_j + u . v_j.

    The person's u is folded in from that person's own ratings; it is never part of a release.
    """

    items: Items
    """The catalogue in canonical order, with what is publicly known of each item."""
    mean: float
    item_effects: Array
    item_factors: Array
    prior: Array
    fold_in: FoldIn
    scale: RatingScale
    certificate: Certificate
    factor_names: tuple[str, ...] = ()
    """Names of the factors, where they have a meaning."""
    families: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    """For every grouping of the items the family of each, -1 for none."""
    tallies: Tallies | None = None
    """The noisy tallies behind mean and effects: what the next batch is added to."""
    item_doubts: Array | None = None
    """The variance of what is unknown of each item's effect, in squared rating units."""
    choices: ChoiceFactors | None = None
    """Hidden directions of who chose what, where they were learned."""
    liking_sums: HeardSums | None = None
    """What all rounds of liking have shown up to now, for the next publication to add to."""
    choosing_sums: HeardSums | None = None
    """The same of choosing."""

    def __post_init__(self) -> None:
        check_release(self)

    @property
    def item_ids(self) -> Ids:
        """The catalogue's ids in canonical order."""
        return self.items.ids

    def sums_over(self, catalogue: Ids) -> tuple[HeardSums | None, HeardSums | None]:
        """Heard sums of liking and of choosing, over a catalogue that may have grown since."""
        liking, choosing = (
            None if sums is None else sums.over(self.item_ids, catalogue)
            for sums in (self.liking_sums, self.choosing_sums)
        )
        return liking, choosing

    @property
    def events(self) -> bool:
        """Whether it is of events: who chose what, not how anybody rated it."""
        return self.tallies is not None and self.tallies.events

    def require_ratings(self) -> None:
        """An error where there are events, of which no rating can be predicted."""
        if self.events:
            raise ParameterError(
                "a release of events predicts choices, not ratings: ask it for a list "
                "(recommend), or for its noisy counts (tallies.counts)"
            )

    @cached_property
    def item_scores(self) -> ItemScores:
        """The values that scoring needs; where columns have names, they may bend."""
        return item_scores(self)

    @cached_property
    def typical_scores(self) -> NDArray[np.float64]:
        """Predicted ratings of every item for somebody of whom nothing is known."""
        scores = self.item_scores.base + self.item_scores.factors @ self.item_scores.prior
        return np.asarray(scores, dtype=np.float64)

    def __repr__(self) -> str:
        return (
            f"Release({self.certificate.scheme}, {self.certificate.summary}: {len(self.items):,} "
            f"items, {self.item_factors.shape[1]} factors, "
            f"{'events' if self.events else f'ratings {self.scale}'})"
        )

    @cached_property
    def features(self) -> Features:
        """What is publicly known of the items, as numbers."""
        return encode(self.items, len(self.items))

    @cached_property
    def family_members(self) -> tuple[Family, ...]:
        """Of every grouping of the items which are in each family."""
        return tuple(Family.of(codes) for codes in self.families.values() if (codes >= 0).any())

    @cached_property
    def choice_model(self) -> ChoiceModel:
        """What is publicly known of who chooses what: for rank_by="likely"."""
        return build_choice_model(self, liked=False)

    @cached_property
    def liked_choices(self) -> ChoiceModel:
        """The same of who chooses and likes what: for rank_by="best"."""
        return build_choice_model(self, liked=True)

    @cached_property
    def item_profiles(self) -> Array:
        """By what items are alike in a list: rows of length 1."""
        return item_profiles(self)

    def recommend(
        self,
        my_items: Any = (),
        my_ratings: Any = (),
        n: int = 10,
        *,
        rank_by: str = "best",
        diversity: float = 0.0,
        among: Any = None,
        without: Any = None,
        exclude_rated: bool = True,
        recency: float = RECENCY,
        times: Any = None,
        with_error: bool = False,
    ) -> pl.DataFrame:
        """The n items for one person that rank first: frame item, rank, score [, error] [, title].

        Ranked by "best", what one would choose and would like; "likely", what one would choose;
        "liked", what one would rate highest. `diversity`, `among`, `without` and `recency` are
        those of `Ranking`; `times`, when each rating was given, are for the last. The score is the
        predicted rating, and `error` its standard error; it need not fall from rank to rank. Of
        events it is how likely an item is beside the first.

        Only the release and one's own ratings are read. Items that the release does not know are
        passed over. Without ratings, all get the same list.
        """
        own = read_own(self, my_items, my_ratings, times)
        ranking = Ranking(
            by=rank_by,
            diversity=diversity,
            among=among,
            without=without,
            exclude_rated=exclude_rated,
            recency=recency,
        )
        table = self.recommend_rows(own, n, ranking, with_error=with_error, threads=1)
        # Without Polars' queries, whose threads cost as much as the list.
        return self.with_titles(pl.DataFrame(table.get_columns()[1:]))

    def with_titles(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table of items with a column of their titles, where the item table has titles."""
        if "title" not in self.items.frame.columns:
            return table
        titles = self.items.frame["title"][self.item_ids.rows(table["item"])]
        return table.hstack([titles])

    def recommend_rows(
        self,
        own: Own,
        n: int,
        ranking: Ranking = BEST,
        *,
        with_error: bool = False,
        threads: int | None = None,
    ) -> pl.DataFrame:
        """`recommend` for many people at once: frame person (0, 1, ...), item, rank, score."""
        if with_error:
            self.require_ratings()
        listed = recommend(self, own, n, ranking, threads)
        who = listed.who
        columns = {
            "person": who,
            "item": self.item_ids.take(listed.what),
            "rank": np.arange(len(who)) - np.searchsorted(who, who) + 1,
            "score": listed.score,
        }
        if with_error and listed.people is not None:
            columns["error"] = self.errors(own, listed.people, who, listed.what, threads)
        return pl.DataFrame(columns)

    def explain(
        self, my_items: Any, my_ratings: Any, item: Any, recency: float = RECENCY, times: Any = None
    ) -> Explanation:
        """Why an item is in one's list: one's own items that speak for it, and public features.

        Only the release and one's own ratings are read, as for the list itself.
        """
        return explain(self, read_own(self, my_items, my_ratings, times), item, recency)

    def shelves(
        self, my_items: Any = (), my_ratings: Any = (), *, without: Any = (), times: Any = None
    ) -> dict[str, pl.DataFrame]:
        """Lists for one person that share no item, by name, as a service's home shows
        them: frames item, rank, score [, because] [, title]. Name one's items latest first;
        `times` are as for `recommend`.
        """
        made = shelves(self, my_items, my_ratings, without, times)
        return {name: self.with_titles(table) for name, table in made.items()}

    def similar_items(self, item: Any, n: int = 10) -> pl.DataFrame:
        """The n items most like one: frame item, title, rank, similarity. Public, for anybody."""
        return similar_items(self, item, n)

    @overload
    def predict(
        self,
        my_items: Any,
        my_ratings: Any,
        items: Any,
        *,
        clip: bool = True,
        with_error: Literal[False] = False,
    ) -> NDArray[np.float64]: ...

    @overload
    def predict(
        self,
        my_items: Any,
        my_ratings: Any,
        items: Any,
        *,
        clip: bool = True,
        with_error: Literal[True],
    ) -> Predictions: ...

    def predict(
        self,
        my_items: Any,
        my_ratings: Any,
        items: Any,
        *,
        clip: bool = True,
        with_error: bool = False,
    ) -> NDArray[np.float64] | Predictions:
        """One person's predicted rating of each item; the mean for an item not in the release.

        With `with_error` also the standard error of each: of the rating that the person would give.
        Two thirds of ratings are within one, on films; more, where people rate more steadily.
        """
        self.require_ratings()
        own = read_own(self, my_items, my_ratings)
        return predict(self, own, items, clip=clip, with_error=with_error)

    def errors(
        self, own: Own, people: People, who: Array, what: Array, threads: int | None = None
    ) -> NDArray[np.float64]:
        """The standard error of every pair of person and catalogue row; -1 is unknown."""
        return errors(self, own, people, who, what, threads)

    def save(self, folder: str | Path) -> Path:
        """Write the release; an old one at the same place is replaced whole or left whole."""
        return write_folder(self, folder)

    def stage(self, target: Path) -> Path:
        """Write the release to a temporary sibling of target, to be put in place later."""
        return stage(self.files(), target)

    def files(self) -> dict[str, bytes]:
        """What a release folder holds, by name."""
        return write_files(self)

    @classmethod
    def load(cls, folder: str | Path) -> Release:
        """Read a release, checking version, digest, shapes and finiteness; nothing is executed."""
        files = read_folder(folder)
        try:
            return cls.from_files(files)
        except (ReleaseError, DataError) as error:
            raise ReleaseError(f"{Path(folder).expanduser()}: {error}") from None

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Release:
        """A release from what its folder holds, with the same checks."""
        return cls(**read_fields(files))
