"""The canvas that figures are drawn on, for those who installed the extra `plots`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import MissingExtraError, OutputError


@contextmanager
def canvas(path: Path, size: tuple[float, float] = (7.2, 4.5), columns: int = 1) -> Iterator[Any]:
    """Axes to draw on; what was drawn is saved to `path`."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError(
            "drawing needs Matplotlib: install the extra with: pip install 'discreet[plots]'"
        ) from None
    figure, axes = pyplot.subplots(1, columns, figsize=size, dpi=150, layout="constrained")
    try:
        yield axes
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {path}: {error}") from None
    finally:
        pyplot.close(figure)
