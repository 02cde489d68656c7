"""Forms: the pydantic base of every structured reply, and the fields that all protocols share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    StringConstraints,
    create_model,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_before_validator_function

from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.domain.checks import CodeCheck, Shows
from rebut.domain.ledger import Evidence

F = TypeVar("F", bound="Form")


class Form(BaseModel):
    """What a participant fills in. `version` is part of a question's fingerprint: raise it when the meaning changes.

    The generated JSON schema is not: it changes with releases of pydantic.
    """

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, defer_build=True)
    version: ClassVar[int] = 1
    checks: ClassVar[Checks] = ""

    def is_agreement(self) -> bool:
        """Whether the reply agrees, keeps, concedes or resolves anything.

        A reply that agrees is read only if it is one valid JSON object and nothing else. A reply that only objects, or
        takes a position of its own, is also read from among other text, and repaired. If a form does not override this
        method, all its replies count as agreement, which is safe: at worst the participant is asked once more.
        """
        return True


def no_items() -> list[Any]:
    """An empty list, as a default. pydantic takes half a millisecond for each field whose default is `list` itself."""
    return []


class Folded:
    """Annotates a `Literal`, to accept its options in any case, with words joined by space, hyphen or underscore.

    `meant` maps other words to options. An unknown word becomes `other`, if that is given: an entry must not be lost
    because of a label that decides nothing.
    """

    def __init__(self, *, other: str = "", **meant: str) -> None:
        self._other, self._meant = other, meant

    def __get_pydantic_core_schema__(self, choice: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain = {_plain(option): option for option in get_args(choice)} | self._meant

        def fold(value: Any) -> Any:
            return plain.get(_plain(value), self._other or value) if isinstance(value, str) else value

        return no_info_before_validator_function(fold, handler(choice))


FOLDED = Folded()
OTHERWISE = Folded(other="other")
"""For a category: an unknown word becomes `other`."""


def _words(value: Any) -> Any:
    """The value as a text, where models give null, a list or a number."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(str(one) for one in value)
    return value if isinstance(value, str | dict) else str(value)


AS_WORDS = BeforeValidator(_words)
Words = Annotated[str, AS_WORDS]
"""A text that decides nothing, so that null, a list or a number is accepted in its place."""


def _plain(text: str) -> str:
    return text.strip().casefold().replace("_", " ").replace("-", " ")


GRADES = {"critical": "P1", "blocker": "P1", "high": "P1", "major": "P2", "medium": "P2", "moderate": "P2"}
GRADES |= {"low": "P3", "minor": "P3", "info": "P3", "trivial": "P3"}
Severity = Annotated[Literal["P1", "P2", "P3"], Folded(**GRADES)]
Level = Annotated[Literal["high", "medium", "low"], FOLDED]


class Cite(Form):
    """One piece of evidence."""

    place: str = Field(
        description="a file's path, a colon and its line or lines; or a commit, a section of the text, a URL, a "
        "benchmark, documented behaviour"
    )
    quote: Words = Field(default="", description="the words there, copied exactly; empty for none")

    def evidence(self) -> Evidence:
        return Evidence(self.place, self.quote)


def cited(cites: Sequence[Cite]) -> tuple[Evidence, ...]:
    """The evidence of a statement."""
    return tuple(c.evidence() for c in cites)


SHOWN_BY = {
    "fails on new, passes on old": "fails only on the new version",
    "fails": "fails on the new version",
    "passes": "passes on the new version",
    "prints": "prints this",
}
"""Other words for what a check shows."""
LATER: dict[str, Any] = {"x-later": True}
"""Marks a field that makes sense only once there are points: it is not in the schema before that."""
ASKED: dict[str, Any] = {"x-asked": True}
"""Marks an optional field that the embedded model must fill in, too: without it the reply would say nothing."""
NO_ID = ("", "-", "–", "none", "null", "n/a", "na", "new", "no")


def says_nothing(value: Any) -> bool:
    """Whether a value is empty or a word for nothing, with which models fill in a field that they cannot leave out."""
    return value.strip().casefold() in NO_ID if isinstance(value, str) else not value


def _id(value: Any) -> Any:
    """An id as given; empty if the value is no text, or a word for nothing."""
    return value if isinstance(value, str) and not says_nothing(value) else ""


SameAs = Annotated[
    str,
    BeforeValidator(_id),
    Field(
        default="",
        description="the id of an earlier one that is the same issue; empty for none",
        json_schema_extra=LATER,
    ),
]


def sent_schema(schema: Mapping[str, Json], *, first: bool) -> dict[str, Json]:
    """The JSON schema of a form as a model gets it.

    Every key is required, so that a grammar that writes required keys first keeps their order: reasons before the
    conclusion. Titles and defaults are left out: the names say as much. Before there are points
    (`first`), fields about earlier points are left out. A reply that lacks an optional key is still read.
    """
    out: dict[str, Any] = {"title": schema["title"], **_trimmed(schema, first)}
    while unused := set(out.get("$defs", ())) - set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(out))):
        for name in unused:
            del out["$defs"][name]
    return out


def _trimmed(node: Any, first: bool) -> Any:
    if isinstance(node, list):
        return [_trimmed(one, first) for one in node]
    if not isinstance(node, dict):
        return node
    dropped = {"title", "default", "x-later", "x-asked", *(("description",) if "properties" in node else ())}
    out = {key: _trimmed(value, first) for key, value in node.items() if key not in dropped or isinstance(value, dict)}
    for key in ("properties", "$defs"):
        if isinstance(names := node.get(key), dict):
            out[key] = {n: _trimmed(one, first) for n, one in names.items() if not (first and one.get("x-later"))}
    if "properties" in out:
        out["required"] = list(out["properties"])
    return out


def _cites(value: Any) -> Any:
    """The value as a list of citations: models often give one citation, or a bare place, in place of a list."""
    if isinstance(value, str | dict):
        value = [value]
    if value is None:
        return []
    if isinstance(value, list):
        cites = [_cite(item) if isinstance(item, str) else item for item in value if item]
        return [cite for cite in cites if not isinstance(cite, dict) or isinstance(cite.get("place"), str)]
    return value


def _cite(text: str) -> dict[str, str]:
    """Split a citation that was given as one text into its place and the words that it quotes."""
    from rebut.core.citation_syntax import find_citations

    found = find_citations(text)
    if len(found) == 1 and found[0].citation.quote:
        return {"place": found[0].citation.place, "quote": found[0].citation.quote}
    return {"place": text}


def _placed(cites: list[Cite]) -> list[Cite]:
    """Drop citations without a place: models that must fill in a form put empty objects into it."""
    return [cite for cite in cites if cite.place]


Cites = Annotated[list[Cite], BeforeValidator(_cites), AfterValidator(_placed)]


class CheckCode(Form):
    """Code that a program runs, and what it is to show."""

    runner: str = Field(default="", description="the name of the runner; empty for no check")
    code: Annotated[str, StringConstraints(strip_whitespace=False), AS_WORDS] = Field(
        default="", description="the whole file, at most 40 lines"
    )
    shows: Annotated[Shows, Folded(**SHOWN_BY)] = Field(
        default="fails only on the new version",
        description="what it is to show: `fails only on the new version` (it passes on the old one) is the strongest; "
        "`fails on the new version` is for code that the old one lacks",
    )
    prints: Words = Field(default="", description="for `prints this`: exactly what it prints")


def _no_check(value: Any) -> Any:
    """The value, or None if it has no code: models fill in a check that they cannot leave out."""
    if isinstance(value, dict) and (says_nothing(value.get("code")) or not isinstance(value.get("code"), str)):
        return None
    return None if isinstance(value, str) else value


Checks = Literal["", "may have one", "weighs one", "weighs all", "states some"]
"""How a form, or an entry of it, uses checks.

`may have one`: a check of its own. `weighs one`: rules on a statement that may have a check, and may have one, too.
`weighs all`: rules on all statements. `states some`: has a document, and lists its statements that a check shows.
"""


def code_of(holder: Form) -> CodeCheck | None:
    """The check of a statement, if its form has one and it is filled in."""
    check: CheckCode | None = getattr(holder, "check", None)
    return CodeCheck(check.runner.strip().casefold(), check.code, check.shows, check.prints) if check else None


@lru_cache(maxsize=64)
def with_checks(form: type[F]) -> type[F]:
    """The form for a debate in which checks are run, with fields for them where it uses checks.

    In a debate without checks, forms and prompts are the same as in versions of rebut that had no checks.
    """
    changed: dict[str, Any] = {}
    for name, field in form.model_fields.items():
        entry = entry_of(form, name)
        if entry is not None and entry.checks:
            changed[name] = (list[_with_check(entry)], copy(field))  # type: ignore[misc]
    changed |= _check_fields(form.checks)
    return create_model(f"Checked{form.__name__}", __base__=form, __doc__=form.__doc__, **changed) if changed else form


@lru_cache(maxsize=64)
def _with_check(entry: type[F]) -> type[F]:
    fields = _check_fields(entry.checks)
    return create_model(f"Checked{entry.__name__}", __base__=entry, __doc__=entry.__doc__, **fields)


def _check_fields(checks: Checks) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if checks in ("may have one", "weighs one"):
        fields["check"] = (CHECK, Field(default=None, description="code that shows it; null for none"))
    if checks in ("weighs one", "weighs all"):
        fields["check_fault"] = (Words, Field(default="", description=FAULT))
    if checks == "states some":
        fields["checked"] = (list[CheckedStatement], Field(default_factory=no_items, description=STATED))
    return fields


CHECK = Annotated[CheckCode | None, BeforeValidator(_no_check)]


class CheckedStatement(Form):
    """A statement of a document, and code that shows it."""

    text: str = Field(description="the statement, as the document has it")
    check: CHECK = Field(default=None, description="code that shows it")


STATED = "statements of the document that a check shows; empty for none"
FAULT = "what is wrong with a check that is marked shown, if you rule against what it shows; empty for none"


def fault_of(ruling: Form) -> str:
    """What a ruling says against a check; empty for a form without checks."""
    return str(getattr(ruling, "check_fault", ""))


def weighs_checks(ruling: Form) -> bool:
    """Whether the form has a field for what is wrong with a check: the forms of people and rules have none."""
    return "check_fault" in type(ruling).model_fields


def stated(reply: Form) -> list[tuple[str, CodeCheck]]:
    """The statements of a document that have a check."""
    found: Sequence[CheckedStatement] = getattr(reply, "checked", ())
    return [(one.text, check) for one in found if one.text and (check := code_of(one))]


def _listed(value: Any) -> Any:
    """The value as a list: models often give one text in place of a list."""
    return [value] if isinstance(value, str) and value.strip() else value


Need = Annotated[
    list[str],
    BeforeValidator(_listed),
    Field(
        default_factory=no_items,
        description="what to read before you answer for good: path:10-40, path, grep:TEXT or tree:DIR",
    ),
]


def entry_of(schema: type[Form], name: str) -> type[Form] | None:
    """The form of the entries that a field holds, or of the field itself; None if it holds plain values."""
    return entries_of(schema).get(name)


@lru_cache(maxsize=256)
def entries_of(schema: type[Form]) -> Mapping[str, type[Form] | None]:
    """Each name under which a form reads a field, with the form of the field's entries; None for plain values."""
    out: dict[str, type[Form] | None] = {}
    for name, field in schema.model_fields.items():
        kinds = (kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type))
        form = next((kind for kind in kinds if issubclass(kind, Form)), None)
        out |= dict.fromkeys((name, field.alias or name), form)
    return out


# How an element of an answer is shown in one line while the answer is being written.


@frozen
class Glance:
    """Which fields of an element are shown while its answer is being written.

    A form sets it as `glance: ClassVar[Glance]`. A form with a `text` and a `severity` has the default.
    """

    words: str = "text"
    tag: str = "severity"
    """The field with the element's kind in a word: its severity, or its move. Empty for none."""
    about: str = ""
    """The field with the id of the point that the element is about. Empty for none."""
    cites: str = "evidence"
    bare: str = ""
    """The label of an element that cites nothing."""
    stays: bool = True
    """Whether the element stays on the screen after its turn. It need not if the ending lists all such elements."""


CLAIM = Glance(tag="", bare="unsupported")
"""Something that a participant asserts in its own case."""


def glance_of(element: type[BaseModel]) -> Glance | None:
    """How an element of this form is shown; None if it is not shown."""
    own = getattr(element, "glance", None)
    if isinstance(own, Glance):
        return own
    return Glance() if {"text", "severity"} <= element.model_fields.keys() else None


@lru_cache(maxsize=256)
def lists(form: type[BaseModel]) -> Mapping[str, tuple[type[BaseModel], Glance]]:
    """The lists of a form whose elements are shown, by the names of their fields."""
    out: dict[str, tuple[type[BaseModel], Glance]] = {}
    for name, field in form.model_fields.items():
        inner = get_args(field.annotation)
        if get_origin(field.annotation) is list and isinstance(inner[0], type) and issubclass(inner[0], BaseModel):
            glance = glance_of(inner[0])
            if glance is not None:
                out[name] = (inner[0], glance)
    return out
