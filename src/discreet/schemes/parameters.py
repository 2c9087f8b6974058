"""Parameters by name, as scikit-learn's tools expect them; schemes themselves never change."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

from discreet.errors import ParameterError


class Parameters:
    """What a scheme's parameters are, and the same scheme with others: for search and clone."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by their names; `deep` is accepted, and nothing lies deeper."""
        del deep
        own: Any = self
        return {field.name: getattr(self, field.name) for field in fields(own)}

    def set_params(self, **given: Any) -> Self:
        """A scheme with these parameters; this one is frozen and stays as it is.

        >>> from discreet.schemes.tally import Tally
        >>> tally = Tally()
        >>> tally.set_params(unit="person").unit, tally.unit
        ('person', 'rating')
        """
        for name in given:
            if name not in self.get_params():
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}: it has "
                    f"{', '.join(self.get_params())}"
                )
        own: Any = self
        made: Self = replace(own, **given)
        return made

    def __sklearn_clone__(self) -> Self:
        return self  # frozen, and holds nothing that was learned
