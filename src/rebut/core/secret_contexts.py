"""Values that their surroundings give away: the name before them, a header, a URL, a command, a connection string.

Every rule finds where a value could be, in one pass over the text, and a condition on the value alone decides whether
it is a secret. A rule looks at a bounded number of characters after each place where it begins, and rules that need
more (the options of a command) go through the text once and remember what came before. So the time is linear.

How much a value has to look like a secret depends on how clearly the place says that it is one. `password = "hunter"`
says it; `connect("host", "hunter")` does not, so that a value there needs a digit or a mark.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import zip_longest

from rebut.core import secret_patterns
from rebut.core.crowds import LINK, NAME, NAME_IN_VALUE, PLACE, VALUE, Span
from rebut.core.lazy_pattern import LazyPattern
from rebut.core.searched_text import SearchedText

MASKS = "\x01-\x08\x0e-\x1b\ue000-\uf8ff"
"""Characters of which one stands for each placeholder while a text is searched, as a range inside `[…]`."""

# What is a name. ------------------------------------------------------------------------------------------------------

KEYS = (
    *("api", "access", "auth", "private", "secret", "account", "signing", "encryption", "master", "license", "aes"),
    *("consumer", "storage", "deploy", "webhook", "subscription", "shared", "crypt", "crypto", "hmac", "client", "app"),
    *("session", "service", "admin", "server", "ssh", "cipher", "decryption", "write", "root", "sas", "function"),
    *("application", "project", "security", "jwt", "rsa", "ingest", "integration", "instrumentation", "sdk", "tls."),
)
"""What makes a secret of the `key` after it. Others, as in `primary_key` or `cache_key`, name something public."""
PASSES = ("_", "-", ".", "'", '"', "require", "store", "key", "auth", "smtp", "db", "ssh", "become", "/", "root")
OWNERS = ("_", "-", "bind", "root", "user", "admin", "db", "ldap")
SHORT_NAMES = frozenset(("key", "pass", "pw", "psk"))
WORD = (
    r"passw(?:or[dt]|d)|passphrase|passcode|pwd|kennwort|secret|token|credentials?|creds|mnemonic|masterauth"
    r"|client-key-data|requirepass"
)
TAIL = (
    r"(?:[_-]?\d{1,3}|[_-]?(?:prod|production|staging|dev|test|live|value|primary|secondary|base64|base|string|text"
    r"|hex|b64|plain|raw|default|old|new))?"
)
TYPED = ("passw", "passp", "passc", "pwd", "pass", "pw", "psk", "kennwort", "masterauth", "requirepass", "mnemonic")
"""Names of what people choose: it may be a plain word. A token without a single digit is rather the name of one."""

# Between a name and its value. ----------------------------------------------------------------------------------------

CLOSE = r"\\?[\"'`]?(?:\[\d{0,5}\]|[\]})])?[\"'`]?"
SIGNS = (
    # `=`, `:=`, `.=`, `||=`, `=>`, `<-`, and a type before them: `x: str =`, `x string =`, `x { get; set; } =`
    r"(?P<assign>(?:[:?!+.*~&|^-]|\|\||\?\?)?={1,3}>?|<{1,2}-(?!-)|->"
    r"|:[ ]{0,4}(?:&'[a-z]{1,12} )?[\w.\[\]|<>&*? ]{1,60}+=(?![=>])"
    r"|(?<=[ \t])(?:as )?[\w.*\[\]]{2,24}+(?:\(\d{1,5}\))? {0,4}:?=(?![=>])|\{[a-z; ]{3,24}+\} {0,2}=)"
    # `x: `, also in YAML with the value in a block below it
    r"|(?P<colon>:(?!:)-?(?:[ \t]{0,4}[>|][+-]?[ \t]{0,4}(?=\n))?)"
    # `"x", "value": `, `name: x⏎ value: `, `variable "x" {⏎ default = `
    r"|(?P<pair>[,{]?\s{0,40}+(?:[\"']?\w{1,20}+[\"']?\s{0,4}[:=]\s{0,4}[\"']?[\w-]{1,40}+[\"']?,?\s{0,40}+)??(?<!\w)[\"']?"
    r"(?:parameter)?(?:value|default|content)[\"']?\s{0,4}[:=])"
    # `<x>…</x>`, `name="x">…</property>`, `<key>x</key><string>…</string>`
    r"|(?P<element>/?>(?:\s{0,40}<\w{1,12}>)?|</\w{1,12}>\s{0,40}<\w{1,12}>)"
    # `get("X", …)`, `get("X") or …`, `X ?? …`, `${X:-…}`
    r"|(?P<other>,|\|\||\?\?|\?:|or(?= )|\.unwrap_or(?:_else)?\((?:\|_?\|)?|\.fetch\()"
    r"|(?P<call>[({](?![)}]))"
    r"|(?P<cell>\|(?!\|)|(?:for [\w -]{1,40}+)?(?<= )is:? (?=[\"'`]))"
    r"|(?P<space>(?<=[ \t])(?=[\"'@]|[^\s\"'`,;()\[\]{}<>=]{0,80}?\d))"
)
MASKED_VALUE = rf"(?![ \t]{{0,8}}[\"'`]?[{MASKS}])"
"""A placeholder is no value. Most links of a text that is searched again lead to one, and are passed over at once."""
NEAR = r"(?:(?= ?[\"']?(?P<near>[\w.!%^*~+/=-]{8,100}+)(?:[\"']|\s|;|$)))?"
"""A value of the plainest kind, which needs no further look at what is around it."""
PADDED = LazyPattern(r"(?::[ ]{0,4})?(?P<value>\w{8,60}=)")
"""A value in base64 that ends in one `=`, which looks like a type before the sign of an assignment."""
SHORTEST_PADDED = 9
NAMES = (
    *("passw", "passphrase", "passcode", "pwd", "kennwort", "secret", "token", "credential", "creds"),
    *("mnemonic", "masterauth", "client-key-data", "requirepass", "key", "pass", "pw", "psk"),
)
ENDINGS = {"passw": "(?:or[dt]|d)", "credential": "s?"}
NAME_GATES = frozenset(
    ("pass", "pwd", "pw", "psk", "secret", "token", "cred", "key", "kennwort", "mnemonic", "masterauth")
)
LINKED = tuple(
    LazyPattern(rf"{name}{ENDINGS.get(name, '')}{TAIL}(?![a-z]){CLOSE}[ \t]{{0,8}}+(?:{SIGNS}){MASKED_VALUE}{NEAR}")
    for name in NAMES
)
"""A name and what links it to a value, looked for in lower case.

One pattern for each name: a search for a pattern that begins with plain characters takes almost no time.
"""

# Values. --------------------------------------------------------------------------------------------------------------

WRAP = (
    r"(?:[ \t]{0,40}+(?:\\?\n[ \t+-]{0,40}+)?)"
    r"(?P<wrap>(?:(?:new[ ]|[&*%])?(?:\[\])?[\w.:-]{0,40}+[(\[{<]{1,2}[ \t]{0,8}+(?:\n[ \t+-]{0,40}+)?){0,2}+)"
    r"(?:ConvertTo-SecureString[ ](?:-String[ ])?)?"
)
BEFORE_TEXT = r"(?i:[rbfuns]{1,2}|@|\$)?"
QUOTED = (
    rf"(?:{BEFORE_TEXT}(?P<open>\"\"\"|'''|[\"'`])(?P<quoted>(?:\\.|(?!(?P=open))[^\\\n])++)(?P=open)"
    r"|\\(?P<mark>[\"'])(?P<escaped>[^\"'\\\n]++)\\(?P=mark))"
)
IN_BARE = rf"[^\s\"'`,;&|(){{}}\[\]<>\\{MASKS}]"
BARE = rf"(?P<bare>{IN_BARE}{{6,}}+)"
MARKED = rf"(?=[^\s\d!@#%^*+=~?$\"'`,;&|(){{}}\[\]<>]{{0,80}}+[\d!@#%^*+=~?$]){BARE}"
MARKED_QUOTED = QUOTED.replace("(?P<quoted>", r"(?P<quoted>(?=[^\"'`\n\d!@#%^&*?+=~$]{0,100}+[\d!@#%^&*?+=~$])")
ANY_VALUE = LazyPattern(rf"{WRAP}(?:{QUOTED}|{BARE})")
MARKED_VALUE = LazyPattern(rf"{WRAP}(?:{QUOTED}|{MARKED})")
QUOTED_VALUE = LazyPattern(rf"{WRAP}(?:{MARKED_QUOTED}|(?P<bare>(?!)))")
PLAIN_OR_QUOTED = LazyPattern(rf"{WRAP}(?:{MARKED_QUOTED}|{MARKED})")
IN_ELEMENT = LazyPattern(r"\s{0,40}(?P<bare>[^<>\s]{5,}+)\s{0,40}</")
VALUES = {
    "assign": MARKED_VALUE,
    "colon": MARKED_VALUE,
    "space": PLAIN_OR_QUOTED,
    "pair": MARKED_VALUE,
    "call": QUOTED_VALUE,
    "other": QUOTED_VALUE,
    "cell": MARKED_VALUE,
    "element": IN_ELEMENT,
}
"""What may follow each kind of link."""
FAR = 64
ENOUGH = 400
"""Characters of a value by which it is judged."""
REST = LazyPattern(rf"[^\s\"'`{MASKS}]{{5,160}}+(?=\s|$)")
MADE = LazyPattern(
    r"(?i:string|str|secret|some|byte|bytes|b64decode|fromhex|buffer\.from|literal|field|owned|new\b|^[(\[{<]+$|^$|from|env)"
)
"""Calls that make a value of their text. Others look something up by it, and what they are given is a name."""
LOOKS_UP = LazyPattern(r"(?i:get(?!env)|read|fetch|load|find|look|ask|prompt|input|pop|resolve)")

FILLER = """
    a abc access admin an any api apikey app auth authorization bar base basic baz bearer bool boolean bytes change
    changeme client credential credentials csrf current db default demo disabled dummy empty enabled enter env
    example expired fake false field file foo foobar from get hash header here hidden id input insert int integer
    invalid is key label literal me missing mock my name new nil no none not null number oauth object of old optional or
    param pass passphrase passwd password path placeholder private put pwd query redacted ref refresh removed
    replace replaceme required sample secret secrets session set some str string temp test testing text the this to
    todo token tokens true type undefined unknown unset url use user username valid value var variable visible wrong
    x y yes you your
"""
FILLERS = frozenset(FILLER.split())
TECHNICAL = LazyPattern(
    r"(?i:base(?:16|32|58|64)|b64|utf_?(?:8|16|32)|sha_?\d+|md[45]|oauth2?|x509|ed25519|u?int\d+|v\d)"
)
TEMPLATE = LazyPattern(r"\$[({]|\{\{|\{[A-Za-z_][\w.!:]*\}|%\(|%[sdr](?![0-9a-fA-F])|<[^>]*>|^%\w+%$|^\{\}$|^\.\.\.|…")
VARIABLE = LazyPattern(r"\$[A-Za-z_]\w*$")
MARK = LazyPattern(r"[!@#^*+=~%&?$]")
PARTS = LazyPattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
GLUE = """
    a an and any are as at be by can do enter for from have if in is it must no not of on or please so that the this to
    was we will with you your
"""
FUNCTION_WORDS = frozenset(GLUE.split())


def gates() -> Iterable[str]:
    """All that a text is asked for."""
    return (
        *NAMES,
        *NAME_GATES,
        *_gates_of_rules(),
        *(g for g, _ in RULES_WITH_NAMES),
        *GIVEN_OPTIONS,
        *LONG_COMMANDS,
    )


@lru_cache(maxsize=1)
def _gates_of_rules() -> frozenset[str]:
    return frozenset(_rules_by_gate())


@lru_cache(maxsize=1)
def _rules_by_gate() -> dict[str, list[int]]:
    """Which rules, by their number, need each gate."""
    rules: dict[str, list[int]] = {}
    for number, (gates, _) in enumerate((*RULES, SESSIONS)):
        for gate in gates:
            rules.setdefault(gate, []).append(number)
    return rules


def found(searched: SearchedText) -> Iterator[Span]:
    """Where values are that their surroundings give away."""
    for named in secret_patterns.named(searched):
        value = named["value"][:ENOUGH]
        if (random_looking(value) or secret_patterns.mixed(value) or value.isdigit()) and not is_filler(value):
            yield named.span("value")
    has_names = searched.has_any(NAME_GATES)
    if has_names:
        yield from _after_names(searched)
    if options := searched.those(GIVEN_GATES):
        yield from _commands(searched, options)
    if gates := searched.those(_gates_of_rules()):
        by_gate = _rules_by_gate()
        for number in sorted({number for gate in gates for number in by_gate[gate]}):
            if number < len(RULES):
                yield from RULES[number][1](searched)
            elif searched.scattered:
                yield from SESSIONS[1](searched)
    if has_names:
        for gate, rule in RULES_WITH_NAMES:
            if searched.has(gate):
                yield from rule(searched)


# Names and values. ----------------------------------------------------------------------------------------------------


def _after_names(searched: SearchedText) -> Iterator[Span]:
    text, low, crowds = searched.text, searched.low, searched.crowds
    for name, pattern in zip(NAMES, LINKED, strict=True):
        if not searched.has(name):
            continue
        typed, clear = name.startswith(TYPED), name not in SHORT_NAMES
        done = 0
        for link in crowds.places(pattern, low, points=NAME):
            start = link.start()
            if start < done:
                if clear:
                    crowds.charge(start, NAME_IN_VALUE)
                continue
            how = link.lastgroup or ""
            is_near = False
            if how == "near":
                how = next(kind for kind in VALUES if link[kind] is not None)
                is_near = how in ("assign", "colon")
            if is_near:
                first, last = link.span("near")
                quoted = text[first - 1] in "\"'"
                if _is_near(text[first:last], typed, quoted) and (clear or _is_name(name, text, low, link)):
                    yield first, last
                    continue
            if how == "assign":
                padded = None
                if link.end("assign") - link.start("assign") >= SHORTEST_PADDED:
                    padded = PADDED.fullmatch(text, *link.span("assign"))
                if padded and _is_near(padded["value"], typed, False) and (clear or _is_name(name, text, low, link)):
                    yield padded.span("value")
            if is_near and quoted and text[last : last + 1] == text[first - 1]:
                continue  # that is the whole value
            after = link.end(how)
            if how != "other":  # in a list of names a comma follows each of them
                crowds.charge(start, LINK)
            # `PASSWORD=word` and `;Password=word` are settings; elsewhere a word without digits and marks is a name.
            pattern_of = (
                ANY_VALUE
                if how == "assign" and (text[start].isupper() or text[start - 1 : start] == ";")
                else VALUES[how]
            )
            value = pattern_of.match(text, after)
            if value is None:
                continue
            first, last = value.span(value.lastgroup or 0)
            span = None
            if clear or _is_name(name, text, low, link):
                crowds.charge(start, VALUE)
                if span := _judged(text, low, link, value, how, typed):
                    yield span
            if last - after > (FAR if span else ENOUGH) and text.find(" ", first, last) < 0:
                # Names inside a long value would be followed by most of it again, each of them. In a sentence they
                # are not: a value ends at the next space, and a quoted one at the next quotation mark. One that is no
                # secret may have one inside, as the address in `token = "https://…?token=…"`.
                done = value.end()


def _is_name(name: str, text: str, low: str, link: re.Match[str]) -> bool:
    """Whether a short word is the name of a secret: what is before it decides."""
    at = link.start()
    if name == "key":
        before = low[max(0, at - 17) : at]
        return before.endswith(KEYS) or (before[-1:] in ("_", "-", ".") and before[:-1].endswith(KEYS))
    if text[at].isupper() and text[at + 1 : at + 2].islower() and text[max(0, at - 1) : at].islower():
        return True  # a word of its own in `userPass`
    if name == "pass" and (link["assign"] or link["colon"]) and not low[max(0, at - 1) : at].isalnum():
        return True
    owners = PASSES if name == "pass" else OWNERS
    return low[max(0, at - 7) : at].endswith(owners) or (name != "pass" and not low[max(0, at - 1) : at].isalnum())


def _judged(text: str, low: str, link: re.Match[str], value: re.Match[str], how: str, typed: bool) -> Span | None:
    """Where the secret is, if the value is one in this place."""
    bare = value["bare"]
    if how == "element":
        bare = bare[:ENOUGH]
        return value.span("bare") if not is_filler(bare) and (typed or random_looking(bare)) else None
    if bare is not None:
        return _bare(text, low, link, value, how, typed)
    group = "quoted" if value["quoted"] is not None else "escaped"
    secret = value[group][:ENOUGH]
    wrap = value["wrap"]
    is_made = not wrap or (MADE.search(wrap) is not None and LOOKS_UP.search(wrap) is None)
    if how in ("assign", "colon", "pair") and is_made:
        good = _plain(secret, typed)
    elif how in ("call", "space"):
        good = is_made and _marked(secret, typed)
    elif how == "other":
        # `set("API_TOKEN", "…")`. In a list of names the next name follows the comma in the same way.
        good = _marked(secret, typed) and (
            link["other"] != "," or _is_argument(text, link.start(), secret) or _is_scattered(secret)
        )
    else:
        good = _strong(secret)
    return value.span(group) if good else None


def _bare(text: str, low: str, link: re.Match[str], value: re.Match[str], how: str, typed: bool) -> Span | None:
    """A value without quotes. What stands before its name on the line tells code from configuration."""
    if value["wrap"] not in LITERALS:
        return None
    start, end = value.span("bare")
    bare = value["bare"].rstrip(".:")
    if bare.startswith("$"):
        return None
    if bare.startswith("pass:"):  # as openssl takes it
        start, bare = start + 5, bare[5:]
    # A call or an index is code. It is looked at here since a pattern that fails on it would start again inside.
    is_code = text[end : end + 1] in ("(", "[", "{")
    sign = link[how]
    if how == "assign" and sign == "=" and start == link.end(how) and text[link.start() : link.end(how)].isupper():
        # `DB_PASSWORD=…` in a file of settings: all of the line is the value.
        rest = REST.match(text, start)
        whole = rest[0] if rest else bare
        if (
            "(" not in whole
            and (typed or random_looking(whole))
            and not is_filler(whole)
            and ENVIRONMENT.fullmatch(_before(low, link))
        ):
            return start, start + len(whole)
    length, bare = len(bare), bare[:ENOUGH]
    if is_code or is_filler(bare):
        return None
    good = _strong(bare) if how == "cell" else _is_likely(bare, typed)
    if how == "assign" and not good:
        good = typed and sign == "=" and _in_connection(text, link.start())
    elif how == "space" and good:
        before = _before(low, link)
        last = text[end : end + 1] in ("", "\n")
        good = _is_after_command(before) or (last and LINE_START.fullmatch(before) is not None)
    return (start, start + length) if good else None


def _before(low: str, link: re.Match[str]) -> str:
    """The line up to the name, if it is not long."""
    at = link.start()
    return low[max(low.rfind("\n", max(0, at - 80), at) + 1, at - 80, 0) : at]


def _in_connection(text: str, at: int) -> bool:
    """`Server=…;Password=…`: between pairs of a connection string even a plain word is a password."""
    return ";" in text[max(0, at - 13) : at] and CONNECTION.search(text, max(0, at - 60), at) is not None


def _is_after_command(before: str) -> bool:
    """`setx PASSWORD …`, `login ann PASSWORD …`, `--password …`: a command or an option that takes a value.

    In steps, each at the end of the line: one pattern for all of it would be tried at every character.
    """
    start = max(before.rfind(" "), before.rfind("\t")) + 1
    name = before[start:]
    if "-" in name and OPTION_NAME.search(name):
        return True
    if not start or not NAME_BEGUN.fullmatch(name):
        return False
    command = before[:start].rstrip(" \t")
    return (
        command.endswith(COMMAND_ENDS)
        or SHORT_COMMAND.match(command, len(command) - 3) is not None
        or any(phrase.search(command) for phrase in COMMAND_PHRASES)
    )


LITERALS = ("", "q{", "qq{", "q(", "%q(", "%Q(", "%w[", "%q{")
"""Nothing, or how Perl and Ruby open a text without quotes."""
ENVIRONMENT = LazyPattern(r"[ \t+\-\"'#]*(?:(?:export|set|env|arg|environment=\"?|-e|--env|setx)[ \t]+)?[a-z0-9_]*")
CONNECTION = LazyPattern(r"[A-Za-z ]{2,20}=[^;&\"'\n]{1,40};[A-Za-z ]{0,12}\Z")
OPTION_NAME = LazyPattern(r"-[\w-]*\Z")
NAME_BEGUN = LazyPattern(r"[\w.:/-]*")
COMMAND_ENDS = ("setx", "setenv", "define", "param", "header", "export", "enable")
SHORT_COMMAND = LazyPattern(r"(?<!\w)(?:env|arg|set|put)")
COMMAND_PHRASES = (
    LazyPattern(r"set(?<!\wset)(?: -\w+){1,2}\Z"),
    LazyPattern(r"config set \S+\Z"),
    LazyPattern(r"login \S{1,60}\Z"),
)
LINE_START = LazyPattern(r"[ \t+\-]*[\w.-]*")


def _is_scattered(value: str) -> bool:
    """Digits all over it, as in no name."""
    return len(value) >= 16 and len(re.findall(r"\d+", value)) >= 4 and not re.search(r"[:/ ]", value)


def _is_argument(text: str, at: int, value: str) -> bool:
    before = text[max(0, at - 64) : at]
    return (
        re.search(r"\([ ]?[\"':][\w.-]*$", before) is not None and ":" not in value and not value.endswith(("=", "_"))
    )


# What makes a secret of a value. --------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _plain(value: str, typed: bool) -> bool:
    """The place says clearly that this is a secret."""
    if typed:
        return len(value) >= 5 and (not is_filler(value) or is_phrase(value))
    return len(value) >= 8 and (random_looking(value) or len(value) >= 20) and not is_filler(value)


@lru_cache(maxsize=4096)
def _is_near(value: str, typed: bool, quoted: bool) -> bool:
    if quoted:
        return _plain(value, typed)
    return value[-1] not in ".:" and random_looking(value) and not is_filler(value)


@lru_cache(maxsize=4096)
def _marked(value: str, typed: bool) -> bool:
    """The place leaves a doubt: a digit or a mark is needed."""
    if typed and _typed_mark(value):
        return not is_filler(value)
    return len(value) >= 8 and random_looking(value) and not is_filler(value)


@lru_cache(maxsize=4096)
def _is_likely(value: str, typed: bool) -> bool:
    return (len(value) >= 8 and random_looking(value)) or (typed and _typed_mark(value))


@lru_cache(maxsize=4096)
def _strong(value: str) -> bool:
    """The place says little."""
    return len(value) >= 8 and random_looking(value) and _typed_mark(value) and not is_filler(value)


@lru_cache(maxsize=4096)
def _typed_mark(value: str) -> bool:
    """A letter, and a digit or mark, as people put them into passwords."""
    if len(value) < 6 or sum(map(str.isalpha, value)) < 2 or "(" in value or "://" in value:
        return False
    return (MARK.search(value) is not None or any(map(str.isdigit, value))) and not TECHNICAL.fullmatch(value)


@lru_cache(maxsize=4096)
def is_filler(value: str) -> bool:
    """Whether a value is not a secret but a stand-in: a template, a name, a path, `changeme`, or our placeholder."""
    # Most values have nothing unusual, and one quick look at them is enough.
    if UNUSUAL.search(value) or value.startswith("..."):
        if MASKED.search(value) or TEMPLATE.search(value) or SPACE.search(value):
            return True
        if variable := VARIABLE.search(value):
            # `$NAME` is a variable; after something else it is more likely the end of a password.
            value = value[: variable.start()]
            if len(value) < 4:
                return True
    if len(set(value)) <= 2 or CONSTANT.fullmatch(value) or "://" in value:
        return True
    if value.startswith(("/", "./", "../", "~/")) and len(value) != 40:
        return True
    if MARK.search(value) or not PARTS.search(value):
        return False
    return all(part[0].lower() in FILLERS for part in PARTS.finditer(value))


CONSTANT = LazyPattern(
    r"[%@]?[A-Z][A-Z0-9]*_[A-Z0-9_]*[.,:]?|0x[0-9a-fA-F]{1,16}[uUlL,]*|\d+(?:\.\d+)+|(?:[A-Z][a-z]+-)+[A-Z][a-z]+"
)
"""The name of a constant or header, a number or a version."""
MASKED = LazyPattern(f"[{MASKS}]")
SPACE = LazyPattern(r"\s")
UNUSUAL = LazyPattern(rf"[\s{MASKS}$%{{<…]")
"""Each value that `MASKED`, `TEMPLATE`, `SPACE` or `VARIABLE` finds has such a character, or begins with dots."""


def is_phrase(value: str) -> bool:
    """Words picked at random, as in `correct horse battery staple`: none of them holds a sentence together."""
    words = value.split(" ")
    return 4 <= len(words) <= 24 and all(
        w.isalpha() and w.islower() and w not in FUNCTION_WORDS | FILLERS for w in words
    )


@lru_cache(maxsize=4096)
def random_looking(value: str) -> bool:
    """Unlike an identifier: a letter follows a digit, or there are many digits, the usual technical names excepted."""
    if not _has_scattered_digits(value):
        return False
    rest = TECHNICAL.sub("", value)
    return any(map(str.isalpha, rest)) and (rest == value or _has_scattered_digits(rest))


def _has_scattered_digits(value: str) -> bool:
    return LETTER_AFTER_DIGIT.search(value) is not None or sum(map(str.isdigit, value)) >= 4


LETTER_AFTER_DIGIT = LazyPattern(r"\d[A-Za-z]")


@lru_cache(maxsize=4096)
def is_basic(value: str) -> bool:
    """A user and a password in base64, as HTTP and Docker write them."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    return ":" in plain[1:] and plain.isprintable()


# Rules that look at more than one place. ------------------------------------------------------------------------------

Rule = Callable[[SearchedText], Iterator[Span]]

COOKIES = {
    word: LazyPattern(rf"{word}\\?[\"']?[:,= ]{{0,2}}\s{{0,4}}\\?[\"']?(?P<pairs>[^\n\"']{{8,}}+)")
    for word in ("cookie", "-b ")
}
PAIRS = LazyPattern(r"[^\n\"']++")
PAIR = LazyPattern(r"=(?<=[\w.-]=)(?P<value>[\w%.+/~=-]{16,}+)")
SERVER = LazyPattern(r"@(?:tcp|unix)\(")
LOGIN = LazyPattern(r"[\w.-]:(?P<value>[^\s\"'`@/:]{5,64})")
LONGEST_LOGIN = 65
LONGEST_HOST = 80
PORT = LazyPattern(r":(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:\S{5}")
PGPASS = LazyPattern(r"^[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:(?P<value>\S{5,128})$", re.M)
VALUE_FIRST = LazyPattern(
    r"value[\"']?\s{0,4}[:=]\s{0,4}@?(?P<open>[\"'])(?P<value>[^\"'\n]{8,200}+)(?P=open)[^\"'{}\n]{1,24}"
    r"(?:[\"']?(?:name|key)[\"']?\s{0,2}[:=]\s{0,2})?@?[\"'](?P<name>[\w.-]{2,40})[\"']"
)
INSERT = LazyPattern(r"insert into \S{1,80} ?\((?P<names>[^()]{1,400}+)\) ?values ?\((?P<values>[^()]{1,800}+)\)")
LONGEST_INSERT = 1_300
TEXT_ITEM = LazyPattern(r"'(?<=[,( ]')(?P<value>[^\s']{5,128}+)'(?=[,) \n])")
ITEM = LazyPattern(r"[^,'\"]*(?:'(?P<value>[^'\n]*)')?[^,]*(?:,|$)")
SECRET_NAME = LazyPattern(rf"(?:{WORD}|(?:{'|'.join(re.escape(k) for k in KEYS)})[_.-]?key)")
OPTION = LazyPattern(
    rf"--(?=[a-z])(?:[a-z]{{1,20}}-){{0,3}}(?:{WORD}|(?:{'|'.join(re.escape(k) for k in KEYS)})-?key){TAIL}"
    rf"[ \t=]{{1,8}}(?:{QUOTED}|{BARE})"
)


def _cookies(searched: SearchedText) -> Iterator[Span]:
    for word, pattern in COOKIES.items():
        for cookie in searched.crowds.places(pattern, searched.low) if searched.has(word.strip()) else ():
            yield from _pairs(searched.text, *cookie.span("pairs"))
    for first, last in searched.crowds.behind():  # the name may be in the crowded block
        if rest := PAIRS.match(searched.text, first, last):
            yield from _pairs(searched.text, *rest.span())


def _pairs(text: str, start: int, end: int) -> Iterator[Span]:
    return (m.span("value") for m in PAIR.finditer(text, start, end) if _long(m["value"][:ENOUGH]))


def _logins(searched: SearchedText) -> Iterator[Span]:
    """`user:password@tcp(…)`, as Go's drivers for databases write it."""
    text = searched.text
    for mark in searched.crowds.places(SERVER, text):
        at = mark.start()
        start = text.rfind(":", max(0, at - LONGEST_LOGIN), at)
        m = LOGIN.fullmatch(text, start - 1, at) if start > 0 else None
        if m and _of_person(m["value"]):
            yield m.span("value")


def _password_lines(searched: SearchedText) -> Iterator[Span]:
    """`host:port:database:user:password`, each on a line of its own."""
    text = searched.text
    for port in searched.crowds.places(PORT, text):
        start = text.rfind("\n", max(0, port.start() - LONGEST_HOST - 1), port.start()) + 1
        m = PGPASS.match(text, start)
        if m and _loose(m["value"]):
            yield m.span("value")


def _values_first(searched: SearchedText) -> Iterator[Span]:
    """`{"value": "…", "name": "DB_PASSWORD"}`."""
    for m in searched.crowds.places(VALUE_FIRST, searched.low):
        start, end = m.span("value")
        if SECRET_NAME.search(m["name"]) and _loose(searched.text[start:end]):
            yield start, end


def _inserts(searched: SearchedText) -> Iterator[Span]:
    """`INSERT INTO users (name, password) VALUES ('ann', '…')`."""
    for m in searched.crowds.places(INSERT, searched.low):
        first = m.start("values")
        values = ITEM.finditer(searched.text, first, m.end("values"))
        for name, value in zip(m["names"].split(","), values, strict=False):
            if value["value"] and SECRET_NAME.search(name) and _loose(value["value"]):
                yield value.span("value")
    for first, last in searched.crowds.behind():  # the names may be in the crowded block
        for value in TEXT_ITEM.finditer(searched.text, first, min(last, first + LONGEST_INSERT)):
            if _loose(value["value"]):
                yield value.span("value")


def _options(searched: SearchedText) -> Iterator[Span]:
    """`--api-token …`."""
    for m in searched.crowds.places(OPTION, searched.text):
        group = "bare" if m["bare"] else "quoted" if m["quoted"] else "escaped"
        value = m[group][:ENOUGH]
        if _loose(value) or (group != "bare" and _plain(value, True)):
            yield m.span(group)


# Commands with options whose meaning depends on the command. ----------------------------------------------------------

COMMANDS = {
    "-p": "mysql mysqldump mysqladmin mariadb sshpass docker podman az twine mongo mongosh mongodump psexec useradd "
    "7z 7za unrar plink pscp",
    "-P": "sqlcmd bcp zip unzip mosquitto_pub mosquitto_sub",
    "-a": "redis-cli",
    "-w": "ldapsearch ldapadd ldapmodify ldappasswd",
    "-u": "curl",
    "--user": "curl",
    "-U": "smbclient curl",
    "-storepass": "keytool jarsigner",
    "-keypass": "keytool jarsigner",
    "/pass:": "cmdkey",
    "<<<": "gh docker vault",
}
"""Each option, and the commands to which it gives a password or a user with a password."""
GIVEN_OPTIONS = {"\n" + option.lower(): [o for o in COMMANDS if o.lower() == option.lower()] for option in COMMANDS}
"""The options in lower case where a word begins, each with its spellings."""
GIVEN_GATES = frozenset(GIVEN_OPTIONS)
TAKES = {
    command: tuple(option for option, names in COMMANDS.items() if command in names.split())
    for command in {command for names in COMMANDS.values() for command in names.split()}
}
TAKES[""] = tuple(COMMANDS)
"""Some command, which is not known: it stands in a crowded block."""
LONG_COMMANDS = frozenset(command for command in TAKES if len(command) > 4)
"""Commands that are looked for in the words of a text. Shorter names are in too many ordinary words."""
GIVEN = {
    options: LazyPattern(
        rf"\s(?P<option>{'|'.join(map(re.escape, options))})[ =]{{0,2}}[\"']?(?P<value>[^\s\"'`{MASKS}]{{3,}}+)"
    )
    for options in TAKES.values()
}
LINE = LazyPattern(r"[^\n\\]*+(?:\\[\s\S][^\n\\]*+)*+")
"""The rest of a command: a line end after a backslash belongs to it."""


def _commands(searched: SearchedText, gates: list[str]) -> Iterator[Span]:
    """`mysql -p…`, `curl -u user:…`: lines with such an option. Each belongs to the last command before it."""
    options = tuple(option for gate in gates for option in GIVEN_OPTIONS[gate])
    takers = {name for option in options for name in COMMANDS[option].split()}
    if not (names := tuple(name for name in TAKES if name in takers and _may_be_in(searched, name))):
        return
    text, crowds, done = searched.text, searched.crowds, 0
    command = _any_command(names)
    for given in crowds.places(_any_option(options), text):
        crowds.charge(given.start(), PLACE)  # its line is read, too
        at = given.start() - 1
        while at >= done:
            start = _line_start(text, done, at)
            line = LINE.match(text, start)
            done = (line.end() if line else start) + 1
            found = [(m.start(), m[0]) for m in crowds.places(command, text, start, done - 1)]
            found = [(at, name) for at, name in found if crowds.admits(at)]
            found += ((at, "") for at, _ in crowds.behind(start, done - 1))  # a command may be in the crowded block
            found.sort()
            for (at, name), (after, _) in zip_longest(found, found[1:], fillvalue=(done, "")):
                first = at + len(name)
                for m in GIVEN[TAKES[name]].finditer(text, first, max(first, after - 1)):
                    crowds.charge(m.start(), VALUE)
                    if span := _given(m["option"], name, m):
                        yield span


def _may_be_in(searched: SearchedText, command: str) -> bool:
    return searched.has(command) if command in LONG_COMMANDS else command in searched.low


@lru_cache(maxsize=64)
def _any_option(options: tuple[str, ...]) -> LazyPattern:
    """Any of these options where a word begins. A search that begins with a sign is faster than one with a space."""
    return LazyPattern("|".join(rf"{re.escape(option)}(?<=\s{re.escape(option)})" for option in options))


@lru_cache(maxsize=64)
def _any_command(names: tuple[str, ...]) -> LazyPattern:
    """Any of these commands, each a word of its own."""
    words = (rf"{re.escape(name)}(?<![\w./-]{re.escape(name)})(?![\w-])" for name in names)
    return LazyPattern("|".join(words))


def _line_start(text: str, floor: int, at: int) -> int:
    """Where the line begins on which this place is, with the lines before it that end in a backslash."""
    start = text.rfind("\n", floor, at) + 1
    while start > floor + 1 and text[start - 2] == "\\":
        start = text.rfind("\n", floor, start - 1) + 1
    return start or floor


def _given(option: str, command: str, m: re.Match[str]) -> Span | None:
    value, (start, end) = m["value"][:ENOUGH], m.span("value")
    if option in ("-u", "--user", "-U"):
        is_samba = command == "smbclient" or (not command and ":" not in value)
        _, sign, secret = value.partition("%" if is_samba else ":")
        return (start + len(value) - len(secret), end) if sign and len(secret) >= 3 and not is_filler(secret) else None
    return (start, end) if _loose(value) else None


# Rules that begin with a word or sign of their own. -------------------------------------------------------------------

Good = Callable[[str], bool]


def _rule(
    beginnings: tuple[str, ...], rest: str, good: Good, *, exact: bool = False, gate: str = ""
) -> tuple[tuple[str, ...], Rule]:
    """A rule whose matches begin with one of these texts. The value is the group `value`.

    One pattern for each beginning, since a search for plain characters is many times faster than for alternatives.
    The gate is the first word of a beginning unless a rarer one is given.
    """
    gates = tuple(gate or beginning.lower().split()[0] for beginning in beginnings)
    patterns = tuple(LazyPattern(re.escape(b) + rest, re.M) for b in beginnings)

    def spans(searched: SearchedText) -> Iterator[Span]:
        text, where = searched.text, searched.text if exact else searched.low
        for gate, pattern in zip(gates, patterns, strict=True):
            if searched.has(gate):
                for m in searched.crowds.places(pattern, where):
                    start, end = m.span("value")
                    if good(text[start : min(end, start + ENOUGH)]):
                        yield start, end

    return gates, spans


def _not_filler(value: str) -> bool:
    return not is_filler(value)


def _long(value: str) -> bool:
    return random_looking(value) and secret_patterns.dense(value) and not is_filler(value)


def _is_session(value: str) -> bool:
    return _is_scattered(value) and not is_filler(value)


def _of_person(value: str) -> bool:
    return _typed_mark(value) and not is_filler(value) and FILE_LIKE.search(value) is None


def _loose(value: str) -> bool:
    return _marked(value, True)


FILE_LIKE = LazyPattern(r"[\s/\\]|\.\w{2,4}$")
SCHEME = r"(?:\s{1,8}|[ ]?[\"'][ ]?\+[ ]?[\"'])"
AFTER_HEADER = r"\\?[\"']?[\])]?\s{0,8}[:=, ]\s{0,8}(?:f?\\?[\"'])?"
TWO_TEXTS = r"(?:[\w.]{1,40}, ?){0,3}(?:[\"'][^\"'\n]{0,120}+[\"'][ ]{0,2},[ ]{0,2}){1,2}(?:some\()?"
RULES: tuple[tuple[tuple[str, ...], Rule], ...] = (
    # Headers and cookies
    _rule(
        ("authorization",),
        rf"{AFTER_HEADER}(?:bearer|basic|token|apikey|api-token|bot|key){SCHEME}(?P<value>[\w.~+/=:-]{{8,}}+)",
        _not_filler,
    ),
    _rule(
        ("authorization",), r"\\?[\"']?: digest [^\n]{0,200}?response=[\"']?(?P<value>[\w.~+/=:-]{8,}+)", _not_filler
    ),
    _rule(
        ("authorization",),
        rf"(?<![a-z]authorization){AFTER_HEADER}(?P<value>[\w.~+/=:-]{{16,}}+)",
        lambda value: random_looking(value) and not is_filler(value),
    ),
    _rule(
        ("bearer",),
        r"(?:_auth\([\"']|\s{1,8})(?P<value>[\w.~+/=-]{16,}+)",
        lambda value: secret_patterns.dense(value) and not is_filler(value),
    ),
    _rule(("basic",), r"\s{1,8}(?P<value>[\w+/=-]{8,}+)", is_basic),
    _rule(("auth",), r"[\"']?[ ]{0,4}[:= ][ ]{0,4}[\"']?(?P<value>[\w+/=-]{8,}+)", is_basic),
    # URLs
    _rule(("://",), r"[^\s/?#:@\"'<>]{0,256}+:(?P<value>[^\s/\"'<>`]{1,512})@(?=[\w\[$%{<])", _not_filler, exact=True),
    _rule(("://",), r"(?P<value>[^\s/?#:@\"'<>]{12,256}+)(?::[^\s/\"'<>`]{0,512})?@(?=[\w\[$%{<])", _long, exact=True),
    _rule(
        (*("?key=", "?sig=", "?auth=", "?code=", "&key=", "&sig=", "&auth=", "&code="), "signature="),
        r"(?P<value>[\w%+/.~-]{16,}+)",
        _long,
    ),
    _rule((":thin:",), r"[\w.-]{1,40}/(?P<value>[^\s\"'`@/]{5,64})@", _of_person, exact=True),
    # Calls that take a user and a password
    _rule(
        ("auth", "login", "connect"),
        rf"[a-z_]{{0,7}}=?[ ]?\([ ]?{TWO_TEXTS}(?P<open>[\"'])(?P<value>[^\"'\n]{{6,64}}+)(?P=open)",
        _of_person,
    ),
    _rule(
        ("credential", "pdo", "addlogin"),
        rf"s?[ ]?\(?[ ]?{TWO_TEXTS}(?P<open>[\"'])(?P<value>[^\"'\n]{{6,64}}+)(?P=open)",
        _of_person,
    ),
    _rule(("userpwd",), r"[\"']?,[ ]?[\"'][^:\"'\n]{1,64}:(?P<value>[^\"'\n]{5,64})[\"']", _of_person),
    # SQL
    _rule(("identified ",), r"(?:with \S{1,40} )?by (?P<open>[\"'])(?P<value>[^\s\"';]{5,128}+)(?P=open)", _not_filler),
    _rule(("identified ",), r"(?:with \S{1,40} )?by (?P<value>[^\s\"';]{5,128}+)", _loose),
    # Files of passwords, forms and phrases
    _rule(
        ("login",), r"\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(?P<value>\S{1,256})", _not_filler, exact=True, gate="passw"
    ),
    _rule(
        ("AKIA", "ASIA"),
        r"[A-Z0-9]{16}[\"']?[\s,:;|]{1,8}[\"']?(?P<value>[\w/+]{40})(?![\w/+])",
        _not_filler,
        exact=True,
    ),
    _rule(
        ("phrase", "mnemonic"),
        r"[\"']?[ ]{0,4}[:=][ ]{0,4}[\"']?(?P<value>[a-z]{2,12}(?: [a-z]{2,12}){3,23})(?![a-z ])",
        is_phrase,
    ),
    _rule(
        ('type="password"', "type='password'"), r"[^<>\n]{0,80}?value=[\"'](?P<value>[^\"'\n]{5,128})[\"']", _not_filler
    ),
    # Options of commands that say what they are
    _rule(("securestring ",), r"(?:-string )?[\"'](?P<value>[^\s\"']{6,128}+)[\"']", _loose),
    _rule(("pass:",), r"(?P<value>[^\s\"'`,;]{6,128}+)", _loose),
    _rule(("net use ",), r"\S{1,80}[ ]{1,8}(?P<value>[^\s/*]{5,128}+)[ ]{1,8}/user", _loose),
    _rule(("htpasswd -",), r"\w{0,8}b\w{0,8}[ ]{1,8}\S{1,80}[ ]{1,8}\S{1,60}[ ]{1,8}(?P<value>\S{5,128}+)", _loose),
    _rule(
        ("snmp-server community ", "vault login "),
        r"(?:-[\w-]{1,40}[ ]{1,8}){0,3}(?P<value>[^\s\"'-][^\s\"']{5,127}+)",
        _loose,
    ),
    _rule(
        ("add_user ", "alias set "),
        r"(?:(?!login)[\w.-]{1,40}[ ]{1,8}(?:http\S{1,80}[ ]{1,8}[\w.-]{1,40}[ ]{1,8})?)?"
        r"(?P<value>[^\s\"'-][^\s\"']{5,127}+)",
        _loose,
    ),
    _rule(("sqlplus ",), r"\S{1,40}/(?P<value>[^\s/@]{5,64})@", _loose),
    _rule(('send "',), r"(?P<value>[^\"\\\n]{6,64}+)\\[rn]\"", _loose),
    _rule((" on >",), r"(?P<value>[^\s>\"']{6,64}+)[ ]{1,8}~\*", _loose, gate="~*"),
    _rule(
        ("echo ",),
        r"[\"']?(?:[\w.-]{1,40}:)?(?P<value>[^\s\"'|]{6,128}+)[\"']?[ ]{0,8}"
        r"(?:\|[ ]{0,8}(?:sudo[ ]{1,8}-s|chpasswd|docker|passwd)|>{1,2}[ ]{0,8}\S{0,80}?(?:token|secret|passw|\.key))",
        _loose,
    ),
    (("cookie", "-b"), _cookies),
    (("@tcp(", "@unix("), _logins),
    ((":5432:", ":5433:", ":6432:", ":*:"), _password_lines),
)
"""Each rule after its gates: it is tried if one of these words is in the text, in lower case and without spaces."""
SESSIONS = _rule(
    ("sess", "sid", "csrf", "xsrf"),
    r"(?<![a-z]sid)(?:ion)?(?:[_-]?(?:id|key|token))?\\?[\"']?\s{0,4}[:=,]\s{0,4}\\?[\"']?(?P<value>[\w%.+/~-]{20,}+)",
    _is_session,
)
"""Only in a text with a word that could be such a number."""
RULES_WITH_NAMES: tuple[tuple[str, Rule], ...] = (("value", _values_first), ("insert", _inserts), ("--", _options))
"""Rules for texts in which the name of a secret stands, too, each after its gate."""
