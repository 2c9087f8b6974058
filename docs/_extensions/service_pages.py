"""The service's API as Markdown, from the OpenAPI document that the service itself shows."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.service.app import create_app


def write() -> str:
    """A section for each part of the API, with every request, and the shapes they take and give."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(str(Path(folder) / "empty.db"))
        establish(database)
        document = create_app(database).openapi()
        database.close()
    by_tag: dict[str, list[str]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, asked in methods.items():
            by_tag[asked.get("tags", ["others"])[0]].append(_request(path, method, asked))
    parts = [
        f"## {tag[0].upper()}{tag[1:]}\n\n" + "\n\n".join(rows) for tag, rows in by_tag.items()
    ]
    shapes = document["components"]["schemas"]
    return "\n\n".join([*parts, "## Shapes", *(_shape(name, shapes[name]) for name in shapes)])


def _request(path: str, method: str, asked: dict[str, Any]) -> str:
    lines = [f"### {method.upper()} {path}".replace("{", "\\{"), asked.get("description", "")]
    takes = [f"| `{p['name']}` ({p['in']}) | {_kind(p['schema'])} | {p.get('description', '')} |"
             for p in asked.get("parameters", ())]  # fmt: skip
    for kind, content in asked.get("requestBody", {}).get("content", {}).items():
        takes.append(f"| the body, `{kind}` | {_kind(content.get('schema', {}))} | |")
    if takes:
        lines.append("\n".join(["| takes | | |", "|---|---|---|", *takes]))
    answers = [f"| {code} | {_answer(told)} |" for code, told in asked["responses"].items()]
    lines.append("\n".join(["| answers | |", "|---|---|", *answers]))
    return "\n\n".join(line for line in lines if line)


def _answer(told: dict[str, Any]) -> str:
    kinds = [_kind(content.get("schema", {})) for content in told.get("content", {}).values()]
    return ": ".join(part for part in (told.get("description", ""), ", ".join(kinds)) if part)


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {})) or 'anything'}"
    return str(schema.get("type", ""))


def _shape(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = [
        f"| `{field}`{'' if field in needed else ' (optional)'} | {_kind(known)} | "
        f"{known.get('description', '')} |"
        for field, known in schema.get("properties", {}).items()
    ]
    table = "\n".join(["| field | type | |", "|---|---|---|", *rows]) if rows else ""
    return "\n\n".join(
        part for part in (f"### {name}", schema.get("description", ""), table) if part
    )
