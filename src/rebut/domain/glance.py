"""A glance: how an element of an answer reads in one line, told by its form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Glance:
    """Which of an element's attributes are shown while its answer is being written.

    A form sets it as `glance: ClassVar[Glance]`. One that has a `text` and a `severity` needs not: it reads so anyway.
    """

    words: str = "text"
    tag: str = "severity"
    """What kind it is, in a word: how grave, or which move. Empty for none."""
    about: str = ""
    """The id of what it speaks to."""
    cites: str = "evidence"
    bare: str = ""
    """What is said of one that cites nothing."""
    stays: bool = True
    """Whether it stays on screen below its turn. Not where the ending lists every one of them."""


CLAIM = Glance(tag="", bare="unsupported")
"""Something asserted in one's own case."""


def of(element: type[BaseModel]) -> Glance | None:
    """How an element of this form reads; None where nothing says that it is to be shown."""
    told = getattr(element, "glance", None)
    if isinstance(told, Glance):
        return told
    return Glance() if {"text", "severity"} <= element.model_fields.keys() else None


@lru_cache(maxsize=256)
def lists(form: type[BaseModel]) -> Mapping[str, tuple[type[BaseModel], Glance]]:
    """The lists of a form whose elements are worth a line each, by the names of their fields."""
    from pydantic import BaseModel

    out: dict[str, tuple[type[BaseModel], Glance]] = {}
    for name, field in form.model_fields.items():
        inner = get_args(field.annotation)
        if get_origin(field.annotation) is list and isinstance(inner[0], type) and issubclass(inner[0], BaseModel):
            glance = of(inner[0])
            if glance is not None:
                out[name] = (inner[0], glance)
    return out
