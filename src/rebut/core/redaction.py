"""Redaction: each secret becomes a placeholder, the same one wherever and whenever it occurs.

A placeholder is `[secret:KIND:HMAC]`. Both parts depend on the secret alone, never on where it was: a key found in an
assignment, in a URL and bare in a log line is one and the same for the debaters, and a replay gives the same text.

How it works: every rule points at spans of the text, overlapping spans grow together, and each is replaced in one go.
That repeats until nothing is found, so redacting twice changes nothing, except that a second search may remove more
of a hostile text of more than 4 kB. The inside of a placeholder is out of reach.

What is removed: secrets of a known shape or beside the name of a service (`secret_patterns`, a data file), values that
their surroundings give away (`secret_contexts`), private keys, and the exact values that the caller knows.

All rules are linear: a run has no upper bound (a cut run would leave a tail that looks like a new secret), and what a
regex could only say by looking far ahead is said by a predicate on the match.
"""

from __future__ import annotations

import hmac
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, chain, islice
from urllib.parse import quote

from rebut.core import secret_contexts, secret_patterns
from rebut.core.crowds import SECRET, Allowance, Span
from rebut.core.searched_text import GatesByWord, SearchedText
from rebut.core.text import clean

PLACEHOLDER = re.compile(r"\[secret:[a-z][a-z0-9-]{0,31}:[0-9a-f]{8}\]")
SHORTEST_KNOWN = 8
"""Known values below this length are ignored: removing every `test` from a text reveals more than it hides."""

AFTER = 80
"""Characters after a secret that show where it ends or what it is: the mark that closes an element, its name."""
LATE = re.compile(r"PRIVATE KEY|[\"'][dk]\\?[\"']\s*:|(?i:pass|seed.?)phrase|(?i:mnemonic)")
"""The beginning of secrets that are recognised only by something far behind it: a key's last line, a JWK's `kty`."""
UNFINISHED = re.compile(
    r"(?i:insert into)\s[^()]{1,100}\([^()]{1,400}+\)\s?(?i:values)\s?\([^()]{0,800}+\Z"
    r"|(?i:phrase)[\"']?[ ]{0,4}[:=][ ]{0,4}[\"']?[a-z]{2,}+(?: [a-z]*+){0,23}+\Z"
)
"""Such a beginning where an unfinished text ends: a row of SQL before its last bracket, a phrase before its end."""
UNFINISHED_WORDS = re.compile(r"[\"'`](?=[a-z ]{40})[a-z]{2,}+(?: [a-z]*+){0,23}+\Z")
"""Words before the last quote. Fewer are not shown anyway, since they are within reach of the end."""
NAME_OF_WORDS = re.compile(r"(?i:pass|pwd|pw|psk|kennwort|masterauth)")
FARTHEST_NAME = 240
"""Characters between such a name and its words: a type, a call, or another pair."""
SHORT = 80
FAR = 400
"""Characters on both sides of a secret that are searched again without it, up to the end of a line or word."""
LONGEST_WORD = 1_024
"""Characters of a longer word on either side that are searched, too: a text may be one endless word, with a secret in
each pass."""
SEAM = "\n\x1b\n\n"
"""Between parts of a text that are searched together: no secret stretches over it."""
PIECE, OVERLAP = 32_768, 2_048
"""Characters of a piece that is searched on its own, and characters behind it that are searched with it.

A rule is tried only if its words are in the piece. A long text has the words of every rule, but most pieces have few.
"""
MOST_SEEN = 100
MOST_MARKS = 50_000


class Redactor:
    """Replaces secrets by placeholders under one session key. `known` are exact values to remove wherever they are."""

    def __init__(self, key: bytes, known: Iterable[str] = ()) -> None:
        self._hmac = hmac.new(key, digestmod="sha256")
        self._seen: dict[str, str] = {}
        self._marks: dict[str, str] = {}
        self._spellings: dict[str, str] = {}
        for value in (v.strip() for v in known):
            if len(value) >= SHORTEST_KNOWN:
                self._spellings[value] = value
                self._spellings.setdefault(quote(value, safe="", errors="replace"), value)

    @property
    def reach(self) -> int:
        """How far back from its end an unfinished text may contain a secret that cannot be recognised yet.

        Its last word comes on top. Only secrets that the caller knows have white space in them.
        """
        return max([AFTER, *(len(value) for value in self._spellings if len(value.split()) > 1)])

    def door(self, text: str) -> str:
        """Text from outside as it enters a debate: cleaned, then without its secrets (C8)."""
        return self.redact(clean(text))

    def redact(self, text: str) -> str:
        if len(text) > SHORT:
            return self._replaced(text, {})
        # The names of models and the like, which every call repeats.
        found = self._seen.get(text)
        if found is None:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()  # a screen may be drawn from a thread of its own: nothing is looked up again
            found = self._seen[text] = self._replaced(text, {})
        return found

    def taken_out(self, *texts: str) -> dict[str, str]:
        """Placeholder → the value that it replaced, for writing values back into the user's own files.

        A secret that the texts spell in several ways, as in a URL and without one, is left out: which is meant is not
        known.
        """
        found: dict[str, set[str]] = {}
        for text in texts:
            self._replaced(text, found)
        return {mark: values.pop() for mark, values in found.items() if len(values) == 1}

    def _replaced(self, text: str, found: dict[str, set[str]]) -> str:
        """The text with placeholders; `found` receives what each of them replaced."""
        # While it is searched, one character stands for each placeholder: nothing inside a placeholder is ever found,
        # and the text that a second call searches is the one that this call searched last.
        mask = _mask(text)
        # Each placeholder with what it stands for: on each of several lines, what the secret took there.
        marks = [(mark, mark) for mark in PLACEHOLDER.findall(text)] if "[secret:" in text else []
        if marks:
            text = PLACEHOLDER.sub(mask, text)
        # The loop ends: each pass takes at least one character that is not part of a placeholder.
        parts, allowance = [(0, len(text))], Allowance(text)
        while True:
            spans, again = self._spans(text, parts, allowance)
            in_diff = HUNK in text
            if not (spans := _without(mask, text, _with_whole_lines(text, spans, in_diff))):
                break
            if growth := allowance.growth:
                spans = _merged((max(0, start - growth), min(len(text), end + growth)) for start, end in spans)
                spans = _with_whole_lines(text, spans, in_diff)
            pieces: list[str] = []
            kept: list[tuple[str, str]] = []
            changed: list[Span] = []
            at = used = length = 0
            for start, end in spans:
                before, masked = text[at:start], text[start:end]
                inside: list[tuple[str, str]] = []
                if marks:
                    count = before.count(mask)
                    kept += marks[used : used + count]
                    used += count
                    inside = marks[used : used + masked.count(mask)]
                    used += len(inside)
                mark = self._placeholder(_unmasked(masked, mask, [name for name, _ in inside]) if inside else masked)
                lines, taken = _on_every_line(mask, masked, in_diff)
                if inside:
                    found.setdefault(mark, set()).add(_unmasked(masked, mask, [value for _, value in inside]))
                    values = iter(value for _, value in inside)
                    taken = [_unmasked(part, mask, list(islice(values, part.count(mask)))) for part in taken]
                else:
                    found.setdefault(mark, set()).add(masked)
                kept += [(mark, part) for part in taken]
                pieces += (before, lines)
                changed.append((length + len(before), length := length + len(before) + len(lines)))
                at = end
            changed += _moved(again, spans, changed)
            kept += marks[used:]
            text, marks = "".join([*pieces, text[at:]]), kept
            parts = _around(text, sorted(changed), allowance.counts)
            allowance.search_again()
        return _unmasked(text, mask, [mark for mark, _ in marks]) if marks else text

    def _placeholder(self, secret: str) -> str:
        known = self._marks.get(secret)
        if known is None:
            kind = _kind(secret)
            canonical = _pem_body(secret) if kind == "private-key" else self._spellings.get(secret, secret)
            digest = self._hmac.copy()
            digest.update(canonical.encode("utf-8", "surrogatepass"))
            if len(self._marks) >= MOST_MARKS:
                self._marks.clear()
            known = self._marks[secret] = f"[secret:{kind}:{digest.hexdigest()[:8]}]"
        return known

    def _spans(self, text: str, parts: list[Span], allowance: Allowance) -> tuple[list[Span], list[Span]]:
        """All that is to be removed in these parts, in order, with overlaps merged; and what to search once more."""
        found, again = [*_pem_blocks(text), *self._known(text)], list[Span]()
        for together in _pieces(text, parts):
            joined = SEAM.join([text[first:last] for first, last in together])
            searched = SearchedText(joined, _gates_by_word(), allowance)
            crowds = searched.crowds
            if crowds.counts and (names := searched.those(secret_contexts.NAME_GATES)):
                crowds.names(searched.low, names)
            inside = list[Span]()
            for span in chain(secret_patterns.spans(searched), secret_contexts.found(searched)):
                crowds.charge(span[0], SECRET)
                inside.append(span)
            found += _in_whole(together, [*inside, *crowds.spans(joined)])
            again += _in_whole(together, list(crowds.passed_over()))
        return _merged(found), again

    def _known(self, text: str) -> Iterator[Span]:
        for value in self._spellings:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value)
                at = text.find(value, at + 1)


def finished(text: str) -> str:
    """An unfinished text, up to where a secret may begin that only what follows can tell."""
    begun = UNFINISHED.search(text)
    if not begun and (words := UNFINISHED_WORDS.search(text)):
        begun = NAME_OF_WORDS.search(text, max(0, words.start() - FARTHEST_NAME), words.start())
    return text[: begun.start()] if begun else text


def by_kind(text: str, end: str = "]") -> str:
    """The text with each secret as its kind alone: a placeholder differs in every session. `end` ends the kind."""
    return PLACEHOLDER.sub(lambda mark: mark[0].rpartition(":")[0] + end, text)


@lru_cache(maxsize=1)
def _gates_by_word() -> GatesByWord:
    return GatesByWord((*secret_patterns.gates(), *secret_contexts.gates()))


def _kind(secret: str) -> str:
    """What to call a secret, judged by itself alone: the same value must get the same name in every place."""
    if len(secret) > LONGEST_KEY:
        return "credential"  # rather many secrets in a row
    return "private-key" if MARKER.search(secret) else secret_patterns.kind_of(secret) or "credential"


def _mask(text: str) -> str:
    """A character that the text does not contain."""
    for mask in FIRST_MASKS:
        if mask not in text:
            return mask
    used = set(text)
    return next(c for c in map(chr, chain(range(1, 9), range(14, 28), range(0xE000, 0x110000))) if c not in used)


def _without(mask: str, text: str, spans: list[Span]) -> list[Span]:
    """The spans, except those of placeholders alone: the secret there was removed before."""
    return [(a, b) for a, b in spans if text[a] != mask or text[a:b].strip(mask)] if mask in text else spans


def _with_whole_lines(text: str, spans: list[Span], in_diff: bool) -> list[Span]:
    """None of them begins inside a line end of two characters, since the placeholder would make two lines of one, or at
    the sign of a line of a diff."""
    if "\r\n" in text:
        spans = [(start + (text[start] == "\n" and text[start - 1 : start] == "\r"), end) for start, end in spans]
    if in_diff:
        spans = [(start + (SIGNED.match(text, start) is not None), end) for start, end in spans]
    return [(start, end) for start, end in spans if start < end]


def _merged(found: Iterable[Span]) -> list[Span]:
    """The spans in order; those that overlap are one."""
    merged: list[Span] = []
    last = 0
    for start, end in sorted(found):
        if start >= last:
            merged.append((start, end))
            last = end
        elif end > last:
            merged[-1] = (merged[-1][0], end)
            last = end
    return merged


def _around(text: str, changed: list[Span], limited: bool) -> list[Span]:
    """Where another secret may show after these places have changed: on whole lines around them, or in some words of a
    long line.

    The text farther away is the same as when it was searched before. Of a short text the whole lines are searched, so
    that a second call finds nothing more.
    """
    parts: list[Span] = []
    done = 0
    far = FAR if limited else len(text)
    for start, end in changed:
        if end + FAR <= done or done == len(text):
            continue
        first = max(done, start - FAR)
        if first > done:
            line = text.rfind("\n", max(done, first - far), first)
            if line < 0 and limited:
                floor = max(done, first - LONGEST_WORD)
                line = max(floor, text.rfind(" ", floor, first))
            first = max(done, line)
        last = min(len(text), end + FAR)
        line = text.find("\n", last, last + far)
        if line < 0 and limited:
            space = text.find(" ", last, last + LONGEST_WORD)
            line = space if space >= 0 else last + LONGEST_WORD
        done = min(len(text), line) if line >= 0 else len(text)
        if parts and first <= parts[-1][1]:
            parts[-1] = (parts[-1][0], done)
        else:
            parts.append((first, done))
    return parts


def _moved(places: list[Span], removed: list[Span], marks: list[Span]) -> list[Span]:
    """Where these places are after what was removed gave way to marks."""
    starts = [start for start, _ in removed]

    def moved(at: int) -> int:
        before = bisect_right(starts, at) - 1
        return at if before < 0 else marks[before][1] + max(0, at - removed[before][1])

    return [(moved(start), moved(end)) for start, end in places]


def _pieces(text: str, parts: list[Span]) -> Iterator[list[Span]]:
    """What is searched together: short parts in one go, and a long one in pieces that overlap."""
    together: list[Span] = []
    size = 0
    for first, last in parts:
        while first < last:
            cut = _cut(text, first, last)
            end = last if cut + OVERLAP >= last else _word_end(text, cut + OVERLAP, last)
            if together and size + end - first > PIECE:
                yield together
                together, size = [], 0
            together.append((first, end))
            size += end - first
            first = last if end == last else cut
    if together:
        yield together


def _cut(text: str, first: int, last: int) -> int:
    """Where a piece ends: at the end of a line or, if the line is long, of a word. A backslash at the end of a line
    continues a command in the next line, so no piece ends there."""
    if last - first <= PIECE + OVERLAP:
        return last
    middle, end = first + PIECE // 2, first + PIECE
    line = text.rfind("\n", middle, end)
    while line >= 0 and text[line - 1] in "\\\r" and text[line - 2 : line].rstrip("\r").endswith("\\"):
        line = text.rfind("\n", middle, line)
    if line >= 0:
        return line
    space = text.rfind(" ", middle, end)
    return space if space >= 0 else _word_end(text, end, last)


def _word_end(text: str, at: int, last: int) -> int:
    m = WORD_END.search(text, at, last)
    return m.start() if m else last


def _in_whole(parts: list[Span], spans: list[Span]) -> Iterator[Span]:
    """Where spans of the joined parts are in the whole text. One that stretches over a seam is in both parts."""
    if len(parts) == 1:
        yield from ((parts[0][0] + start, parts[0][0] + end) for start, end in spans)
        return
    begins = list(accumulate((last - first + len(SEAM) for first, last in parts[:-1]), initial=0))
    for start, end in spans:
        at = bisect_right(begins, start) - 1
        while at < len(parts) and begins[at] < end:
            first, last = parts[at]
            span = max(first, first + start - begins[at]), min(last, first + end - begins[at])
            if span[0] < span[1]:
                yield span
            at += 1


def _unmasked(text: str, mask: str, marks: list[str]) -> str:
    parts = text.split(mask)
    return "".join([piece for pair in zip(parts, [*marks, ""], strict=True) for piece in pair])


FIRST_MASKS = "\x1a\x01\x02\x03"
"""Tried one after the other, which is faster than to collect the characters of a text."""
WORD_END = re.compile(r"\s")
HUNK = "@@ -"
"""In each diff with lines that a program reads."""
SIGNED = re.compile(r"^[+\- ]", re.M)


def _on_every_line(mark: str, secret: str, in_diff: bool) -> tuple[str, list[str]]:
    """The placeholder on each line that the secret took, so that no line below it moves, and what it took there.

    In a diff, or where all of its lines look like a part of one, each line keeps its first character too, or the hunk
    would no longer parse. If the secret ends in a line end, no placeholder follows: it would stand on the next line, or
    make a new one.
    """
    if secret.isprintable() or len(f"{secret}.".splitlines()) == 1:
        return mark, [secret]
    breaks, (first, *rest) = LINE_BREAK.findall(secret), LINE_BREAK.split(secret)
    end = breaks.pop() if not rest[-1] else ""
    taken = rest[: len(breaks)]
    # To git, only a line feed ends a line.
    signs = [line[:1] if b[-1] == "\n" and line[:1] in "+- " else "" for b, line in zip(breaks, taken, strict=True)]
    if not in_diff and not all(signs):
        signs = [""] * len(signs)
    made = mark + "".join(b + sign + mark for b, sign in zip(breaks, signs, strict=True)) + end
    return made, [first, *(line.removeprefix(sign) for line, sign in zip(taken, signs, strict=True))]


# Private keys. --------------------------------------------------------------------------------------------------------

MARKER = re.compile(r"-----? ?(?P<what>BEGIN|END) (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
LINE_BREAK = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
KEY_LINE = re.compile(r"(?:[\d+]*+[\s\->|#*:.\"'`])*+(?:[A-Za-z0-9+/=]{16,}+|[A-Za-z0-9+/]*+={1,2}+)[\s\\nr\"'`,+;]*+")
"""With what may stand around it. Nothing here is given back: some of these characters may be anywhere in the line."""
KEY_HEADER = re.compile(r"[\s+\->|#*\d:\"']*(?:(?:Proc-Type|DEK-Info|Version|Comment)\b.*)?")
KEY_BEGUN = re.compile(r"[ \t]*(?:\\+[nr]|[\r\n])")
KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{24}")
LINE_END_AS_SPACE = r"[ ](?=[A-Za-z0-9+/]{40})|(?<=[A-Za-z0-9+/]{40})[ ](?=[A-Za-z0-9+/]{16})"
IN_ONE_LINE = re.compile(rf"(?:\\+[nr]|[A-Za-z0-9+/=]|{LINE_END_AS_SPACE})+")
BACKWARDS = re.compile(
    rf"(?:[nr]\\++|[A-Za-z0-9+/=]|{LINE_END_AS_SPACE}|[ ](?=[A-Za-z0-9+/=]{{1,76}} [A-Za-z0-9+/]{{40}}))*+"
)
"""The same in a text that is turned round."""
KEY_PIECE = re.compile(r"[A-Za-z0-9+/]{24}|(?:[A-Za-z0-9+/]{16}|=)(?:\\+[nr])+\Z")
BEFORE_KEY = re.compile(r"[\s+\->|#*\d:.\"'`]*")
LONGEST_KEY = 65_536


class _Begun:
    """The first line of a key whose last line is not found yet. Keys between the two lines are not counted."""

    def __init__(self, mark: re.Match[str]) -> None:
        self.start, self.at, self._size, self._is_key = mark.start(), mark.end(), len(mark[0]), False

    def goes_on(self, text: str, start: int, end: int) -> None:
        """What is from `start` to `end` belongs to another key."""
        # Code that names both markers is not a key: in a real one a line end or key material is between them.
        is_first = self.at - self.start == self._size
        self._is_key |= is_first and KEY_BEGUN.match(text, self.at, start) is not None
        self._is_key |= KEY_MATERIAL.search(text, self.at, start) is not None
        self._size += start - self.at
        self.at = end

    def is_key(self, text: str, last: re.Match[str]) -> bool:
        self.goes_on(text, *last.span())
        return self._is_key and self._size + len(last[0]) <= LONGEST_KEY


def _pem_blocks(text: str) -> Iterator[Span]:
    """Whole blocks, and as much of a block cut off at either end as still looks like key material.

    Blocks inside each other are found in one go: a search for each of them, once the next inner one is gone, would
    take as many as there are.
    """
    if "PRIVATE KEY" not in text:
        return
    marks = list(MARKER.finditer(text))
    begun: list[_Begun] = []
    done = 0
    for i, mark in enumerate(marks):
        is_end, other = mark["what"] == "END", marks[i + 1] if i + 1 < len(marks) else None
        span = None
        if not is_end:
            if not other or other["what"] != "END":
                span = _cut_at_end(text, mark, other.start() if other else len(text))
            if not span:
                begun.append(_Begun(mark))
        else:
            if i == 0 or marks[i - 1]["what"] == "END":
                span = _cut_at_front(text, done, mark)
            if not span and begun:
                first = begun.pop()
                if first.is_key(text, mark):
                    span = first.start, mark.end()
                else:
                    begun.clear()  # both lines stay, and keep those around them apart
            done = mark.end()
        if span:
            yield span
            if begun:
                begun[-1].goes_on(text, *span)


def _cut_at_end(text: str, mark: re.Match[str], limit: int) -> Span | None:
    end, at = mark.end(), mark.end()
    if inline := IN_ONE_LINE.match(text, at, limit):
        end = at = inline.end()
    while (line_end := text.find("\n", at, limit)) >= 0 or at < limit:
        line_end = line_end if line_end >= 0 else limit
        line = text[at:line_end]
        if KEY_LINE.fullmatch(line):
            end = at + len(line.rstrip())  # a carriage return belongs to the line end that stays
        elif not KEY_HEADER.fullmatch(line):
            break
        at = line_end + 1
    return (mark.start(), end) if end > mark.end() else None


def _cut_at_front(text: str, floor: int, mark: re.Match[str]) -> Span | None:
    start = mark.start()
    inline = BACKWARDS.match(text[max(floor, start - LONGEST_KEY) : start][::-1])
    if inline and KEY_PIECE.search(inline[0][::-1]):
        start -= inline.end()
    at = text.rfind("\n", floor, start)
    if start < mark.start() and not BEFORE_KEY.fullmatch(text, max(floor, at + 1), start):
        return start, mark.end()
    while at > floor:
        line_start = text.rfind("\n", floor, at) + 1 or floor
        if not KEY_LINE.fullmatch(text, line_start, at):
            break
        start, at = line_start, line_start - 1
    return (start, mark.end()) if start < mark.start() else None


def _pem_body(block: str) -> str:
    """The key material alone, so that the same key in a file, in a diff and in a JSON string gets one placeholder."""
    lines = MARKER.sub("\n", block.replace("\\n", "\n").replace("\\r", "\n")).split("\n")
    return "".join("".join(re.findall(r"[A-Za-z0-9/=][A-Za-z0-9+/=]{11,}", line)) for line in lines) or block
