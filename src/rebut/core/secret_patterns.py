"""Secrets recognised by their own shape, or by the name of a service before them: the entries of `secret_table`.

The tests try every entry on an example and a near miss.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from rebut.core.frozen import frozen
from rebut.core.secret_table import TABLES

Span = tuple[int, int]

SHORTEST = 15
"""No shape is shorter. A pattern that cannot hold a space is tried first on the words that are long enough."""

RUN = re.compile(r"[A-Za-z0-9_+/=-]{10}")
"""Somewhere in each secret that has no space, which most code and prose has not."""

# Escapes count as an edge: in JSON a secret may follow `\n`, in a URL `%3D`, and both end in a letter or digit.
EDGES = ("(?<![A-Za-z0-9]{})", r"(?<=\\[nrtbf]{})", "(?<=%[0-9A-Fa-f]{{2}}{})", r"(?<=\\u[0-9a-fA-F]{{4}}{})")
EDGE = re.compile(r"(?<![A-Za-z0-9])(?=([A-Za-z0-9]\S\S))")
EDGE_AFTER_ESCAPE = re.compile(rf"(?:{'|'.join(edge.format('') for edge in EDGES)})(?=([A-Za-z0-9]\S\S))")
# What may be between the name of a service and its secret: the rest of a name, quotes, and a sign.
LINK = (
    r"[\w.\- \t]{0,24}+\\?[\"'`]?[\])]?[ \t]{0,8}"
    r"(?:->|[:?|!]{0,3}={1,3}>?|:{1,2}|,|\|\||>)\s{0,8}\\?[\"'`(]{0,3}(?=[a-z_.=:+~/-]{0,100}+\d)"
)


@frozen
class Shape:
    """A pattern with one gate: a text that has to occur for the pattern to be worth trying."""

    kind: str
    gate: str
    source: str
    holds: Callable[[str], bool]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Made on first use: few of the patterns are ever needed in one run, and all of them would delay each start."""
        return _compiled(self.source)

    @property
    def spaced(self) -> bool:
        return " " in self.gate or r"\s" in self.source or r"\n" in self.source

    def in_words(self, words: Words) -> bool:
        return self.pattern.search(words.long) is not None

    @property
    def whole(self) -> bool:
        """The match is the secret itself, so that it is recognised also where it is alone."""
        return "(?P<value>" not in self.source


@frozen
class Words:
    """The words of a text that could be a secret or contain one: far less to search than the whole text."""

    long: str
    low: str
    """All of them, in lower case: what is not in here is nowhere in the text, unless it contains a space."""

    @classmethod
    def of(cls, text: str) -> Words:
        every = set(text.split())
        long = "\n".join([word for word in every if len(word) >= SHORTEST and RUN.search(word)])
        return cls(long, "\n".join(every).lower())


def spans(text: str, words: Words) -> Iterator[Span]:
    """Where secrets are that their own shape shows."""
    # Each gate is tried on every text that enters a debate, hence the bare loops over pairs.
    tight, inside, spaced = _gates()
    long = words.long
    beginnings = set(_beginnings(long))
    likely = [shape for gate, shape in tight if gate[:3] in beginnings and gate in long and shape.in_words(words)]
    likely += [shape for gate, shape in inside if gate in long and shape.in_words(words)]
    likely += [shape for gate, shape in spaced if gate in text]
    for shape in likely:
        group = 0 if shape.whole else "value"
        yield from (m.span(group) for m in shape.pattern.finditer(text) if shape.holds(m[group]))


def _beginnings(long: str) -> list[str]:
    """The first three characters of everything that could open a secret: few, where prefixes are many."""
    found: list[str] = (EDGE_AFTER_ESCAPE if "\\" in long or "%" in long else EDGE).findall(long)
    return found


def named(text: str, low: str, words: Words) -> Iterator[re.Match[str]]:
    """Values of the right form after a service's name. They may still be fillers. `low` is the text in lower case."""
    known = words.low
    for _, link, shapes in [one for one in _keyed() if one[0] in known]:
        # A name and its link are looked for in lower case; a search that begins with plain characters takes no time.
        for m in _compiled(link).finditer(low):
            yield from (v for shape in shapes if (v := shape.pattern.match(text, m.end())))


def kind_of(secret: str) -> str | None:
    """What to call a secret, judged by itself alone."""
    begins, contains = _by_beginning()
    likely: list[tuple[int, Shape]] = [*begins.get(secret[:2], ()), *(one for one in contains if one[1].gate in secret)]
    for _, shape in sorted(likely, key=lambda one: one[0]):
        if shape.gate in secret and shape.pattern.fullmatch(secret) and shape.holds(secret):
            return shape.kind
    return None


# Conditions on a whole secret, which a pattern could only state by looking far ahead. ---------------------------------


def _always(token: str) -> bool:
    return True


def dense(token: str) -> bool:
    """Random rather than words joined by hyphens: a long unbroken part, or several digits."""
    return max(map(len, re.split(r"[-_.]", token))) >= 16 or sum(c.isdigit() for c in token) >= 3


def _digits(token: str) -> bool:
    return any(c.isdigit() for c in token)


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
            made.append(Shape(table.kind, table.contains, table.pattern, holds))
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
def _gates() -> tuple[tuple[tuple[str, Shape], ...], ...]:
    """The shapes that one word holds, by what they begin with or contain, and those that may stretch over several."""
    tight = [shape for shape in _shapes() if not shape.spaced]
    begin = [shape.source.startswith(re.escape(shape.gate)) for shape in tight]
    return (
        tuple(
            (shape.gate, shape) for shape, begins in zip(tight, begin, strict=True) if begins and len(shape.gate) > 2
        ),
        tuple(
            (shape.gate, shape) for shape, begins in zip(tight, begin, strict=True) if not begins or len(shape.gate) < 3
        ),
        tuple((shape.gate, shape) for shape in _shapes() if shape.spaced),
    )


@lru_cache(maxsize=1)
def _keyed() -> tuple[tuple[str, str, tuple[Shape, ...]], ...]:
    """The names of services, each once, with the link to a value and the shapes of what may follow it."""
    made: dict[str, list[Shape]] = {}
    for table in TABLES:
        for word in table.keywords:
            source = f"(?P<value>{table.pattern})(?![A-Za-z0-9_+/=-])"
            made.setdefault(word, []).append(Shape(table.kind, word, source, _always))
    return tuple((word, f"{re.escape(word)}{LINK}", tuple(shapes)) for word, shapes in made.items())


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
