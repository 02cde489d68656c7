"""Citations: the places that a text points at (`src/a.py:10-12`, a commit, a section), and finding them in prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from typing import Literal

from rebut.core.frozen import frozen

Kind = Literal["file", "commit", "section", "url", "other"]

LONGEST = 400
"""Characters of a place at most: more than a person or a model writes. The limit keeps every pattern here linear."""
LONGEST_URL = 2_000
LONGEST_QUOTE = 20_000
LAST_LINE = 999_999_999
"""A higher line number is read as this one: no file has so many lines."""


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXTENSIONS = _words_of(
    "adoc astro bash bat bazel bib bzl c cc cfg cjs clj cmake conf cpp cs css csv cts cu cxx dart diff dockerfile "
    "edn ejs el elm erl ex exs fish fs fsx gd go gql gradle graphql groovy h haml hbs hcl hh hpp hrl hs htm html "
    "hxx ini ipynb java jl js json json5 jsonc jsonl jsx kt kts less lisp lock log lua m md mdx mjs mk ml mli mm "
    "mod mts nim nix org patch php pl pm po properties proto ps1 pug py pyi pyx r rb rkt rmd rs rst sass sbt "
    "scala scm scss sh sol sql sum sv svelte svg swift tcl tex tf thrift toml ts tsv tsx txt v vb vhd vue xml xsd "
    "yaml yml zig zsh"
)
UNKNOWN_EXTENSION = re.compile(r"[a-z][a-z0-9]{0,7}")
EVERYDAY_EXTENSIONS = _words_of("c h m r v d log lock mod sum el ex fs cs")
"""Extensions that also end everyday words: without a slash or a line, such a word is a file only inside backticks."""
BARE_NAMES = _words_of(
    "Makefile Dockerfile Jenkinsfile Procfile Vagrantfile Gemfile Rakefile Justfile justfile LICENSE README "
    "CHANGELOG CODEOWNERS Containerfile BUILD WORKSPACE"
)
FOLDERS = _words_of(
    "src lib libs app apps test tests spec docs doc pkg packages cmd internal bin scripts script tools include "
    "examples crates server client frontend backend web api config migrations .github .ci"
)
NOT_FILES = _words_of(
    "node.js next.js vue.js react.js express.js three.js d3.js p5.js nuxt.js ember.js backbone.js discord.js "
    "chart.js moment.js angular.js docs.rs crates.rs response.json request.json req.json res.json self.c self.h "
    "self.m self.r"
)
COMMANDS = _words_of(
    "git cat cd ls rm cp mv vim nano less head tail grep rg sed awk find python python3 pip pytest node npm npx "
    "pnpm yarn uv uvx make bash sh zsh docker curl wget ruff mypy go cargo rustc gcc open code touch mkdir chmod "
    "sudo import from rebut see in at run edit the a of to deno bun ruby perl java javac tsc black diff cmp "
    "source export"
)

URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.|mailto:)\S*", re.I)
ENDINGS = "com|org|net|io|dev|ai|co|edu|gov|app|sh|rs|me"
DOMAIN = re.compile(rf"(?:[\w-]+\.)+(?:{ENDINGS})/|(?:[\w-]+\.){{2,}}(?:{ENDINGS})$", re.I)
LINE_SUFFIX = re.compile(
    r"(?::L?(?P<a>\d{1,400})(?:\s?[-–—]\s?L?(?P<b>\d{1,400})|:\d{1,400})?"
    r"|#L(?P<c>\d{1,400})(?:C\d{1,400})?(?:-L?(?P<d>\d{1,400})(?:C\d{1,400})?)?)$"
)
SPOKEN_LINE = re.compile(
    r"[\s,;)\]`'\"(]{0,4}(?:at |on |around )?(?:lines?|ll?\.|L)\s?(?P<a>\d{1,99})"
    r"(?:\s?(?:-|–|—|to)\s?L?(?P<b>\d{1,99}))?",
    re.I,
)
LINE_BEFORE = re.compile(
    r"\blines?\s(?P<a>\d{1,99})(?:\s?(?:-|–|—|to)\s?(?P<b>\d{1,99}))?\s(?:of|in)\s[`\"'*(]{0,2}$", re.I
)
COMMIT = re.compile(r"(?:commit|revision|rev|sha)s?[ :]{1,2}`?(?P<id>[0-9a-f]{7,64})\b", re.I)
SECTION = re.compile(r"(?:§+\s*|#{1,6}\s+|(?:the\s+)?section\s+|heading\s+)(?P<name>.+)", re.I | re.S)
LINES = re.compile(r"lines?\s(?P<a>\d{1,99})(?:\s?(?:-|–|—|to)\s?(?P<b>\d{1,99}))?", re.I)
PATH = re.compile(r"[\w.@+%/\-\[\]()$, #&!\u0300-\u036f]+")
"""With the accents that some systems write behind their letters."""
DRIVE = re.compile(r"[A-Za-z]:[\\/]")
CALL = re.compile(r"\w\(.*\)$")


@frozen
class Place:
    """A place, parsed. `start` and `end` are 0 if no line is named."""

    kind: Kind
    path: str = ""
    start: int = 0
    end: int = 0
    name: str = ""
    """The id of a commit or the heading of a section."""
    reversed: bool = field(default=False, compare=False)
    """The last line is written before the first: `9-4`."""


@frozen(slots=False)
class Citation:
    """A place, and the words that a text quotes from it."""

    place: str
    quote: str = ""
    known: Place | None = field(default=None, compare=False)
    """The place, if it is known without parsing the text."""
    shorter: str = field(default="", compare=False)
    """The quote up to a quotation mark inside it, if it is not clear whether the quote ends there."""

    @classmethod
    def of(cls, place: str, quote: str = "", paths: Iterable[str] = ()) -> Citation:
        """`paths` are existing files: without them, an unusual name might not be parsed as a path."""
        text = place.strip()
        return cls(text, quote.strip("\r\n"), exact_place(text, paths))

    @cached_property
    def parsed(self) -> Place:
        return self.known or understand(self.place)


def exact_place(text: str, paths: Iterable[str]) -> Place | None:
    """The place if `text` is exactly one of these paths, with or without lines. The longest matching path counts."""
    for path in sorted((one for one in paths if text.startswith(one)), key=len, reverse=True):
        if found := EXACT_LINES.fullmatch(text, len(path)):
            return _ranged(Place("file", path), found[1] or "0", found[2])
    return None


EXACT_LINES = re.compile(r"(?::(\d{1,400})(?:-(\d{1,400}))?)?")


def understand(place: str) -> Place:
    """Parse a text that is meant as a place, such as a field of a form: more lenient than `is_place` with prose."""
    text = place.strip().strip("`*\"'<>").strip()
    if not text or len(text) > LONGEST or "\0" in text:
        return Place("other")
    if URL.match(text):
        return Place("url")
    if found := (COMMIT.fullmatch(text) or re.fullmatch(r"(?P<id>(?=\w*\d)[0-9a-f]{7,64})", text)):
        return Place("commit", name=found["id"].lower())
    if re.fullmatch(r"HEAD(?:[~^]\d*)*", text):
        return Place("commit", name=text)
    if found := LINES.fullmatch(text):
        return _ranged(Place("section"), found["a"], found["b"])
    if found := SECTION.fullmatch(text):
        return Place("section", name=found["name"].strip(" \"'`“”*"))
    text = re.sub(r"^(?:file|path|in|see)[: ]\s*", "", text, count=1, flags=re.I)
    path, line = _split_lines(text)
    if not line.start and (found := re.search(SPOKEN_LINE.pattern + r"[)\s.]*$", text, re.I)) and found.start():
        path, line = text[: found.start()], _ranged(Place("file"), found["a"], found["b"])
    if " (" in path and not line.start:
        path, line = _split_lines(path.partition(" (")[0])
    path = _with_slashes(path.partition("::")[0].strip("` ,"))
    drive = path[:2] if DRIVE.match(path) else ""
    if not path or "\n" in path or ":" in path[len(drive) :] or DOMAIN.match(path):
        return Place("other")
    last = path.rstrip("/").rpartition("/")[2]
    plain = line.start or path.endswith("/") or _extension(last) in EXTENSIONS or last in BARE_NAMES or path[:2] == "./"
    sure = plain and (" " not in path or bool(_extension(last)))
    # A text that may not be a path (`TCP/IP`, `src/thing`) is "other": it is looked up, but never marked as absent.
    return Place("file" if sure else "other", path, line.start, line.end, reversed=line.reversed)


def _split_lines(text: str) -> tuple[str, Place]:
    found = LINE_SUFFIX.search(text, max(0, len(text) - LONGEST))
    if not found or not found.start():
        return text, Place("file")
    return text[: found.start()], _ranged(Place("file"), found["a"] or found["c"], found["b"] or found["d"])


def _ranged(place: Place, first: str, last: str | None) -> Place:
    a, b = (min(int(line), LAST_LINE) for line in (first, last or first))
    return Place(place.kind, place.path, min(a, b), max(a, b), place.name, a > b)


def _with_slashes(path: str) -> str:
    """The path as in the workspace: `/` for the backslash of Windows, or an underscore for the `\\_` of Markdown."""
    return path.replace("\\_", "_") if "/" in path else path.replace("\\", "/")


def _extension(name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    return extension.lower() if dot and stem else ""


def is_place(text: str, ticked: bool = False) -> bool:
    """Whether a word of prose, or a text in backticks, is a place in a file. When in doubt it is not."""
    if not 3 <= len(text) <= LONGEST or "::/" in text:
        return False
    path, line = _split_lines(text)
    path = path.partition("::")[0]
    if DRIVE.match(path):  # of Windows: outside of the workspace, as `/a.py:3`
        return bool(line.start) and is_place(_with_slashes(text)[2:])
    if "\\" in path:
        if "\\" in (path := _with_slashes(path)) or path.startswith("/") or _extension(path) not in EXTENSIONS:
            return False  # `\d+` and other code
        if not (ticked or line.start or path.partition("/")[0] in FOLDERS):
            return False
    if not PATH.fullmatch(path) or CALL.search(path) or path[0] in "~$#-(," or "//" in path:
        return False
    if ".." in path and any(".." in part and part != ".." for part in path.split("/")):
        return False
    if not ticked and re.search(r"[\[\]()$, #&!]", path):
        return False
    words = path.split(" ")
    if len(words) > 1 and (words[0].lower() in COMMANDS or len(words) > 6 or any(w[:1] in "-&#" for w in words)):
        return False
    if DOMAIN.match(path) or path.lower() in NOT_FILES or not re.search(r"[^\W\d]", path):
        return False
    if path.startswith(("/", "../")) and line.start:
        return True  # it leads out of the workspace, so the lookup will mark it as absent
    if path.startswith("/"):
        return False
    last = path.rstrip("/").rpartition("/")[2]
    extension = _extension(last)
    if extension in EXTENSIONS and last[-len(extension) - 2] != ".":
        named = bool(line.start) or "/" in path or ticked
        # `Thing.js` in running text is more often a library than a file
        return named or (extension not in EVERYDAY_EXTENSIONS and not (extension == "js" and last[0].isupper()))
    if last in BARE_NAMES:
        return bool(line.start) or "/" in path or ticked
    if "/" not in path or " " in path:
        return False
    if extension:
        return bool(line.start) and UNKNOWN_EXTENSION.fullmatch(extension) is not None  # data/a.dat:3
    known = path.startswith(("./", "../")) or path.partition("/")[0] in FOLDERS
    return (ticked and (known or path.endswith("/"))) or (known and bool(line.start))  # bin/run:10


@frozen
class FoundCitation:
    """A citation in a text, and the line of the text where it is."""

    line: int
    citation: Citation
    planned: bool = False
    """The text describes it as planned, so that it need not exist yet."""


QUOTED = r"(?:[ \t]{0,12}>)*"
"""The markers of a block quote, which may be inside another one or inside a list."""
FENCE = re.compile(rf"(?P<in>{QUOTED})[ \t]{{0,12}}(?P<mark>`{{3,}}|~{{3,}})[ \t]*(?P<language>[^`\n]*)$")
MARKER = re.compile(r"[ \t]{0,12}> ?")
NO_QUOTE = _words_of("diff patch sh bash console shell shell-session suggestion mermaid")
WORD = re.compile(r"(?:(?!\]\()[^\s`\"“”|<>])+")
TOKEN = re.compile(
    r"(?<!`)``(?P<twice>(?:[^`\n]|`(?!`)){1,2000})``(?!`)"
    r"|`(?P<code>[^`\n]{1,2000})`"
    r"|\]\((?P<link>[^()\s]{1,400})\)"
    r"|(?P<said>[\"“])"
    r"|(?P<single>(?<![^\s(])['‘](?=[^\s'‘’]))"
    rf"|(?P<word>{WORD.pattern})"
)
PLACE_TO_QUOTE = re.compile(
    r"[\s)\]*,]{0,4}(?:[:—–=-]|->|→|says|said|reads|has|had|contains|shows|states|defines|is|was|holds|where|which|it"
    r"|that|\s)*[\s(]*",
    re.I,
)
QUOTE_TO_PLACE = re.compile(r"[\s,]*(?:\(|\[|—|–|from|per|see|cf\.?|\s)*[\s(\[]*", re.I)
SAID_TO_PLACE = re.compile(r"[\s,]*(?:\(|\[|—|–|from|per|see|cf\.?|in|at|on|line|\s)*[\s(\[]*", re.I)
STANDS = re.compile(
    r"\s(?:is|are|stands?|appears?|occurs?|(?:is|are|can be) found) (?:(?:also|only|still|now) )?(?P<how>at|on|in) "
    r"(?:the file )?(?:lines? \d{1,9}(?:[-–—]\d{1,9})? (?:of|in) )?[\[(]?"
)
"""Between a quote and its place: `"x = 1" is at a.py:3`."""
IN_FRONT = re.compile(
    r"\W{0,9}(?:(?:and|also|but|so|then|now)\s)?(?:in|at|on)\s(?:the file\s)?(?:lines?\s[\d–—-]+\s(?:of|in)\s)?[`*]*",
    re.I,
)
"""The beginning of a sentence that names a place and then says what is there: `In a.py line 3, ...`."""
CELL = re.compile(r"[`*)\]]{0,4}\s*\|\s*")
QUOTES = re.compile(
    r"\b(?:quotes?|quoted|quotation|code|text|words?|lines?|contents?|snippets?|excerpts?|evidence|says|reads|shows|source"
    r"|current|currently|today|actual|before)\b",
    re.I,
)
SUGGESTS = re.compile(
    r"\b(?:new|fix\w*|after|suggest\w*|better|expected|correct\w*|replacement|wanted|patch\w*)\b", re.I
)
CODE = re.compile(r"\w[(\[]|[={}<>;]|\w_\w|\w\.\w{2}|:$")
"""A sign that a text is code, not prose."""
WHOLE_CALL = re.compile(r"[\w.]+\(.*\)")
MAKING = "add|adds|adding|create|creates|creating|new|write|writes|introduce|introduces|generate|generates|emit|output"
MAKES = re.compile(rf"\b(?:{MAKING})\b", re.I)
PLANS = re.compile(
    rf"\b(?:{MAKING}|replace|change|rename|insert|move|update|should|will|would|must|instead|propose|proposed)\b", re.I
)
CITATION_SIGN = re.compile(r"[.:#]\w|/|`|\]\(")
CITATION_WORDS = ("comm", "rev", "sha", "make", "docker")
PLACE_AND_QUOTE = re.compile(r"(?P<place>\S+)[ :]{1,3}(?:(?P<said>[\"“].+)|'(?P<quote>[^\"“”]+)')")

LONGEST_SAID = 2_000
MOST_INNER = 16
"""Quotation marks inside a quote at most; a quote with more of them is ignored."""
MATCHING_MARKS = {
    '"': re.compile(r'(?<!(?<!\\)\\)"'),
    "“": re.compile("[“”]"),
    "'": re.compile(r"(?<!(?<!\\)\\)'"),
    "‘": re.compile("[‘’]"),
}
"""The mark that a quote begins with → the marks that it may end with, or contain."""
TRIPLE = re.compile(r'"""(?!")')
STRAIGHT_TO_CURLY = re.compile(r"\"[^\"“”]{1,2000}(?=”)")
CURLY_TO_STRAIGHT = re.compile(r"“[^\"“”]{1,2000}\"")
COMPLETE = re.compile(r"[\w)\]}'\"’”`…%]")
"""A character before a mark that ends a quote; in code, no string begins directly after such a character."""
SINGLE = re.compile(r"(?<!\w)'|'(?!\w)")
"""A single quotation mark that is no apostrophe."""
BEGINS = re.compile(r"[\s(\[—–][\"“”'‘’][^\W_]")
IN_SINGLE = re.compile(r"(?<!\w)'$")
PREFIX = re.compile(r"(?:^|\W)[fFrRbBuUL]{1,2}$")
BESIDE = re.compile(r"$|[\s.,;:!?)\]}>|*_`'\"/<-]|[^\0-\x7f]")
CLOSES = re.compile(r"[)\]}.,;:!?…*_`'’]*(?:\s|$|[|—–。，、；：！？）】」])")
"""The text after a mark that ends a quote; it seldom comes after a mark that begins a string in code."""
OTHER_PLACE = re.compile(r"\w\.\w{1,12}(?::L?|#L)\d")
CITED = re.compile(r"(?::L?|#L)\d+(?:[-–—:]L?\d+)?[`)\]*:,—–\s]*\s$")
"""A place before a quotation mark, which therefore begins a quote."""
SENTENCE = re.compile(r"[.;!?]\s")
UNSEEN = "\ufeff\u200b\u200e\u200f\u2060"
"""A byte order mark and other characters without a width."""
OPENING = "([{*_'‘,;~" + "«„‚（【「『《" + UNSEEN
CLOSING = ")]}*_'’,;.!?:" + "»）】」』》。，、；：！？" + UNSEEN


@frozen
class _Piece:
    start: int
    end: int
    place: str = ""
    quote: str = ""
    kind: Literal["", "tick", "said", "link"] = ""
    shorter: str = ""


def find_citations(text: str) -> list[FoundCitation]:
    """Every citation in prose or Markdown, in order. Fenced code is not searched, but may be a quote."""
    found: list[FoundCitation] = []
    fence, depth, waiting = "", 0, -1
    body: list[str] = []
    marked, header = False, ""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = line.rstrip("\r")
        if marked and not MARKER.match(line):
            # a block quote ends, and with it the fenced code in it, unless only the fence has a marker, by mistake
            if body or not line.strip():
                _add_block(found, waiting, body)
                fence, waiting, body = "", -1, []
            marked = False
        mark = FENCE.match(line)
        if not line.lstrip(" \t>").startswith("|"):
            header = ""
        if fence:
            if mark and mark["mark"].startswith(fence) and not mark["language"].strip():
                _add_block(found, waiting, body)
                fence, waiting, body, marked = "", -1, [], False
            else:
                body.append(_unmarked(line, depth))
        elif mark:
            fence, depth = mark["mark"], mark["in"].count(">")
            marked = depth > 0
            if mark["language"].strip().lower().partition(" ")[0] in NO_QUOTE:
                waiting = -1
        elif _may_cite(line):
            pieces = list(_pieces(line))
            before = len(found)
            found += _on_line(line, number, pieces, header)
            waiting = len(found) - 1 if len(found) > before and _ends_with_place(line, pieces) else -1
        elif line.strip(" \t>"):
            waiting = -1  # a heading or a sentence comes between place and block: the block belongs to that
        if not fence and not header and line.lstrip(" \t>").startswith("|"):
            header = line  # the first row of a table
    return found


def _unmarked(line: str, depth: int) -> str:
    """A line without the markers of the block quotes that it is in."""
    at = 0
    for _ in range(depth):
        if not (marker := MARKER.match(line, at)):
            break
        at = marker.end()
    return line[at:]


def _may_cite(line: str) -> bool:
    """Whether a line may contain a citation. Most do not; a single pattern would take thirty times as long."""
    if CITATION_SIGN.search(line):
        return True
    folded = line.casefold()
    return any(map(folded.__contains__, CITATION_WORDS))


def _add_block(found: list[FoundCitation], waiting: int, body: list[str]) -> None:
    """Assign a fenced block to the place that the line before it ends with."""
    quote = "\n".join(body)
    if waiting >= 0 and quote.strip() and len(quote) <= LONGEST_QUOTE and not found[waiting].citation.quote:
        last = found[waiting]
        found[waiting] = FoundCitation(last.line, Citation(last.citation.place, quote), last.planned)


def _ends_with_place(line: str, pieces: list[_Piece]) -> bool:
    places = [piece for piece in pieces if piece.place]
    rest = line[places[-1].end :] if places else line
    return bool(places) and len(rest) <= 12 and not rest.strip(" :.)*_`]") and not PLANS.search(line[-400:])


def _pieces(line: str) -> Iterator[_Piece]:
    at, last, lost = 0, _Piece(0, 0), False
    while token := TOKEN.search(line, at):
        at, pieces = token.end(), list(_token_pieces(line, token, last))
        if token["said"]:
            # After a quote whose end is unknown, a mark may be in the middle of it, unless it comes after a place.
            lost = lost or not pieces
            pieces = [] if lost and not last.place else pieces
        if token["single"] and not pieces and (word := WORD.match(line, token.start())):
            at, pieces = word.end(), list(_word_pieces(word[0], token.start()))
        if pieces:
            last = pieces[-1]
            at = max(at, last.end)
            yield from pieces


def _token_pieces(line: str, token: re.Match[str], last: _Piece) -> Iterator[_Piece]:
    start, end = token.span()
    if (code := token["twice"] or token["code"]) is not None:
        yield _in_ticks(code, line, start, end)
    elif token["link"] is not None:
        target = token["link"].removeprefix("file:")
        if URL.match(target) or is_place(target, True):
            yield _Piece(start, end, target, "", "link")
    elif token["said"] is not None:
        if piece := _quotation(line, start):
            yield piece
    elif token["single"] is not None:
        if piece := _in_single_marks(line, start, last):
            yield piece
    else:
        yield from _word_pieces(token["word"], start)


def _in_single_marks(line: str, start: int, last: _Piece) -> _Piece | None:
    """Code in single quotation marks, directly after a place with a line. Elsewhere they may be apostrophes."""
    if not last.place or URL.match(last.place):
        return None
    spoken = SPOKEN_LINE.match(line, last.end)
    end = spoken.end() if spoken else last.end
    if (
        not 0 < start - end <= 60
        or not _split_lines(_with_lines(line, last))[1].start
        or not PLACE_TO_QUOTE.fullmatch(line, end, start)
    ):
        return None
    piece = _quotation(line, start)
    if not piece or piece.place or not CODE.search(piece.quote) or OTHER_PLACE.search(piece.quote):
        return None
    return piece


def _in_ticks(text: str, line: str, start: int, end: int) -> _Piece:
    code = text.strip()
    if is_place(code, True):
        return _Piece(start, end, code, "", "tick")
    if (both := PLACE_AND_QUOTE.fullmatch(code)) and is_place(both["place"], True):
        # `a.py:3 "x = 1"`: in one pair of backticks, place and quote belong together, whatever is around them
        if both["quote"]:
            return _Piece(start, end, both["place"], both["quote"], "tick")
        said = _quotation(both["said"], 0)
        if said and said.end == len(both["said"]):
            return _Piece(start, end, both["place"], said.quote or said.place, "tick", said.shorter)
    return _Piece(start, end) if _goes_on(text, line, end) else _Piece(start, end, "", code, "tick")


def _goes_on(code: str, line: str, end: int) -> bool:
    """Whether a backtick seems to be part of the code before it, whose end is then unknown."""
    after = line[end : end + 1]
    if not BESIDE.match(line, end):
        return True  # `x = `${y}/z``
    if after in ("'", '"') and code.count(after) % 2:
        return True  # `x = "`"`
    return code[-1].isspace() and not code[0].isspace() and bool(after.strip())  # `# as in `.x``


def _quotation(line: str, start: int) -> _Piece | None:
    """The quote that begins with the mark at `start`; None if it does not end."""
    if line.startswith('"""', start):
        closing = TRIPLE.search(line, start + 3, start + LONGEST_SAID)
        ends, first, after = [closing.start()] if closing else [], start + 3, 3
    else:
        ends, first, after = _quote_ends(line, start), start + 1, 1
    if not ends:
        return None
    said, shorter = (line[first:end].strip() for end in (ends[-1], ends[0]))
    end = ends[-1] + after
    if is_place(said):
        return _Piece(start, end, said, "", "said")
    return _Piece(start, end, "", said, "said", shorter if len(ends) > 1 else "")


def _quote_ends(line: str, start: int) -> list[int]:
    """The positions where the quote that begins at `start` may end; it is read to the last of them.

    Quoted code may have the same marks inside: `"i["cost"] + 1"`. They come in pairs, so every second mark either ends
    the quote or begins a string. It ends the quote if the text before it shows that no string can begin there. It does
    not if code follows. If both are possible, as in `"join(", ", rows)"`, the longer text counts.
    """
    if mixed := STRAIGHT_TO_CURLY.match(line, start):
        return [mixed.end()]
    ends: list[int] = []
    inside, at = False, start
    for seen, mark in enumerate(MATCHING_MARKS[line[start]].finditer(line, start + 1, start + LONGEST_SAID)):
        if seen == MOST_INNER:
            return []
        at = mark.start()
        if inside:
            inside = False
            if ends and (BEGINS.match(line, at - 1) or CITED.search(line, max(ends[-1] + 1, at - 60), at)):
                return ends  # no string ends here: another quote begins
            continue
        if IN_SINGLE.search(line, max(start + 1, at - 2), at) and line.count("'", start + 1, at) % 2:
            continue  # the mark is inside a string in single quotation marks: `char == '"'`
        closing = line[at] not in "“‘"
        complete = _complete(line, start, at) and BESIDE.match(line, at + 1)
        if closing and complete and _is_whole(line[start + 1 : at]):
            return [*ends, at]
        if closing and (complete or CLOSES.match(line, at + 1)):
            ends.append(at)
        if line[start + 1].isspace():
            return ends  # white space follows the first mark, so only this one can end the quote
        inside = True
    if at > start and not inside and CLOSES.match(line, at + 1) and line[at] not in "“‘":
        return [*ends, at]  # the last string in the quoted code has no end
    if not ends and (mixed := CURLY_TO_STRAIGHT.match(line, start)):
        return [mixed.end() - 1]
    return ends


def _is_whole(text: str) -> bool:
    """Whether no bracket and no string in single quotation marks is left open."""
    pairs = all(text.count(opening) == text.count(closing) for opening, closing in ("()", "[]", "{}"))
    return pairs and ("'" not in text or len(SINGLE.findall(text)) % 2 == 0)


def _complete(line: str, start: int, at: int) -> bool:
    """Whether the text before the mark at `at` shows that no string in code begins there."""
    before = line[max(start + 1, at - 3) : at]
    return bool(before) and COMPLETE.match(before[-1]) is not None and not PREFIX.search(before)


def _word_pieces(word: str, at: int) -> Iterator[_Piece]:
    """A run without white space: `(src/a.py:3),` or `a.py,b.py` or `see:src/a.py`."""
    opening = len(word) - len(word.lstrip(OPENING))
    core = word[opening:].rstrip(CLOSING)
    if "." not in core and "/" not in core and ":" not in core and "#" not in core:
        return  # nearly every word; addresses and places all have one of these characters
    if url := URL.search(core):
        if (url.start() == 0 or core[url.start() - 1] in "([") and len(core) <= LONGEST_URL:
            yield _Piece(at + opening + url.start(), at + opening + len(core), url[0])
        return
    for part in re.finditer(r"[^,;]+", core[: 4 * LONGEST]):
        if is_place(part[0]):
            yield _Piece(at + opening + part.start(), at + opening + part.end(), part[0])


def _on_line(line: str, number: int, pieces: list[_Piece], header: str) -> Iterator[FoundCitation]:
    """The citations on a line. `header` is the first row of the table that it belongs to."""
    commits = [(m.start("id"), m["id"]) for m in COMMIT.finditer(line) if re.search(r"\d", m["id"])]
    out: list[tuple[int, FoundCitation]] = [
        (at, FoundCitation(number, Citation(f"commit {name.lower()}"))) for at, name in commits
    ]
    used: set[int] = set()
    for index, piece in enumerate(pieces):
        if not piece.place:
            continue
        if index and piece.kind == "link" and pieces[index - 1].place and pieces[index - 1].end >= piece.start - 1:
            out = [item for item in out if item[0] != pieces[index - 1].start]  # [`a.py`](a.py): one citation, not two
        place = piece.place if URL.match(piece.place) else _with_lines(line, piece)
        head = SENTENCE.split(line[max(0, piece.start - 120) : piece.start])[-1]
        plans = PLANS.search(head)
        beside = (
            None if plans or URL.match(place) else piece if piece.quote else _quote(line, pieces, index, used, header)
        )
        cited = Citation(place, beside.quote, shorter=beside.shorter) if beside else Citation(place)
        planned = bool(plans and MAKES.search(head)) and not _split_lines(place)[1].start
        out.append((piece.start, FoundCitation(number, cited, planned)))
    yield from (found for _, found in sorted(out, key=lambda item: item[0]))


def _with_lines(line: str, piece: _Piece) -> str:
    """The place, with a line that is spelled out next to it: `a.py`, line 12."""
    if _split_lines(piece.place)[1].start:
        return piece.place
    spoken = SPOKEN_LINE.match(line, piece.end) or LINE_BEFORE.search(line[max(0, piece.start - 60) : piece.start])
    if not spoken:
        return piece.place
    return f"{piece.place}:{spoken['a']}" + (f"-{spoken['b']}" if spoken["b"] else "")


def _quote(line: str, pieces: list[_Piece], index: int, used: set[int], header: str) -> _Piece | None:
    """The snippet that belongs to a place: directly after it, or directly before it."""
    piece = pieces[index]
    spoken = SPOKEN_LINE.match(line, piece.end)
    end = spoken.end() if spoken else piece.end
    at_line = _split_lines(_with_lines(line, piece))[1].start > 0
    if index + 1 < len(pieces):
        after = pieces[index + 1]
        between = line[end : after.start]
        # `a.py`, `b` is a list; `a.py:3` `b` is a place and its quote
        lined = at_line or ":" in piece.place
        beside = between.strip() not in ("", ",") or (between.isspace() and lined)
        if after.quote and not after.place and after.start >= end and len(between) <= 60:
            if beside and PLACE_TO_QUOTE.fullmatch(between):
                used.add(index + 1)
                return after
            if at_line and _says_next(line, piece, between, after):
                used.add(index + 1)
                return after
            if at_line and _in_next_cell(line, piece, between, after, header):
                used.add(index + 1)
                return replace(after, quote=after.quote.replace("\\|", "|"))
    if index and (before := pieces[index - 1]).quote and not before.place and index - 1 not in used:
        link = SAID_TO_PLACE if before.kind == "said" else QUOTE_TO_PLACE
        between, head = line[before.end : piece.start], line[max(0, before.start - 120) : before.start]
        if len(between) <= 60 and between.strip(" ,") and not PLANS.search(head):
            stands = STANDS.fullmatch(between) if at_line else None
            at = stands is not None and stands["how"] == "at" and before.kind == "said"
            if link.fullmatch(between) or at or (stands and _is_statement(before.quote)):
                used.add(index - 1)
                return before
    return None


def _says_next(line: str, piece: _Piece, between: str, after: _Piece) -> bool:
    """Whether a sentence begins with this place, and says after a comma what is there: `In a.py line 3, ...`."""
    if between.strip() != "," or not _is_statement(after.quote):
        return False
    head = SENTENCE.split(line[max(0, piece.start - 120) : piece.start])[-1]
    tail = SENTENCE.split(line[after.end : after.end + 120])[0]
    return IN_FRONT.fullmatch(head) is not None and not PLANS.search(tail)


def _in_next_cell(line: str, piece: _Piece, between: str, after: _Piece, header: str) -> bool:
    """Whether a row of a table has a place in one cell and a quote in the next one."""
    if not CELL.fullmatch(between) or after.start > LONGEST_URL or not line.lstrip(" \t>").startswith("|"):
        return False
    alone = line[: piece.start].rstrip(" \t*`([").endswith("|") and CELL.match(line + "|", after.end)
    if not alone:
        return False
    if not header:
        return _is_statement(after.quote)
    names = header.split("|", 200)
    name = names[min(line.count("|", 0, after.start), len(names) - 1)]
    return QUOTES.search(name) is not None and not SUGGESTS.search(name) and not PLANS.search(name)


def _is_statement(quote: str) -> bool:
    """Whether a quote is more than a name or a call of a function, which may be written otherwise in the file."""
    first, _, rest = quote.partition(" ")
    return bool(rest) and first.lower() not in COMMANDS and bool(CODE.search(quote)) and not WHOLE_CALL.fullmatch(quote)
