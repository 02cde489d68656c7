"""The house rules that a program can check: who imports whom, where files are, and that importing does no work."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rebut

ROOT = Path(rebut.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
REPOSITORY = Path(__file__).parent.parent

ROOMS = {
    *("core", "record", "domain", "workspace", "evidence", "engine", "protocols", "backends", "setup", "reports"),
    *("ci", "cli"),
    "web",
    "batch",
    "proof",
    "mcp",
    "trial",
}
"""An eighteenth room is a decision: it has a page in docs/decisions."""
OF_AN_EXTRA = ("rebut.record.postgres.", "rebut.batch.queue_worker", "rebut.batch.shared_caps")
"""Modules that import a package of the extra `postgres`, which is not installed everywhere."""


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[tuple[str, str, int]]:
    """The modules of rebut that a file imports, at its top or later, and the names it takes from them."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "rebut":
                    yield alias.name.removeprefix("rebut").lstrip("."), "", node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; write the whole name"
            if node.module == "rebut":
                for alias in node.names:
                    if (ROOT / f"{alias.name}.py").exists() or (ROOT / alias.name).is_dir():
                        yield alias.name, "", node.lineno
            elif node.module and node.module.startswith("rebut."):
                for alias in node.names:
                    module = node.module.removeprefix("rebut.")
                    is_module = (ROOT / module.replace(".", "/") / f"{alias.name}.py").exists()
                    yield (
                        (f"{module}.{alias.name}", "", node.lineno) if is_module else (module, alias.name, node.lineno)
                    )


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_the_package_holds_the_rooms_and_four_files() -> None:
    # C13: who may import whom is held by import-linter, in `make lint`
    assert {p.parent.name for p in ROOT.glob("*/__init__.py")} == ROOMS
    shims = {"protocol.py", "worth.py"}  # documented in 0.1 as places of names that `rebut` has now: gone in 0.3
    assert {p.name for p in ROOT.glob("*.py")} - shims == {"__init__.py", "__main__.py", "api.py", "testing.py"}


def test_the_charter_of_a_room_is_one_line() -> None:
    for room in sorted(ROOMS - {"cli"}):  # whose `__init__` is the entry point
        text = (ROOT / room / "__init__.py").read_text(encoding="utf-8")
        assert text.count("\n") == 1 and ast.get_docstring(ast.parse(text)), room


def test_a_module_is_named_by_a_noun() -> None:
    # a word that ends in -ing or -ed says what is done; the noun that it is done to says what a file holds
    usual = ("testing", "steering", "shared", "scripted")
    for path in FILES:
        assert not re.search(r"(ing|ed)$", path.stem) or path.stem in usual, path
        assert not re.search(r"(^|_)(desk|room|stage|helm)s?$", path.stem), path


def test_a_small_module_has_more_than_one_importer() -> None:
    # one that a single neighbour needs is a part of that neighbour: merge it
    importers: dict[str, set[str]] = {}
    for path in FILES:
        for module, _, _ in imports(path):
            importers.setdefault(module, set()).add(name_of(path))
    for path in FILES:
        own = importers.get(name_of(path), set()) - {name_of(path)}
        if path.name == "__init__.py" or len(own) != 1 or name_of(path) in APART:
            continue
        lines = path.read_text(encoding="utf-8").count("\n")
        assert lines >= 60 or own.pop().rpartition(".")[0] != name_of(path).rpartition(".")[0], path


APART = {
    "backends.http.prices",  # loads genai-prices, which a call without a price does not need
}
"""Small modules that have one importer for a reason."""


def test_no_module_imports_itself_in_a_circle() -> None:
    # within a layer too
    graph = {name_of(p): {m for m, _, _ in top_imports(p)} for p in FILES}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join([*path, module])
        if module not in done:
            for other in graph.get(module, ()):
                visit(other, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def top_imports(path: Path) -> Iterator[tuple[str, str, int]]:
    """Imports that run when the module is loaded: neither inside a function nor for type checkers only."""
    lines = {node.lineno for node in parsed(path).body if isinstance(node, ast.Import | ast.ImportFrom)}
    own = name_of(path)
    return (found for found in imports(path) if found[2] in lines and found[0] != own)


def test_no_provider_is_named_outside_of_its_own_file() -> None:
    # house rule 3: no `if provider ==`
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Compare) and path.relative_to(ROOT).parts[0] != "backends":
                left = ast.unparse(node.left)
                told = [ast.unparse(c) for c in node.comparators if isinstance(c, ast.Constant)]
                if left.endswith("provider") and any(t in ("'openai'", "'anthropic'", "'google'") for t in told):
                    raise AssertionError(f"{path}:{node.lineno} {ast.unparse(node)}")


# sizes and words


def test_every_file_says_in_its_first_line_what_it_is() -> None:
    # house rule 1
    for path in FILES:
        if path.stat().st_size:
            assert ast.get_docstring(parsed(path)), path


def test_a_public_class_name_stands_once() -> None:
    # forms aside, whose names are part of a question's fingerprint, and `Settings`, which every protocol has
    places: dict[str, list[str]] = {}
    for path in FILES:
        if path.name != "forms.py":
            for node in parsed(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name != "Settings":
                    places.setdefault(node.name, []).append(name_of(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_public_function_name_stands_in_at_most_three_places() -> None:
    # The files of the protocols are alike on purpose, so `duel/run` and `panel/run` are one place.
    usual = ("main", "to_json")
    places: dict[str, set[str]] = {}
    for path in FILES:
        name = re.sub(r"^protocols\.\w+\.", "protocols.", name_of(path))
        for node in parsed(path).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                places.setdefault(node.name, set()).add(name)
    assert {name: sorted(found) for name, found in places.items() if len(found) > 3 and name not in usual} == {}


def test_no_class_has_a_name_that_says_nothing() -> None:
    # house rule 2
    banned = re.compile(r"(Manager|Factory|Handler|Service|Utils?|Helpers?|Base|Impl|Abstract)$|^(Abstract|Base)")
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                assert not banned.search(node.name), f"{path}:{node.lineno} class {node.name}"
        assert not re.search(r"util|helper|common|misc|manager", path.stem), path


def test_a_broad_except_stands_only_where_it_must_and_says_why() -> None:
    # house rule 6: the CLI's last resort and the backend boundary
    allowed = {"backends.wrappers", "cli.runner", "batch.debate", "engine.protocol", "proof.launcher"}
    for path in FILES:
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = "" if node.type is None else ast.unparse(node.type)
            if node.type is None or re.search(r"\b(Base)?Exception\b", caught):
                assert name_of(path) in allowed, f"{path}:{node.lineno} except {caught}"
                near = "\n".join(lines[max(0, node.lineno - 3) : node.body[0].lineno])
                around = ast.get_docstring(owner(path, node.lineno)) or ""
                assert "#" in near or "any exception" in around.lower(), f"{path}:{node.lineno} gives no reason"


def owner(path: Path, line: int) -> ast.ClassDef | ast.Module:
    """The class in which a line stands."""
    tree = parsed(path)
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.lineno <= line <= (n.end_lineno or 0)]
    return classes[-1] if classes else tree


def test_no_module_hands_a_dict_of_anything_to_another() -> None:
    # house rule 4: functions that others may call take and give named things. Edges (door, command line) take keywords.
    edges = ("api", "cli")
    for path in FILES:
        if name_of(path).split(".")[0] in edges:
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                given = ast.unparse(node.returns) if node.returns else ""
                assert "dict[str, Any]" not in given, f"{path}:{node.lineno} {node.name} gives {given}"


def test_no_path_of_a_developers_machine_is_in_the_package_or_the_tests() -> None:
    found = re.compile("/" + r"(home|Users|root|work)/[a-z]")
    for path in [*ROOT.rglob("*"), *Path(__file__).parent.rglob("*.py")]:
        if path.is_file() and path.suffix in (".py", ".txt", ".toml", ".json", ".md"):
            for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                assert not found.search(line) or "example" in line, f"{path}:{n} {line.strip()}"


# the door and what loading it does


def test_the_door_is_exact() -> None:
    assert sorted(rebut.__all__) == sorted(
        [
            *("start", "resume", "fork", "replay", "run", "Connection", "Control"),
            *("Debate", "Round", "Ask", "Answer", "Answers", "Failure", "Outcome", "Verdict", "Glance"),
            *("Claim", "Point", "Move", "Evidence", "Ledger", "Form", "Cite", "Need", "fill", "MANY", "Role"),
            *("Artifact", "ReviewResult", "Worth", "fates", "check", "check_async", "CheckedText", "CheckedCitation"),
            *("ask", "ask_async", "review", "review_async", "plan", "plan_async", "stream", "DebateEvent"),
            *("DebateStarted", "DebateEnded", "SeatAsked", "SeatAnswered", "SeatFailed", "PointWritten"),
            "PointChanged",
            *("Participant", "ModelSpec", "Request", "Reply", "Backend", "Usage"),
            *("RebutError", "UsageError", "ParticipantFailed", "TooFewReplies", "Aborted", "RecordError"),
            *("ReplayMismatch", "DuplicateKey", "Paused", "__version__"),
        ]
    )
    for name in rebut.__all__:
        assert getattr(rebut, name) is not None
    assert dir(rebut) == sorted(rebut.__all__)
    with pytest.raises(AttributeError, match="no attribute 'duel'"):
        rebut.duel  # noqa: B018


def test_type_checkers_see_the_same_door() -> None:
    for node in parsed(ROOT / "__init__.py").body:
        if isinstance(node, ast.If):
            seen = {a.asname for n in node.body if isinstance(n, ast.ImportFrom) for a in n.names}
            assert seen == set(rebut.__all__) - {"__version__"}
            return
    raise AssertionError("no names for type checkers")


def test_the_package_is_marked_as_typed_and_versioned_as_released() -> None:
    import tomllib

    assert (ROOT / "py.typed").is_file()
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["version"] == rebut.__version__


HEAVY = ("pydantic", "asyncio", "click", "aiohttp", "rich", "genai_prices")
PROBE = """
import os, sys, json, builtins
reads, opened = [], []
def told(key):
    frame = sys._getframe(2)
    while frame.f_code.co_filename in (os.__file__, "<frozen os>", "<frozen _collections_abc>"):
        frame = frame.f_back
    if os.path.dirname(OURS) in frame.f_code.co_filename:
        reads.append(key)
class Env(type(os.environ)):
    def __getitem__(self, key):
        told(key)
        return super().__getitem__(key)
    def get(self, key, default=None):
        told(key)
        return super().get(key, default)
os.environ.__class__ = Env
def watch(event, args):
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
        opened.append(str(args[0]))
    if event in ("os.mkdir", "socket.connect", "subprocess.Popen"):
        opened.append(event)
sys.addaudithook(watch)
sys.dont_write_bytecode = True
exec(WHAT)
print(json.dumps({"loaded": sorted(sys.modules), "reads": reads, "opened": opened}), file=sys.stderr)
"""


def probe(what: str) -> dict[str, list[str]]:
    """Run something in a fresh interpreter and say what it loaded, which variables it read and what it wrote."""
    got = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path[:0] = {sys.path!r}\nWHAT, OURS = {what!r}, {rebut.__file__!r}\n{PROBE}",
        ],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert got.returncode == 0, got.stderr
    found: dict[str, list[str]] = json.loads(got.stderr.splitlines()[-1])
    return found


@pytest.mark.parametrize("module", ["rebut", "rebut.cli"])
def test_importing_does_no_work(module: str) -> None:
    # house rule 5
    found = probe(f"import {module}")
    assert module in found["loaded"]
    assert not set(HEAVY) & set(found["loaded"])
    assert found["reads"] == [] and found["opened"] == []


def test_importing_any_module_reads_no_variable_and_makes_no_file() -> None:
    # house rule 5: also for those that are loaded later; what other packages do at import is theirs
    names = [f"rebut.{name_of(p)}" for p in FILES if name_of(p) not in ("", "__main__") and p != ROOT / "__init__.py"]
    names = [name for name in names if not name.startswith(OF_AN_EXTRA)]
    warm = "import pydantic, click, aiohttp, platformdirs, asyncio, rich.live, genai_prices\n"
    found = probe(warm + "opened.clear()\n" + "\n".join(f"import {name}" for name in names))
    assert set(names) <= set(found["loaded"])
    assert found["opened"] == []
    assert found["reads"] == []


@pytest.mark.parametrize("words", [["--help"], ["help", "all"], ["--version"]])
def test_help_loads_neither_click_nor_pydantic_nor_asyncio(words: list[str]) -> None:
    # it must answer at once
    found = probe(f"sys.argv = ['rebut', *{words!r}]\nfrom rebut.cli import main\nmain()")
    assert not set(HEAVY) & set(found["loaded"])
    assert found["opened"] == []
