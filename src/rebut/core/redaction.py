"""Redaction: each secret becomes a placeholder, the same one wherever and whenever it occurs.

A placeholder is `[secret:KIND:HMAC]`. Both parts depend on the secret alone, never on where it was: a key found in an
assignment, in a URL and bare in a log line is one and the same for the debaters, and a replay gives the same text.

How it works: every rule points at spans of the text, overlapping spans grow together, and each is replaced in one go.
That repeats until nothing is found, so redacting twice changes nothing. The inside of a placeholder is out of reach.

What is removed: secrets of a known shape or beside the name of a service (`shapes`, a data file), values that their
surroundings give away, private keys, and the exact values that the caller knows.

All rules are linear: a run has no upper bound (a cut run would leave a tail that looks like a new secret), and what a
regex could only say by looking far ahead is said by a predicate on the match.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from rebut.core import secret_patterns
from rebut.core.secret_patterns import Span, Words
from rebut.core.text import clean

PLACEHOLDER = re.compile(r"\[secret:[a-z][a-z0-9-]{0,31}:[0-9a-f]{8}\]")
SHORTEST_KNOWN = 8
"""Known values below this length are ignored: removing every `test` from a text reveals more than it hides."""

AFTER = 48
"""Characters after a secret that show where it ends: white space, and the mark that closes an element."""
LATE = re.compile(r"PRIVATE KEY|[\"'][dk]\\?[\"']\s*:")
"""The beginning of secrets that are recognised only by something far behind it: a key's last line, a JWK's `kty`."""
SHORT = 80
MOST_SEEN = 100


class Redactor:
    """Replaces secrets by placeholders under one session key. `known` are exact values to remove wherever they are."""

    def __init__(self, key: bytes, known: Iterable[str] = ()) -> None:
        self._key = key
        self._seen: dict[str, str] = {}
        self._spellings: dict[str, str] = {}
        for value in (v.strip() for v in known):
            if len(value) >= SHORTEST_KNOWN:
                self._spellings[value] = value
                self._spellings.setdefault(quote(value, safe="", errors="replace"), value)

    @property
    def reach(self) -> int:
        """How far back from its end an unfinished text may contain a secret that cannot be recognised yet.

        That is besides its last word. A secret has no white space in it, but for those that the caller knows.
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

    def taken_out(self, text: str) -> dict[str, str]:
        """Placeholder → the value that it replaced, for writing values back into the user's own file."""
        found: dict[str, str] = {}
        self._replaced(text, found)
        for mark, secret in found.items():  # one found in a later pass may contain placeholders of an earlier one
            while inner := [m for m in PLACEHOLDER.findall(secret) if m in found and m != mark]:
                secret = secret.replace(inner[0], found[inner[0]])
            found[mark] = secret
        return found

    def _replaced(self, text: str, found: dict[str, str]) -> str:
        """The text with placeholders; `found` receives what each of them replaced."""
        # Ends: each pass takes at least one character that is not part of a placeholder.
        while spans := self._spans(text):
            pieces, at = [], 0
            for start, end in spans:
                secret = text[start:end]
                mark = self._placeholder(_kind(secret), secret)
                found[mark] = secret
                pieces += [text[at:start], _on_every_line(mark, secret)]
                at = end
            text = "".join([*pieces, text[at:]])
        return text

    def _placeholder(self, kind: str, secret: str) -> str:
        canonical = _pem_body(secret) if kind == "private-key" else self._spellings.get(secret, secret)
        digest = hmac.new(self._key, canonical.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"[secret:{kind}:{digest[:8]}]"

    def _spans(self, text: str) -> list[Span]:
        """All that is to be removed, in order, with overlaps merged."""
        words = Words.of(text)
        found = [*_pem_blocks(text), *secret_patterns.spans(text, words), *_contexts(text, words), *self._known(text)]
        if not found:
            return []
        own = [m.span() for m in PLACEHOLDER.finditer(text)]
        starts = [start for start, _ in own]

        def around(at: int) -> Span:
            """The placeholder that the character at `at` belongs to, or an empty span."""
            i = bisect_right(starts, at) - 1
            return own[i] if i >= 0 and at < own[i][1] else (at, at)

        merged: list[Span] = []
        for start, end in sorted(found):
            left, right = around(start), around(end - 1)
            if left == right and left[0] < left[1]:
                continue
            start, end = left[0], max(end, right[1])
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        return merged

    def _known(self, text: str) -> Iterator[Span]:
        for value in self._spellings:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value)
                at = text.find(value, at + 1)


def _kind(secret: str) -> str:
    """What to call a secret, judged by itself alone: the same value must get the same name in every place."""
    return "private-key" if MARKER.search(secret) else secret_patterns.kind_of(secret) or "credential"


def _on_every_line(mark: str, secret: str) -> str:
    """The placeholder on each line that the secret took, so that no line below it moves.

    In a diff each line keeps its first character too, or the hunk would no longer parse.
    """
    breaks, rest = LINE_BREAK.findall(secret), LINE_BREAK.split(secret)[1:]
    in_diff = all(line.startswith(("+", "-", " ")) for line in rest)
    return mark + "".join(b + (line[0] if in_diff else "") + mark for b, line in zip(breaks, rest, strict=True))


# Values that only their surroundings give away. -----------------------------------------------------------------------

WORD = r"pass(?:word|wd|phrase)|pwd|secret|token|credentials?|creds"
KEYS = (
    *("api", "access", "auth", "private", "secret", "account", "signing", "encryption", "master", "license"),
    *("consumer", "storage", "deploy", "webhook", "subscription", "shared"),
)
TAIL = r"(?:[_-]?\d{1,3}|[_-](?:prod|production|staging|dev|test|live|value|primary|secondary|base64|base))?"
# Where a name may begin. `key` and `pass` alone are not names: something before must make them one.
NAMES = ("pass", "pwd", "secret", "token", "cred", "key")
"""One of them is in every text in which `START` finds anything, and to look for six words takes no time."""
START = re.compile(r"p(?=ass[wp]|wd)|s(?=ecret)|t(?=oken)|c(?=red)|key|pass(?![a-z])")
BEFORE = r"\\?[\"'`]?\]?\s{0,8}"
SIGN = (
    r"(?P<sign>:\s{0,8}[\w.\[\]| ]{1,40}=(?!=)|(?::{0,2}|[!?]|\|\|)={1,3}>?|:[ \t]{0,4}[>|][+-]?[ \t]{0,4}(?=\r?\n)|:"
    r"|(?<=[\"']),|[,{]?\s{0,40}(?<!\w)[\"']?(?:[vV]alue|default)[\"']?\s{0,4}[:=])\s{0,20}"
)
QUOTED = (
    r"(?:(?i:[rbfu]{1,2}|@|\$)?(?P<open>\"\"\"|'''|[\"'`])(?P<quoted>(?:\\.|(?!(?P=open))[^\\\n])+)(?P=open)"
    r"|\\(?P<mark>[\"'])(?P<escaped>[^\"'\\\n]+)\\(?P=mark))"
)
BARE = r"(?P<bare>[^\s\"'`,;&|(){}\[\]<>\\]{8,}+)"
ELEMENT = r">\s{0,40}(?P<element>[^<>\s]+)\s{0,40}</"
ASSIGNED = re.compile(rf"(?P<name>(?i:(?:{WORD}|key|pass){TAIL}))(?:{BEFORE}{SIGN}(?:{QUOTED}|{BARE})|{ELEMENT})")
OPTION = re.compile(
    rf"--(?:[a-z]{{1,20}}-){{0,3}}(?:{WORD}|(?:{'|'.join(KEYS)})-?key){TAIL}[ \t]{{1,8}}(?:{QUOTED}|{BARE})"
)
IN_URL = re.compile(r"://[^\s/?#:@\"'<>]{0,256}:(?P<value>[^\s/\"'<>`]{1,512})@(?=[\w\[$%{<])")
IN_HEADER = re.compile(
    r"(?i:authorization)\\?[\"']?\s{0,8}[:=,]\s{0,8}\\?[\"']?"
    r"(?:(?P<scheme>(?i:bearer|basic|token|apikey|api-token|bot|key))\s{1,8})?(?P<value>[\w.~+/=:-]{8,})"
)
BEARER = re.compile(r"[Bb]earer\s{1,8}(?P<value>[\w.~+/=-]{16,})")
IN_NETRC = re.compile(r"login\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(?P<value>\S{1,256})")
IN_CURL = re.compile(
    r"curl\b(?:[^\n\\]|\\.|\\\n){0,400}?\s(?:-u|--user)[ \t=]{0,4}[\"']?[^\s:\"']{1,128}:(?P<value>[^\s\"']{3,})"
)
BESIDE_AWS_KEY = re.compile(r"A[KS]IA[A-Z0-9]{16}[\"']?[\s,:;|]{1,8}[\"']?(?P<value>[\w/+]{40})(?![\w/+])")

FILLER = """
    a abc access admin an any api apikey app auth authorization bar base basic baz bearer bool boolean bytes change
    changeme client credential credentials csrf current db default demo disabled dummy empty enabled enter env
    example expired fake false field file foo foobar from get hash header here hidden id input insert int integer
    invalid is key label literal me missing mock my name new nil no none not null number object of old optional or
    param pass passphrase passwd password path placeholder private put pwd query redacted ref refresh removed
    replace replaceme required sample secret secrets session set some str string temp test testing text the this to
    todo token tokens true type undefined unknown unset url use user username valid value var variable visible wrong
    x y yes you your
"""
FILLERS = frozenset(FILLER.split())
TECHNICAL = re.compile(
    r"(?i:base(?:16|32|58|64)|b64|utf_?(?:8|16|32)|sha_?\d+|md[45]|oauth2?|x509|ed25519|u?int\d+|v\d)"
)
TEMPLATE = re.compile(r"\$[({]|\{\{|\{[A-Za-z_][\w.!:]*\}|%\(|%[sdr]|<[^>]*>|\$[A-Za-z_]\w*$|^%\w+%$|^\{\}$|^\.\.\.|…")


def _contexts(text: str, words: Words) -> Iterator[Span]:
    low = _lowered(text)
    for named in secret_patterns.named(text, low, words):
        if (_random(named["value"]) or secret_patterns.mixed(named["value"])) and not _filler(named["value"]):
            yield named.span("value")
    done = 0
    for start in START.finditer(low) if any(name in low for name in NAMES) else ():
        at = start.start()
        if at >= done and _begins(start[0], low[max(0, at - 13) : at]) and (found := ASSIGNED.match(text, at)):
            done = found.end()
            yield from _assigned(found, found["element"])
    for m in OPTION.finditer(text):
        yield from _assigned(m, None)
    for pattern, gate in ((IN_URL, "://"), (IN_NETRC, "login"), (BESIDE_AWS_KEY, "IA"), (IN_CURL, "curl")):
        if gate in text:
            yield from (m.span("value") for m in pattern.finditer(text) if not _filler(m["value"]))
    if "authorization" in low:
        for m in IN_HEADER.finditer(text):
            # Without a scheme it has to be the header itself, not a name that ends in this word.
            alone = not text[m.start() - 1 : m.start()].isalpha() and len(m["value"]) >= 16 and _random(m["value"])
            if (m["scheme"] or alone) and not _filler(m["value"]):
                yield m.span("value")
    if "bearer" in low:
        for m in BEARER.finditer(text):
            if secret_patterns.dense(m["value"]) and not _filler(m["value"]):
                yield m.span("value")


def _begins(word: str, before: str) -> bool:
    if word == "key":
        return before.removesuffix("_").removesuffix("-").endswith(KEYS)
    return word != "pass" or before.endswith(("_", "-", ".", "'", '"'))


def _lowered(text: str) -> str:
    """In lower case, each character in its place: a few have a longer small form and are left as they are."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _assigned(m: re.Match[str], element: str | None) -> Iterator[Span]:
    sign = m["sign"] if "sign" in m.re.groupindex else None
    if m["bare"]:
        value = m["bare"].rstrip(".:")
        # A call or an index is code. It is looked at here since a pattern that fails on it would start again inside.
        code = m.string[m.end() : m.end() + 1] in ("(", "[", "{")
        if sign != "," and not code and _random(value) and not _filler(value):
            yield m.start("bare"), m.start("bare") + len(value)
        return
    group = "element" if element else "quoted" if m["quoted"] else "escaped"
    value = m[group]
    # What a person types may be plain words; a token without a single digit is rather the name of one.
    typed = "name" not in m.re.groupindex or m["name"].lower().startswith(("passw", "passp", "pwd"))
    enough = len(value) >= 5 if typed else len(value) >= 8 and (_random(value) or len(value) >= 20)
    if enough and not _filler(value) and (sign != "," or _argument(m, value)):
        yield m.span(group)


def _argument(m: re.Match[str], value: str) -> bool:
    """`set("API_TOKEN", "…")`. In a list of names the next name follows the comma in the same way."""
    before = m.string[max(0, m.start() - 64) : m.start()]
    return re.search(r"\([\"'][\w.-]*$", before) is not None and _random(value) and ":" not in value


def _filler(value: str) -> bool:
    """Whether a value is not a secret but a stand-in: a template, a name, a path, `changeme`, or our placeholder."""
    if PLACEHOLDER.sub("", value) != value or TEMPLATE.search(value) or re.search(r"\s", value):
        return True
    if len(set(value)) <= 2 or re.fullmatch(r"[A-Z][A-Z_]*_[A-Z0-9_]*", value) or "://" in value:
        return True
    if value.startswith(("/", "./", "../", "~/")) and len(value) != 40:
        return True
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+", value)
    return bool(words) and all(w.lower() in FILLERS for w in words) and not re.search(r"[!@#^*+=]", value)


def _random(value: str) -> bool:
    """Unlike an identifier: a letter follows a digit, or there are many digits, the usual technical names excepted."""
    rest = TECHNICAL.sub("", value)
    letters = sum(c.isalpha() for c in rest)
    return letters > 0 and (re.search(r"\d[A-Za-z]", rest) is not None or sum(c.isdigit() for c in rest) >= 4)


# Private keys. --------------------------------------------------------------------------------------------------------

MARKER = re.compile(r"-{4,5} ?(?P<what>BEGIN|END) (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
LINE_BREAK = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
KEY_LINE = re.compile(r"[\s+\->|#*\d:.\"'`]*(?:[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/]*={1,2})[\s\\nr\"'`,+;]*")
KEY_HEADER = re.compile(r"[\s+\->|#*\d:\"']*(?:(?:Proc-Type|DEK-Info|Version|Comment)\b.*)?")
LONGEST_KEY = 65_536


def _pem_blocks(text: str) -> Iterator[Span]:
    """Whole blocks, and as much of a block cut off at either end as still looks like key material."""
    if "PRIVATE KEY" not in text:
        return
    marks = list(MARKER.finditer(text))
    done = 0
    for i, mark in enumerate(marks):
        if mark.start() < done:
            continue
        after = marks[i + 1] if i + 1 < len(marks) else None
        if mark["what"] == "END":
            yield from _cut_at_front(text, done, mark)
        elif after and after["what"] == "END" and after.end() - mark.start() <= LONGEST_KEY:
            between = text[mark.end() : after.start()]
            # Code that names both markers is not a key: in a real one a line end or key material is between them.
            if re.match(r"[ \t]*(?:\\+[nr]|[\r\n])", between) or re.search(r"[A-Za-z0-9+/=]{24,}", between):
                yield mark.start(), after.end()
            done = after.end()
            continue
        else:
            yield from _cut_at_end(text, mark, after.start() if after else len(text))
        done = mark.end()


def _cut_at_end(text: str, mark: re.Match[str], limit: int) -> Iterator[Span]:
    end, at = mark.end(), mark.end()
    if inline := re.compile(r"(?:\\+[nr]|[A-Za-z0-9+/=])+").match(text, at, limit):
        end = at = inline.end()
    while (line_end := text.find("\n", at, limit)) >= 0 or at < limit:
        line_end = line_end if line_end >= 0 else limit
        line = text[at:line_end]
        if KEY_LINE.fullmatch(line):
            end = at + len(line.rstrip())  # a carriage return belongs to the line end that stays
        elif not KEY_HEADER.fullmatch(line):
            break
        at = line_end + 1
    if end > mark.end():
        yield mark.start(), end


def _cut_at_front(text: str, floor: int, mark: re.Match[str]) -> Iterator[Span]:
    start, at = mark.start(), text.rfind("\n", floor, mark.start())
    while at > floor:
        line_start = text.rfind("\n", floor, at) + 1 or floor
        if not KEY_LINE.fullmatch(text, line_start, at):
            break
        start, at = line_start, line_start - 1
    if start < mark.start():
        yield start, mark.end()


def _pem_body(block: str) -> str:
    """The key material alone, so that the same key in a file, in a diff and in a JSON string gets one placeholder."""
    lines = MARKER.sub("\n", block.replace("\\n", "\n").replace("\\r", "\n")).split("\n")
    return "".join("".join(re.findall(r"[A-Za-z0-9/=][A-Za-z0-9+/=]{11,}", line)) for line in lines) or block
