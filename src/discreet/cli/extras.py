"""Extras: optional packages, looked for before any work begins."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import typer

from discreet.errors import MissingExtraError

EXTRAS = {
    "plots": {"matplotlib": "matplotlib"},
    "audit": {"scipy": "scipy", "sklearn": "scikit-learn"},
    "field": {"dp_accounting": "dp-accounting"},
    "opendp": {"opendp": "opendp"},
    "spark": {"pyspark": "pyspark", "pyarrow": "pyarrow", "pandas": "pandas"},
    "serve": {
        "fastapi": "fastapi",
        "uvicorn": "uvicorn",
        "sqlalchemy": "sqlalchemy",
        "alembic": "alembic",
        "jinja2": "jinja2",
        "markdown_it": "markdown-it-py",
        "prometheus_client": "prometheus-client",
        "psycopg": "psycopg",
        "python_multipart": "python-multipart",
    },
    "oidc": {"joserfc": "joserfc"},
}
"""Every extra, the modules that it is there for, and the packages these come in."""


def missing(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    return [name for module, name in EXTRAS[extra].items() if find_spec(module) is None]


def how_to_install(extra: str) -> str:
    """The words that install it."""
    return f"pip install 'discreet[{extra}]'"


def require(extra: str, what: str) -> None:
    """An error, if something that needs an extra would fail for want of it."""
    if absent := missing(extra):
        raise MissingExtraError(f"{what} needs {', '.join(absent)}: {how_to_install(extra)}")


def tell_undrawn() -> bool:
    """Whether figures cannot be drawn: then it is said at once, and the work goes on without."""
    absent = missing("plots")
    if absent:
        told = f"No figures will be drawn without {', '.join(absent)}: {how_to_install('plots')}"
        typer.echo(told, err=True)
    return bool(absent)


def versions(extra: str) -> str:
    """What of an extra is installed, in which version."""
    found = []
    for module, name in EXTRAS[extra].items():
        if find_spec(module) is not None:
            try:
                found.append(f"{name} {version(name)}")
            except PackageNotFoundError:
                found.append(name)
    return ", ".join(found)
