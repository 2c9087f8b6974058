"""The field under attack: what claims too much falls, and so does too little noise."""

import pytest

from discreet.audit.field import games, games_of, quiet_games
from discreet.audit.game import play_game
from discreet.field import FIELD, find_field

ALPHA = 1e-6
"""The chance that any of these refutes a true claim: the tests below have some ten."""


def test_every_private_scheme_of_the_field_has_games() -> None:
    played = {game.scheme for game in games()}
    for name in FIELD:
        about = find_field(name).about
        assert (about.name in played) == about.private


@pytest.mark.parametrize("name", ["friedman", "hua"])
def test_the_only_rating_of_an_item_refutes_what_proves_nothing(name: str) -> None:
    """The loss has no bound here: 100 fits show more than twice the claim."""
    parameters = find_field(name).about.audited[-1]
    _, alone = games_of(name, parameters)
    assert play_game(alone, 100, 0.01).refuted


def test_a_rating_s_value_is_hidden_by_input_perturbation() -> None:
    (game,) = games_of("friedman", {"factors": 1})
    assert not play_game(game, 100, ALPHA).refuted


def test_too_little_noise_is_heard_and_enough_is_not() -> None:
    """Noise for 8 under a claim of (1, 0.1): 300 fits a side show more than the claim."""
    quiet = quiet_games()[-1]
    assert play_game(quiet, 300, 0.01).refuted
    (honest,) = games_of("mcsherry-mironov", find_field("mcsherry-mironov").about.audited[0])
    assert not play_game(honest, 300, ALPHA).refuted
