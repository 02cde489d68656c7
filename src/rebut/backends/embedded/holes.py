"""Holes: the small things of a form that are still to be chosen, where they stand, and how they are put in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rebut.core.types import Json

Schema = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Hole:
    """A small thing that is still to be chosen."""

    label: str
    schema: Schema
    kept: tuple[str, ...] = ()
    """What a list of ids held before it was sent back."""


@dataclass(frozen=True, slots=True)
class Naming:
    """A text that must name an id, and the id that the model is to choose for it."""

    text: str
    hole: Hole


Tree = Json | Hole | Naming | list["Tree"] | dict[str, "Tree"]


def holes_in(tree: Tree) -> Iterator[Hole]:
    if isinstance(tree, Hole):
        yield tree
    elif isinstance(tree, Naming):
        yield tree.hole
    elif isinstance(tree, dict | list):
        for inner in tree.values() if isinstance(tree, dict) else tree:
            yield from holes_in(inner)


def put(tree: Tree, values: Mapping[str, Json]) -> Json:
    if isinstance(tree, Hole):
        value = values[tree.label]
        return list(dict.fromkeys([*tree.kept, *map(str, value)])) if isinstance(value, list) else value
    if isinstance(tree, Naming):
        return f"{tree.text} ({values[tree.hole.label]})"
    if isinstance(tree, dict):
        return {name: put(inner, values) for name, inner in tree.items()}
    if isinstance(tree, list):
        return [put(inner, values) for inner in tree]
    return tree


def row(hole: Hole) -> str:
    items = hole.schema.get("items")
    options = hole.schema.get("enum") or (items.get("enum") if isinstance(items, dict) else None)
    said = f" ({' or '.join(map(str, options))})" if isinstance(options, list) else ""
    return f"- {hole.label}{said}{colon(about(hole.schema))}"


def about(schema: Schema) -> str:
    """What the schema says about it, on one line."""
    said = schema.get("description")
    return " ".join(said.split()).rstrip(".") if isinstance(said, str) else ""


def colon(said: str) -> str:
    return f": {said}" if said else ""
