import numpy as np
import polars as pl
import pytest

from discreet.data.ratings import Ratings
from discreet.errors import SpecError
from discreet.privacy.spec import PrivacySpec
from tests.conftest import random_ratings


def shuffled(ratings: Ratings) -> Ratings:
    return Ratings.from_frame(ratings.to_frame().sample(fraction=1, shuffle=True, seed=3))


def test_uniform_is_the_same_for_everybody(small: Ratings) -> None:
    spec = PrivacySpec.uniform(0.3)
    assert (spec.levels(small) == 0.3).all()
    assert spec.max_level == spec.min_level == 0.3


def with_gaps(ratings: Ratings) -> Ratings:
    """Every third rating has no level."""
    blank = pl.when(pl.int_range(pl.len()) % 3 > 0).then("epsilon")
    return Ratings.from_frame(ratings.to_frame().with_columns(blank))


def test_a_blank_level_is_the_declared_default(small: Ratings) -> None:
    for default in (0.5, 1.0):
        levels = PrivacySpec.column(default=default).levels(with_gaps(small))
        assert (levels == np.where(np.arange(len(small)) % 3 > 0, small.epsilon, default)).all()


def test_a_blank_level_without_a_declared_default_is_an_error_that_names_the_rating(
    small: Ratings,
) -> None:
    user, item = small.users.values[0], small.items.take(small.item)[0]
    words = f"user '{user}', item {item} has no level.*--default-level"
    with pytest.raises(SpecError, match=words):
        PrivacySpec.column().levels(with_gaps(small))
    assert (PrivacySpec.column().levels(small) == small.epsilon).all()


def test_levels_by_user_and_by_item_fall_back_to_a_declared_default(small: Ratings) -> None:
    by_user = PrivacySpec.by_user({"u1": 0.2, "nobody": 0.1}, default=0.9).levels(small)
    names = small.users.take(small.user)
    assert (by_user == np.where(names == "u1", 0.2, 0.9)).all()
    by_item = PrivacySpec.by_item({105: 0.4}, max_level=0.6, default=0.6).levels(small)
    items = small.items.take(small.item)
    assert (by_item == np.where(items == 105, 0.4, 0.6)).all()


def test_whoever_a_mapping_does_not_name_is_an_error_without_a_declared_default(
    small: Ratings,
) -> None:
    everybody = dict.fromkeys(small.users.values, 0.2)
    assert (PrivacySpec.by_user(everybody).levels(small) == 0.2).all()
    del everybody["u7"]
    with pytest.raises(SpecError, match=r"user 'u7', item .* has no level"):
        PrivacySpec.by_user(everybody).levels(small)
    # Who rated nothing needs no level.
    rest = small.subset(np.asarray(small.users.take(small.user) != "u7"))
    assert (PrivacySpec.by_user(everybody).levels(rest) == 0.2).all()
    with pytest.raises(SpecError, match=r"item 1.. has no level"):
        PrivacySpec.by_item({105: 0.4}).levels(small)


def test_a_description_says_what_applies_to_a_rating_without_a_level() -> None:
    assert PrivacySpec.column().describe().endswith("up to 1.0; no default")
    assert PrivacySpec.column(default=0.5).describe().endswith("; 0.5 if none was given")
    assert PrivacySpec.column().offer.default is None


def test_keys_from_json_are_texts_and_name_the_same_people() -> None:
    frame = pl.DataFrame({"user": [3, 4], "item": [1, 1], "rating": [5, 5]})
    levels = PrivacySpec.by_user({"3": 0.1}, default=1.0).levels(Ratings.from_frame(frame))
    assert levels.tolist() == [0.1, 1.0]
    with pytest.raises(SpecError, match="level of user 'absent' must be one that is offered"):
        PrivacySpec.by_user({"absent": 3.0})


def test_groups_follow_the_paper_s_fractions_and_ranges() -> None:
    ratings = random_ratings(200, 200, 20_000, seed=2)
    levels = PrivacySpec.groups(seed=1).levels(ratings)
    conservative, liberal = levels < 0.2, levels == 1.0
    moderate = ~conservative & ~liberal
    # Five standard deviations of a binomial share at this size.
    for group, share in ((conservative, 0.54), (moderate, 0.37), (liberal, 0.09)):
        assert abs(group.mean() - share) < 5 * np.sqrt(share * (1 - share) / len(levels))
    assert levels.min() >= 0.1
    assert abs(levels[conservative].mean() - 0.15) < 0.002
    assert abs(levels[moderate].mean() - 0.6) < 0.02


def test_a_level_belongs_to_its_record_and_not_to_its_row(small: Ratings) -> None:
    spec = PrivacySpec.groups(seed=4)
    whole = dict(zip(zip(small.user, small.item, strict=True), spec.levels(small), strict=True))
    fewer = Ratings.from_frame(small.to_frame()[1:])
    assert (spec.levels(shuffled(small)) == spec.levels(small)).all()
    assert (spec.levels(fewer) == spec.levels(small)[1:]).all()
    assert len(set(whole.values())) > 100
    assert (PrivacySpec.groups(seed=5).levels(small) != spec.levels(small)).mean() > 0.8


@pytest.mark.parametrize("level", [0, -1, float("nan"), float("inf"), "x", None, True])
def test_a_level_must_be_a_finite_positive_number(level: object) -> None:
    with pytest.raises(SpecError, match="must be finite and > 0"):
        PrivacySpec.uniform(level)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="level of user 'a' must be finite"):
        PrivacySpec.by_user({"a": level})  # type: ignore[dict-item]


def test_what_cannot_be_honoured_is_refused(small: Ratings) -> None:
    with pytest.raises(SpecError, match=r"declared max_level = 0.5: got .*user 'u"):
        PrivacySpec.column(max_level=0.5).levels(small)
    with pytest.raises(SpecError, match=r"declared min_level = 0.5"):
        PrivacySpec.column(min_level=0.5).levels(small)
    with pytest.raises(SpecError, match="has no epsilon column"):
        PrivacySpec.column().levels(Ratings.from_frame(small.to_frame().drop("epsilon")))
    with pytest.raises(SpecError, match="f_c \\+ f_m must be at most 1"):
        PrivacySpec.groups(f_c=0.7, f_m=0.7)
    with pytest.raises(SpecError, match="levels must rise"):
        PrivacySpec.groups(eps_c=0.5)
    with pytest.raises(SpecError, match="default level must be one that is offered"):
        PrivacySpec.column(default=2.0)


def test_a_description_names_nobody_and_no_level_that_occurs() -> None:
    text = PrivacySpec.by_user({"u1": 0.2345}).describe()
    assert "u1" not in text
    assert "0.2345" not in text
    assert "u1" not in repr(PrivacySpec.by_user({"u1": 0.2345}))
