"""Secrets recognised by their own shape, or by the name of a service before them: the entries of `secret_table`.

The tests try every entry on an example and a near miss.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain

from rebut.core.crowds import Allowance, Crowds, Span
from rebut.core.frozen import frozen
from rebut.core.lazy_pattern import any_character, any_of
from rebut.core.searched_text import SHORTEST, SearchedText
from rebut.core.secret_table import TABLES

# Escapes count as an edge: in JSON a secret may follow `\n`, in a URL `%3D`, and both end in a letter or digit.
EDGES = ("(?<![A-Za-z0-9]{})", r"(?<=\\[nrtbf]{})", "(?<=%[0-9A-Fa-f]{{2}}{})", r"(?<=\\u[0-9a-fA-F]{{4}}{})")
WORD, ESCAPE = "[^A-Za-z0-9]", r"(?:\\(?:[nrtbf]|u[0-9a-fA-F]{4})|%[0-9A-Fa-f]{2})"
"""Two of these edges as patterns of their own: the character before a word, and an escape."""
LONGEST_GATE = 64
"""No text that opens a secret is longer."""
FEW = 8
"""Kinds of secrets, or names, that are searched one after the other. A text with more is gone through once for all."""
TRIES = 300
"""Places at which a shape is tried before the rest of the text is searched for it in one go."""
UNLIMITED = Crowds("", Allowance(""))
# What may be between the name of a service and its secret: the rest of a name, quotes, and a sign.
LINK = (
    r"[\w.\- \t]{0,24}+\\?[\"'`]?[\])]?[ \t]{0,8}"
    r"(?:->|[:?|!]{0,3}={1,3}>?|:{1,2}|,|\|\||>)\s{0,8}\\?[\"'`(]{0,3}(?=[a-z_.=:+~/-]{0,100}+\d)"
)
LONGEST_LINK = 42
"""Characters of a link up to its sign."""
SIGNS = ">=:,|"
DENSE = 12
"""Characters between two signs, on average, below which it takes longer to look at each sign than at everything."""
SIGN = re.compile(rf"[{SIGNS}](?![{SIGNS}])\s{{0,8}}\\?[\"'`(]{{0,3}}(?=[\w.=:+~/-]{{{SHORTEST}}})", re.ASCII)
"""The end of a sign, before something that is long enough for a value."""


@frozen(slots=False)
class Shape:
    """A pattern with one gate: a text that has to occur for the pattern to be worth trying."""

    kind: str
    gate: str
    source: str
    holds: Callable[[str], bool]
    before: tuple[str, int, int] = ("", 0, 0)
    """For a gate inside the secret: what is before it, as in `secret_table`."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Made on first use: few of the patterns are ever needed in one run, and all of them would delay each start."""
        return _compiled(self.source)

    @property
    def spaced(self) -> bool:
        return " " in self.gate or r"\s" in self.source or r"\n" in self.source

    @property
    def opens(self) -> bool:
        """The gate is the beginning."""
        return self.source.startswith(re.escape(self.gate))

    @property
    def whole(self) -> bool:
        """The match is the secret itself, so that it is recognised also where it is alone."""
        return "(?P<value>" not in self.source


def spans(searched: SearchedText) -> Iterator[Span]:
    """Where secrets are that their own shape shows."""
    text, crowds, long = searched.text, searched.crowds, searched.long
    words_first = len(long) < len(text) // 2  # otherwise it takes as long to look at its words alone
    opened = _opened(long) if words_first else None
    if opened is None or len(opened) > FEW:
        yield from _all_opened(opened, text, crowds)
    else:
        for shape in opened.values():
            yield from _held(shape, crowds.places(shape.pattern, text))
    spaced, unspaced = _others()
    if searched.has_any(_gates_of_spaced()):
        for word, shape in spaced:
            if searched.has(word):
                yield from _held(shape, crowds.places(shape.pattern, text))
    for shape in unspaced if long else ():
        if shape.gate not in long:
            continue
        if shape.opens:
            if not words_first or shape.pattern.search(long):
                yield from _held(shape, crowds.places(shape.pattern, text))
        elif not words_first or any(True for _ in _around(shape, long, UNLIMITED)):
            yield from _held(shape, _around(shape, text, crowds))


def _all_opened(opened: Mapping[int, Shape] | None, text: str, crowds: Crowds) -> Iterator[Span]:
    """The same as a search for one shape after the other, in one go. `None` stands for all shapes."""
    by_gate = _by_gate()
    for begun in (_first(text), *(_begun(crowds.places(pattern, text)) for pattern in _openings(text))):
        done: dict[int, int] = {}
        for gate, at in begun:
            for n, shape in by_gate[gate]:
                wanted = opened is None or n in opened
                if wanted and at >= done.get(n, 0) and (m := shape.pattern.match(text, at)):
                    done[n] = m.end()
                    yield from _held(shape, [m])


def _held(shape: Shape, matches: Iterable[re.Match[str]]) -> Iterator[Span]:
    group = 0 if shape.whole else "value"
    return (m.span(group) for m in matches if shape.holds(m[group]))


def _opened(long: str) -> dict[int, Shape]:
    """The shapes that occur in these words, of those that begin with a text of their own."""
    by_gate = _by_gate()
    found: dict[int, Shape] = {}
    left: dict[str, int] = {}
    for gate, at in chain(_first(long), *(_begun(pattern.finditer(long)) for pattern in _openings(long))):
        tries = left.get(gate, TRIES)
        if not tries:
            continue
        open = [(n, shape) for n, shape in by_gate[gate] if n not in found]
        if tries == 1:
            found |= {n: shape for n, shape in open if shape.pattern.search(long, at)}
        else:
            found |= {n: shape for n, shape in open if shape.pattern.match(long, at)}
        left[gate] = tries - 1 if open else 0
    return found


def _begun(places: Iterable[re.Match[str]]) -> Iterator[tuple[str, int]]:
    """Which beginning of a shape is at each of these places, and where it is."""
    return ((place[1], place.start(1)) for place in places)


def _first(text: str) -> list[tuple[str, int]]:
    """Which beginning of a shape the text begins with."""
    place = _opening(WORD).match("\n" + text[:LONGEST_GATE])
    return [(place[1], 0)] if place else []


def _openings(text: str) -> list[re.Pattern[str]]:
    """Patterns for the beginnings of shapes after an edge, for the edges that this text may have."""
    return [_opening(edge) for edge in ((WORD, ESCAPE) if "\\" in text or "%" in text else (WORD,))]


def _around(shape: Shape, text: str, crowds: Crowds) -> Iterator[re.Match[str]]:
    """The matches of a shape with its gate inside: it begins at one of a few places before the gate."""
    behind, least, most = shape.before
    gate = re.escape(shape.gate)
    done = 0
    for place in crowds.places(_compiled(f"{gate}(?<={behind}{gate})"), text):
        at = place.start()
        for start in range(max(done, at - most), at - least + 1):
            if m := shape.pattern.match(text, start):
                done = m.end()
                yield m
                break


def named(searched: SearchedText) -> Iterator[re.Match[str]]:
    """Values of the right form after a service's name. They may still be fillers."""
    if not searched.long:
        return
    text, crowds, shapes_of = searched.text, searched.crowds, _keyed()
    few = searched.those(_service_names())
    if len(few) <= FEW:
        for name in few:
            # A name and its link are looked for in lower case; a search for plain characters takes no time.
            for m in crowds.places(_linked(name), searched.low):
                yield from (v for shape in shapes_of[name] if (v := shape.pattern.match(text, m.end())))
        return
    pattern, by_name, longest = _names()
    low, link = searched.low, _compiled(LINK)
    for start, end in _before_signs(low, longest + LONGEST_LINK):
        while place := pattern.search(low, start, end):
            start = place.start() + 1  # another name may begin inside this one
            if (linked := link.match(low, place.end())) and crowds.admits(place.start()):
                yield from (v for shape in by_name[place[0]] if (v := shape.pattern.match(text, linked.end())))


def _before_signs(low: str, far: int) -> Iterator[Span]:
    """Where a name and its link may be: at most `far` characters before a sign. Stretches that overlap are one."""
    if sum(map(low.count, SIGNS)) * DENSE > len(low):  # everywhere
        yield 0, len(low)
        return
    first = last = 0
    for sign in SIGN.finditer(low):
        if sign.start() - far > last:
            yield first, last
            first = sign.start() - far
        last = sign.start()
    yield first, last


def kind_of(secret: str) -> str | None:
    """What to call a secret, judged by itself alone."""
    begins, contains = _by_beginning()
    likely: list[tuple[int, Shape]] = [*begins.get(secret[:2], ()), *(one for one in contains if one[1].gate in secret)]
    for _, shape in sorted(likely, key=lambda one: one[0]):
        # `fullmatch` would try each shorter run, too, which takes hours on a long secret with an odd end.
        m = shape.pattern.match(secret) if shape.gate in secret else None
        if m and m.end() == len(secret) and shape.holds(secret):
            return shape.kind
    return None


# Conditions on a whole secret, which a pattern could only state by looking far ahead. ---------------------------------


LONG_PART, DIGIT, THREE_DIGITS = re.compile(r"[^-_.]{16}"), re.compile(r"\d"), re.compile(r"\d\D*+\d\D*+\d")
"""Searched rather than counted: a token may be as long as the text."""


def _always(token: str) -> bool:
    return True


def dense(token: str) -> bool:
    """Random rather than words joined by hyphens: a long unbroken part, or several digits."""
    return LONG_PART.search(token) is not None or THREE_DIGITS.search(token) is not None


def _digits(token: str) -> bool:
    return DIGIT.search(token) is not None


def mixed(token: str) -> bool:
    """Small letters, capitals and digits in one long part, as no word and hardly a name has them."""
    part = max(re.split(r"[-_.]", token), key=len)
    return len(part) >= 12 and _digits(token) and part.upper() != part != part.lower()


CHECKS: dict[str, Callable[[str], bool]] = {"": _always, "dense": dense, "digits": _digits, "mixed": mixed}


# The table as it is searched. ----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _shapes() -> tuple[Shape, ...]:
    made = []
    for table in TABLES:
        holds = CHECKS[table.check]
        made += [Shape(table.kind, prefix, _token(prefix, table.pattern), holds) for prefix in table.prefixes]
        if table.contains:
            made.append(Shape(table.kind, table.contains, table.pattern, holds, table.before))
    return tuple(made)


@lru_cache(maxsize=1)
def _by_beginning() -> tuple[dict[str, list[tuple[int, Shape]]], list[tuple[int, Shape]]]:
    """The shapes of whole secrets, each with its place in the file: by their first two characters, and others."""
    begins: dict[str, list[tuple[int, Shape]]] = {}
    others = []
    for n, shape in enumerate(_shapes()):
        if shape.whole and shape.source.startswith(re.escape(shape.gate)) and len(shape.gate) > 1:
            begins.setdefault(shape.gate[:2], []).append((n, shape))
        elif shape.whole:
            others.append((n, shape))
    return begins, others


@lru_cache(maxsize=1)
def _others() -> tuple[tuple[tuple[str, Shape], ...], tuple[Shape, ...]]:
    """The shapes that may stretch over several words, each with the first word of its gate in lower case, and those
    that do not begin with three characters of their own."""
    others = [shape for shape in _shapes() if shape.spaced or not shape.opens or len(shape.gate) < 3]
    spaced = tuple((shape.gate.split()[0].lower(), shape) for shape in others if shape.spaced)
    return spaced, tuple(shape for shape in others if not shape.spaced)


@lru_cache(maxsize=1)
def _gates_of_spaced() -> frozenset[str]:
    return frozenset(word for word, _ in _others()[0])


def gates() -> Iterable[str]:
    """All that a text is asked for."""
    return (*_gates_of_spaced(), *_keyed())


@lru_cache(maxsize=1)
def _by_gate() -> dict[str, list[tuple[int, Shape]]]:
    """The beginnings of all other shapes, each with the shapes that it may open and their numbers."""
    spaced, unspaced = _others()
    others = {id(shape) for shape in (*(shape for _, shape in spaced), *unspaced)}
    own: dict[str, list[tuple[int, Shape]]] = {}
    for n, shape in enumerate(_shapes()):
        if id(shape) not in others:
            own.setdefault(shape.gate, []).append((n, shape))
    return {gate: sorted(one for end in range(len(gate)) for one in own.get(gate[: end + 1], ())) for gate in own}


@lru_cache(maxsize=2)
def _opening(edge: str) -> re.Pattern[str]:
    """A pattern for any of these beginnings after an edge.

    The edge is a part of the match: a search for a set of characters is several times faster than a look behind.
    """
    return re.compile(f"{edge}(?=({_any_gate()}))", re.ASCII)


@lru_cache(maxsize=1)
def _any_gate() -> str:
    """The first look is at a set for each of three characters: what follows most signs is none of them."""
    gates = _by_gate()
    return f"(?={''.join(any_character(gate[n] for gate in gates) for n in range(3))})(?:{any_of(gates)})"


@lru_cache(maxsize=1)
def _keyed() -> dict[str, tuple[Shape, ...]]:
    """The names of services, each with the shapes of what may follow it."""
    made: dict[str, list[Shape]] = {}
    for table in TABLES:
        for word in table.keywords:
            source = f"(?P<value>{table.pattern})(?![A-Za-z0-9_+/=-])"
            made.setdefault(word, []).append(Shape(table.kind, word, source, _always))
    return {word: tuple(shapes) for word, shapes in made.items()}


@lru_cache(maxsize=1)
def _service_names() -> frozenset[str]:
    return frozenset(_keyed())


@lru_cache(maxsize=1024)
def _linked(name: str) -> re.Pattern[str]:
    return _compiled(f"{re.escape(name)}{LINK}")


@lru_cache(maxsize=1)
def _names() -> tuple[re.Pattern[str], dict[str, list[Shape]], int]:
    """A pattern for every name, the shapes of what may follow each, and the length of the longest name."""
    names = _keyed()
    by_name = {name: [s for n, shapes in names.items() if name.startswith(n) for s in shapes] for name in names}
    return re.compile(any_of(names), re.ASCII), by_name, max(map(len, names))


def _token(prefix: str, rest: str) -> str:
    """A prefix which starts a word, and what follows.

    The look behind comes after the prefix: a pattern that opens with plain characters is searched many times faster.
    What is glued on goes too: a prefix in it would get an edge once the secret before it is gone, and each further
    secret of a long row would take a pass of its own.
    """
    p = re.escape(prefix)
    glued = "" if "(?P<value>" in rest else "[A-Za-z0-9]*"
    return f"{p}(?:{'|'.join(edge.format(p) for edge in EDGES)})(?:{rest}){glued}"


@lru_cache(maxsize=1024)
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII)
