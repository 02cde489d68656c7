"""`@frozen` makes what `@dataclass(frozen=True, slots=True)` makes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import pytest

from rebut.core.frozen import frozen


@frozen
class Place:
    """A place."""

    path: str
    line: int = 1
    notes: list[str] = field(default_factory=list)
    heard: Callable[[str], None] = field(default=print, compare=False, repr=False)

    def label(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Usual:
    path: str
    line: int = 1
    notes: list[str] = field(default_factory=list)
    heard: Callable[[str], None] = field(default=print, compare=False, repr=False)


@frozen(kw_only=True)
class Event:
    key: str
    at: float = 0.0


@frozen
class Empty:
    pass


@frozen
class Positive:
    number: int

    def __post_init__(self) -> None:
        if self.number <= 0:
            raise ValueError("not positive")


@frozen(slots=False)
class Cached:
    text: str

    @cached_property
    def length(self) -> int:
        return len(self.text)


@frozen
class OwnRepr:
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


def test_values_are_made_from_positions_names_and_defaults() -> None:
    one = Place("app.py", notes=["a"])
    assert (one.path, one.line, one.notes, one.label()) == ("app.py", 1, ["a"], "app.py:1")
    assert Place("a").notes is not Place("a").notes
    assert Event(key="k") == Event(key="k", at=0.0)
    assert Empty() == Empty() and hash(Empty()) == hash(Empty())


@pytest.mark.parametrize("make", [Place, Usual])
def test_wrong_arguments_are_refused_as_usual(make: Any) -> None:
    for args, named in (((), {}), (("a", 1, [], print, 5), {}), (("a",), {"path": "b"}), (("a",), {"other": 1})):
        with pytest.raises(TypeError, match=rf"{make.__name__}\.__init__\(\)"):
            make(*args, **named)


def test_keyword_only_fields_have_no_position() -> None:
    with pytest.raises(TypeError):
        Event("k")  # type: ignore[misc]


def test_equality_is_by_class_and_compared_fields() -> None:
    assert Place("a", heard=print) == Place("a", heard=len)  # type: ignore[arg-type]
    assert Place("a") != Place("b")
    assert Place("a") != Usual("a") and Usual("a") != Place("a")
    assert Event(key="k") in {Event(key="k")}
    with pytest.raises(TypeError):
        hash(Place("a"))  # it has a list


def test_the_text_of_a_value_is_as_usual() -> None:
    assert repr(Place("a")) == repr(Usual("a")).replace("Usual", "Place")
    assert repr(OwnRepr("x")) == "<x>"


def test_a_value_cannot_be_changed() -> None:
    one: Any = Place("a")
    with pytest.raises(FrozenInstanceError):
        one.path = "b"
    with pytest.raises(FrozenInstanceError):
        one.new = "b"
    with pytest.raises(FrozenInstanceError):
        del one.path
    assert not hasattr(one, "__dict__")


def test_what_the_standard_library_does_with_dataclasses_works() -> None:
    one = Place("a", 2, ["n"])
    assert is_dataclass(Place) and [f.name for f in fields(Place)] == [f.name for f in fields(Usual)]
    assert replace(one, line=3) == Place("a", 3, ["n"])
    assert copy.deepcopy(one) == one and copy.deepcopy(one).notes is not one.notes
    assert copy.copy(one) == one and pickle.loads(pickle.dumps(one)) == one
    match one:
        case Place(path, line):
            assert (path, line) == ("a", 2)


def test_a_check_after_construction_runs_each_time() -> None:
    assert Positive(1).number == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="not positive"):
            Positive(0)


def test_a_cached_property_needs_no_slots() -> None:
    one = Cached("abc")
    assert one.length == 3 and one.__dict__["length"] == 3


def test_a_usual_frozen_dataclass_may_extend_one() -> None:
    @dataclass(frozen=True)
    class Longer(Place):
        end: int = 9

    assert Longer("a").end == 9 and Longer("a") == Longer("a") and Longer("a").label() == "a:1"
