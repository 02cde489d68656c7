"""How many secrets redaction finds, how often it is wrong, and what it costs on the worst inputs.

Two kinds of secrets, both drawn from a seed: formats that public scanners look for (tests/data/scanner_rules.toml), and
ordinary code and configuration with a secret in it (tests/data/secret_forms.toml). Half of the forms, picked by a hash,
are held out: the rules in `rebut.core` were written without looking at how they do.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
import string
import sysconfig
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.table import Row
from fuzz import slowest
from rebut.core import secret_contexts
from rebut.core.redaction import PLACEHOLDER, Redactor

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
SEED = 14
EACH = 12
"""Texts that are made of each rule and each form."""
MEGABYTE = 1_000_000
PLAIN_WORD = re.compile(r"\w+")
PROSE = secret_contexts.FILLER * 100


@dataclass(frozen=True, slots=True)
class Case:
    """A text with secrets in it, and what it was made from."""

    made_from: str
    text: str
    secrets: tuple[str, ...]

    def missed(self, redactor: Redactor) -> bool:
        """Whether a recognisable part of a secret is still there."""
        done = redactor.redact(self.text)
        return any(core(secret) in done for secret in self.secrets)


def core(secret: str) -> str:
    """The part of a secret that must not stay: without the marks at its ends, which may belong to what is around it."""
    return secret.strip("=") if len(secret) > 12 else secret


def rows() -> list[Row]:
    redactor = Redactor(b"k" * 32)
    seen, held = halves(form_cases(SEED))
    texts = sources()
    size = sum(map(len, texts)) / MEGABYTE
    wrong = false_hits(texts)
    worst = slowest.search(UNITS, seed=SEED, steps=MUTANTS)
    return [
        _recall("secrets by scanner rules: missed, in %", rule_cases(SEED), redactor, 3),
        _recall("secrets in code and configuration: missed, in %", [*seen, *held], redactor, 5),
        _recall("  of the forms that were held out", held, redactor, 5),
        Row(f"false hits in {size:.0f} MB of source, per MB", len(wrong) / size, "", 1, 0.5),
        Row(f"removing secrets, worst of {len(UNITS) + MUTANTS} inputs, per MB", worst.seconds, "s", floor(), 10),
        *(_worst(size) for size in SIZES),
    ]


def _worst(size: int) -> Row:
    """The known input that takes longest in a text of this size: what it takes per MB is the same for all sizes."""
    slow = sorted((slowest.measured(unit, size=size) for unit in UNITS), reverse=True)[:3]
    best = max(slowest.measured(one.unit, size=size, times=5).seconds for one in slow)
    return Row(f"  the worst known input of {size // 1000:,} kB", best, "s", floor(), 10)


def floor(times: int = 9) -> float:
    """Seconds of processor time per MB in which Python finds the words of a text, one after the other.

    It was 0.03 s where the goal of 0.3 s was set, so the goal is ten times as long.
    """
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        for word in PLAIN_WORD.finditer(PROSE):
            word.span()
        best = min(best, time.process_time() - began)
    return best * MEGABYTE / len(PROSE)


def _recall(name: str, cases: Iterable[Case], redactor: Redactor, most: float) -> Row:
    every = list(cases)
    missed = sum(case.missed(redactor) for case in every)
    # The floor is one percent, so that the target reads as percents.
    return Row(f"{name}, of {len(every):,}", 100 * missed / len(every), "%", 1, most)


# Secrets by scanner rules. --------------------------------------------------------------------------------------------

SMALL, CAPITALS, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
CLASSES = {
    "a": SMALL + CAPITALS + DIGITS,
    "l": SMALL + DIGITS,
    "u": CAPITALS + DIGITS,
    "z": SMALL + CAPITALS,
    "h": "0123456789abcdef",
    "d": DIGITS,
    "w": SMALL + CAPITALS + DIGITS + "_-",
    "e": SMALL + CAPITALS + DIGITS + "=_-",
    "b": SMALL + CAPITALS + DIGITS + "+/",
    "s": SMALL + "234567",
}
BARE_AROUND = (
    "{}",
    'key = "{}"',
    "see {} here",
    "KEY={}",
    "x: {}\n",
    "'{}',",
    '{{"a": "{}"}}',
    "`{}`",
    "- {}\n",
    "+{}\n",
)
NAMED_AROUND = (
    '{0}_key = "{1}"',
    "{0}_token={1}",
    "{2}_SECRET={1}",
    "export {2}_API_KEY={1}",
    '"{0}": "{1}"',
    "{0}: {1}",
    "{0}.api.key = '{1}'",
    '{0}Token := "{1}"',
    '{0}_key => "{1}"',
    "{0}-api-token: '{1}'",
)


def rule_cases(seed: int, each: int = EACH) -> Iterator[Case]:
    rules: list[list[str]] = tomllib.loads((DATA / "scanner_rules.toml").read_text(encoding="utf-8"))["rules"]
    pick = random.Random(seed)
    for service, form in rules:
        for _ in range(each):
            secret = _from_format(form, pick)
            if service:
                text = pick.choice(NAMED_AROUND).format(service, secret, service.upper())
            else:
                text = pick.choice(BARE_AROUND).format(secret)
            yield Case(f"{service}:{form}", text, (_last_part(secret),))


def _last_part(secret: str) -> str:
    """A fixed beginning may stay, and of a URL all but its secret part: the longest random run at the end counts."""
    runs: list[str] = re.findall(r"[A-Za-z0-9+_-]{8,}", secret.removesuffix("/getMe").split("@gems")[0])
    return runs[-1] if runs else secret


def _from_format(form: str, pick: random.Random) -> str:
    def drawn(m: re.Match[str]) -> str:
        kind, count = m[1], int(m[2])
        if kind == "g":
            return "-".join(_draw(pick, CLASSES["h"], n) for n in (8, 4, 4, 4, 12))
        if kind == "i":
            kind = pick.choice("llua")
        letters = pick.choice((CLASSES["h"], CLASSES["h"].upper())) if kind == "H" else CLASSES[kind]
        return _draw(pick, letters, count)

    return re.sub(r"\{([a-zH])(\d+)\}", drawn, form)


def _draw(pick: random.Random, letters: str, count: int) -> str:
    return "".join(pick.choices(letters, k=count))


# Secrets in ordinary code and configuration. --------------------------------------------------------------------------

PASSWORD_NAMES = ("password", "db_password", "admin_password", "passwd", "user_pwd", "smtp_password", "root_password")
TOKEN_NAMES = (
    *("api_key", "auth_token", "access_token", "client_secret", "secret_key", "app_secret", "private_key", "token"),
    *("secret", "github_token", "encryption_key", "webhook_secret", "jwt_secret", "access_key", "session_token"),
)
WORDS = """
    river lantern copper orbit maple falcon winter pepper saddle violin marble cactus helmet dragon summer tiger rocket
    anchor breeze candle desert engine forest garden hammer island jungle kettle ladder magnet needle ocean pirate
"""
COMMON = WORDS.split()
MARKER = re.compile(r"@(NAME|name|camel|Pascal|kebab|VALUE|BARE|PW|BPW|TOK|HEX|B64|BASIC|SIG|WORDS)@")


def form_cases(seed: int, each: int = EACH) -> Iterator[Case]:
    forms: list[str] = tomllib.loads((DATA / "secret_forms.toml").read_text(encoding="utf-8"))["forms"]
    for form in forms:
        pick = random.Random(f"{seed}:{form}")  # a form that is added or removed changes no other
        for _ in range(each):
            yield _filled(form, pick)


def halves(cases: Iterable[Case]) -> tuple[list[Case], list[Case]]:
    """The cases of the forms that were looked at, and of those that were held out."""
    seen: list[Case] = []
    held: list[Case] = []
    for case in cases:
        odd = hashlib.sha256(case.made_from.encode()).digest()[0] % 2
        (held if odd else seen).append(case)
    return seen, held


def _filled(form: str, pick: random.Random) -> Case:
    is_password = pick.random() < 0.5
    name = pick.choice(PASSWORD_NAMES if is_password else TOKEN_NAMES)
    words = name.split("_")
    camel = words[0] + "".join(map(str.capitalize, words[1:]))
    names = {
        "NAME": name.upper(),
        "name": name,
        "camel": camel,
        "Pascal": camel[0].upper() + camel[1:],
        "kebab": name.replace("_", "-"),
    }
    secrets: list[str] = []

    def put(m: re.Match[str]) -> str:
        if m[1] in names:
            return names[m[1]]
        kind = m[1]
        if kind == "VALUE":
            kind = "PW" if is_password else "TOK"
        elif kind == "BARE":
            kind = "BPW" if is_password else "TOK"
        secrets.append(VALUES[kind](pick))
        return secrets[-1]

    text = MARKER.sub(put, form)
    return Case(form, text, tuple(secrets) or ("horse battery",))


def _password(pick: random.Random, marks: str = "!@#%^&*?-_+.~", *, ends: bool = True) -> str:
    word, other = pick.choice(COMMON), pick.choice(COMMON)
    digits = str(pick.randrange(10, 10_000))
    made = pick.choice(
        (
            word.capitalize() + digits + pick.choice(marks),
            word + pick.choice(marks) + other + digits,
            _draw(pick, CLASSES["a"] + marks, pick.randrange(9, 17)),
            _draw(pick, CLASSES["a"], pick.randrange(10, 17)),
            _leet(word + other),
            word + digits + other,
            word.upper()[:3] + pick.choice(marks) + digits + pick.choice(marks) + other[:3],
        )
    )
    if ends and pick.random() < 0.1:
        return f"{made}${pick.choice(COMMON)}"
    # One mark at either end could be read as part of the surroundings.
    return f"x{made}7" if not (made[0].isalnum() and made[-1].isalnum()) or not re.search("[0-9]", made) else made


def _leet(word: str) -> str:
    return word.replace("a", "4").replace("e", "3").replace("o", "0").replace("i", "1") + "9x"


def _token(pick: random.Random) -> str:
    return pick.choice(
        (
            lambda: _draw(pick, CLASSES["a"], pick.randrange(20, 49)),
            lambda: _draw(pick, CLASSES["h"], pick.choice((32, 40, 64))),
            lambda: _draw(pick, CLASSES["w"], pick.randrange(24, 44)).strip("_-") + "a8Q",
            lambda: _draw(pick, CLASSES["l"], pick.randrange(20, 40)),
            lambda: _draw(pick, CLASSES["u"], 24),
            lambda: _from_format("{g1}", pick),
        )
    )()


VALUES: dict[str, Callable[[random.Random], str]] = {
    "PW": _password,
    "BPW": lambda pick: _password(pick, marks="!%^*-_+.~", ends=False),
    "TOK": _token,
    "HEX": lambda pick: _draw(pick, CLASSES["h"], pick.choice((32, 40, 64))),
    "B64": lambda pick: base64.b64encode(pick.randbytes(pick.choice((30, 32, 48, 64)))).decode(),
    "BASIC": lambda pick: base64.b64encode(f"{pick.choice(COMMON)}:{_password(pick)}".encode()).decode(),
    "SIG": lambda pick: (
        base64.b64encode(pick.randbytes(32)).decode().replace("+", "%2B").replace("/", "%2F")[:-1] + "%3D"
    ),
    "WORDS": lambda pick: " ".join(pick.sample(COMMON, pick.choice((4, 6, 12)))),
}

# What is removed though it is not a secret. ---------------------------------------------------------------------------


def sources() -> list[str]:
    """The standard library's source without its tests, and rebut's own."""
    standard = Path(sysconfig.get_path("stdlib"))
    skipped = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
    paths = [p for p in sorted(standard.rglob("*.py")) if not skipped & set(p.relative_to(standard).parts)]
    paths += sorted((ROOT / "src").rglob("*.py"))
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths]


def false_hits(texts: Iterable[str]) -> list[str]:
    """What was removed, each with what was before it. In these sources nothing is a secret."""
    redactor = Redactor(b"k" * 32)
    found = []
    for text in texts:
        # Texts that contain a placeholder, as rebut's own do, are compared with what they were.
        own = set(PLACEHOLDER.findall(text))
        found += [f"{secret!r}" for mark, secret in redactor.taken_out(text).items() if mark not in own]
    return found


# What takes longest. --------------------------------------------------------------------------------------------------

MUTANTS = 60
SIZES = (10_000, 100_000, 1_000_000)
"""Sizes at which the known inputs are tried. In a small text every possible secret is judged, which takes longer."""
UNITS: tuple[str, ...] = (
    *("a", " ", "\n", "\\", "'", '"', "=", ":", "(", "<", "$", "%", "-", "_", ".", "0", "é", "K"),
    *(
        "curl ",
        "curl -u a",
        "curl -u a:",
        "curl\\\n",
        "wget ",
        "mysql ",
        "mysql -p",
        "echo ",
        "login a ",
        "sshpass -p ",
    ),
    *(
        "password",
        "password ",
        "password=",
        'password="',
        "password: ",
        "password\n",
        "password('",
        "password = (",
        "PASSWORD=",
    ),
    *(
        "pass",
        "pwd",
        "pwd=a1b2c3d4 ",
        "secret",
        "secret ",
        "token",
        "token: >\n",
        "token: string ",
        "token[",
        "cred",
        "key",
        "api_key",
    ),
    *(
        "api_key = ",
        '"name": "token", ',
        "name: token\n",
        "value",
        '"value": "',
        "default=",
        "getenv(token, ",
        "String::from(",
    ),
    *(
        "IDENTIFIED BY ",
        "identified by '",
        "WITH PASSWORD ",
        "://",
        "://a",
        "://a:",
        "://a:b@",
        "https://a1b2c3d4e5f6a7b8@",
    ),
    *(
        "authorization",
        "authorization: ",
        "authorization: basic ",
        "bearer ",
        "Bearer a1b2c3d4e5f6a7b8 ",
        "basic ",
        "cookie: ",
        "cookie: a=",
        "Cookie: a=b; ",
    ),
    *(
        "sig=",
        "sid=",
        "session=",
        "auth",
        '"auth": "',
        "_auth=",
        "client-key-data: ",
        "ENV token ",
        "#define TOKEN ",
        "setx TOKEN ",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----a",
        "eyJ",
        "eyJaaaaa.",
        "sk-",
        "ghp_",
        "AKIA",
    ),
    *(
        "SG.aaaaaaaaaaaaaaaaaaaa",
        "hooks.slack.com/services/a/b/",
        "datadog=",
        "discord ",
        "discord_",
        "[secret:",
        "[secret:jwt:0a1b2c3d]",
    ),
    *(
        'password="a1b2c3d4"\n',
        "token=a1b2c3d4e5f6a7b8\n",
        "a1b2c3d4e5f6a7b8 ",
        "aA1/+",
        "twitter=a1b2c3d4e5f6a7b8 ",
        "PASSWORD=PASSWORD=https://a1b2c3d4e5f6a7b8@PASSWORD=PASSWORD",
        "Server=a;Password=b;",
        "<password>",
        "<key>",
    ),
    # What the search for slow inputs found, with `¤` for a letter or digit that is another one each time
    *(
        "sshpa&ss p/ sshpass -p pass\ue000shpass p/ sshpass -p passshpwosshpass -p ",
        'sshpass -p=" mysql -psoauth: ¤¤¤¤¤¤¤¤',
        'v1.+¤¤¤¤¤¤¤¤getenv(token, v1.+¤¤¤¤_¤¤¤": "etenv(token, has',
        'v1.+¤¤¤¤¤¤¤¤getenv(token0%serpwd v1.+¤¤¤¤_¤¤¤": "e0env(tok&n, ha',
        'client-key-data: c_lient-key-data: _auclv1.+¤¤¤¤¤¤¤¤getenv(token0%serpwd "K "e0nv(tok&n, \ue000av1sshpass -p',
        "PASSWORD=APASSWORD=PASSWORD=PASPASSRK=APASSWORD=APASSWORD=PASSWORD=PASPASSWORD=APASpassword=a--passw=a--PASPASS"
        "WORD=APASSWORD=PASSWORD=PASPASSWORD=AoktaPASSWORD¤¤password=apassword=pas¤¤¤word=paspassword=apassword=apacookie"
        "ssword=password=paspassword=aptokensaspassword=a--password=%--paspassword=asword=p¤¤¤ssword",
        "Netlifyrk_test_=¤¤¤¤¤¤¤If¤¤¤¤¤Netlify=¤-¤¤¤Netlify\ue000=¤¤--¤¤¤¤¤¤Nenetlify=¤¤¤¤¤¤¤¤N;tlify=¤¤¤¤¤¤¤¤_Net"
        "lify\t=¤¤¤¤¤¤¤Ify=¤¤¤¤¤¤¤¤Netlify=¤-¤¤¤Netlify=¤¤¤¤¤¤¤¤Nenetli¤¤¤¤¤Netlify=¤¤¤¤¤¤¤¤_Netlify=¤¤¤¤¤¤¤If"
        "y=¤¤¤¤¤¤¤¤Netlify=¤-Oauth¤¤¤Netlify=¤¤¤¤¤¤¤¤Nenetlify=¤¤¤¤¤¤¤¤Net¤¤¤¤¤¤¤¤_Net",
        'CLIENT-KEY-DATA: CK_LIENT-KEY- _AUCLV1.&AUTH=+¤¤¤¤¤¤¤¤GETENV(TOKEN0%SERPWD "CLIENT-KEY-¤¤¤¤¤¤¤¤¤¤¤¤¤'
        '¤¤¤ATA: LIENT-KEY-DATA: _A\tUCLV1.+¤¤\\¤¤¤¤¤[¤GSK-ADMIN-ETENV(TOKEN0%SERPWD)"K "EAPI_KEY0NV(TOK&N, \ue000AV'
        'H: PASS -P-----BEGIN PRIVATE KEY-----\nKUCOINCL[SECRET:CLI¤¤¤¤¤¤ENT-KEY-DAT": "A: CK_LIENT-KEY-DAT(A:'
        " _AUCLV1K.+¤¤¤¤¤¤",
        'SSHPAS¤¤¤¤¤¤S -P=SQL -PSOAUTH: ¤¤¤¤¤¤¤¤-----BEGIN PRIVATE KEY-----\nSSHPASS -P=" MYSQ\x1a -Pauth=TH: ¤¤¤'
        '¤¤¤¤ddp_¤-----BEGIN PRIVATE KEY-----a+ws_sec\nPASsshpass -SSSHPAS¤¤¤¤¤¤S -P=" MYSQL -PSOAUTH: ¤¤¤¤¤¤¤'
        '¤-----BEGIN PRIVATE KEY-----\nSSHPASS -P=" MYSQLAUTH: ¤¤¤¤¤¤¤¤-----BEGIN PRIVATE KEY-----AWS_SEC\nPASS'
        'SHPASS -P=" MYSSSSHP',
    ),
)


def by_form(cases: Sequence[Case], redactor: Redactor) -> dict[str, int]:
    """How many texts of each form were missed, the worst first: for whoever changes the rules."""
    counted: dict[str, int] = {}
    for case in cases:
        counted[case.made_from] = counted.get(case.made_from, 0) + case.missed(redactor)
    return dict(sorted(((form, n) for form, n in counted.items() if n), key=lambda one: -one[1]))
