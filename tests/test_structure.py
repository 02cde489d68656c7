"""The house rules that a program can check: who imports whom, how large files are, and that importing does no work."""

from __future__ import annotations

import ast
import functools
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rebut

ROOT = Path(rebut.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
REPOSITORY = Path(__file__).parent.parent

LAYERS: list[set[str]] = [
    {"errors"},
    {"types"},
    {"events", "text", "processes", "aside", "tables", "whole"},
    {"record"},
    {"journal", "session", "claims", "trips"},
    {"shapes", "ledger", "budget", "parsing", "streaming", "prompts", "redaction"},
    {"gitview", "citations", "child", "weights", "worth", "figures"},
    {"statements"},
    {"laying", "scaffold", "hosts"},
    {"tools", "analysers", "snapshot", "workspace", "outcome", "contract", "forms", "glance", "artifacts"},
    {"view", "evidence", "context", "marking", "endings", "targets", "overlay", "sides", "patching", "looking_up"},
    {"bytewise", "headline"},
    {"cited", "policy"},
    {"dismissal"},
    {"gate"},
    {"control", "room", "helm", "hearing"},
    {"calling"},
    {"asking", "noting", "leaving", "outside", "steered", "booked"},
    {"answers"},
    {"debate"},
    {"reaching"},
    {"protocol"},
    {"plan"},
    {"opening", "resuming", "playing"},
    {"engine"},
    {"config", "config_files", "account", "history", "report", "reading", "checking"},
    {"basis", "reviewed", "export", "adr", "side_by_side"},
    {"dismissals", "reuse"},
    {"standing"},
    {"sarif", "annotations"},
    {"turns"},
    {"transcript"},
    {"finding"},
    {"connecting", "choosing"},
    {"seating", "doctor"},
    {"desk"},
    {"api", "applying", "demo"},
    {"crashing", "testing"},
    {"cli", "__main__"},
]
"""From the ground up. A module may import from layers below its own and from its own, never from above."""

SEEN_BY_PROTOCOLS = {
    *("answers", "contract", "debate", "errors", "forms", "glance", "ledger", "outcome", "prompts", "protocol"),
    *("record", "reaching", "targets", "text", "types", "worth"),
}
READERS = (
    "report.py",
    "reading.py",
    "export.py",
    "adr.py",
    "transcript.py",
    "turns.py",
    "account.py",
    "side_by_side.py",
    "endings.py",
    "cli/reading.py",
    "reviewed.py",
    "reuse.py",
    "standing.py",
    "sarif.py",
    "annotations.py",
    "cli/gate.py",
    "cli/dismiss.py",
    "cli/keeping.py",
    "cli/check.py",
    "cli/screen.py",
    "cli/moving.py",
    "cli/points.py",
    "history.py",
    "hearing.py",
)


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


def layer(module: str) -> int:
    top = module.split(".")[0]
    for n, names in enumerate(LAYERS):
        if top in names:
            return n
    raise AssertionError(f"rebut.{top} has no place in LAYERS yet; put it where DESIGN's import direction wants it")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.relative_to(ROOT).parts[0] not in ("backends", "protocols", "__init__.py")],
    ids=name_of,
)
def test_imports_go_one_way(path: Path) -> None:
    # C13, house rule: what is below never knows what stands on it
    own = layer(name_of(path))
    for module, _, line in imports(path):
        if module.split(".")[0] == "backends":
            assert name_of(path) == "connecting", f"{name_of(path)}:{line} reaches into a backend; only connecting does"
            continue
        assert module.split(".")[0] != "protocols", f"{name_of(path)}:{line} imports a protocol; load it by its name"
        assert layer(module) <= own, f"{name_of(path)}:{line} imports {module}, which stands above it"


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


def test_backends_know_types_errors_and_each_other_only() -> None:
    for path in sorted((ROOT / "backends").glob("*.py")):
        for module, _, line in imports(path):
            # A tool or an analyser is data and a child process is the system's: neither knows anything of a debate.
            known = module in ("types", "errors", "tools", "analysers", "child") or module.startswith("backends.")
            assert known, f"{path.name}:{line} {module}"


def test_protocols_import_only_what_a_protocol_sees() -> None:
    for path in sorted((ROOT / "protocols").rglob("*.py")):
        for module, _, line in imports(path):
            assert module in SEEN_BY_PROTOCOLS or module.startswith("protocols."), f"{path}:{line} imports {module}"


def test_readers_never_get_hold_of_the_writing_end_of_a_journal() -> None:
    # C13
    for name in READERS:
        for module, taken, line in imports(ROOT / name):
            assert (module, taken) != ("journal", "Journal"), f"{name}:{line}"
        source = (ROOT / name).read_text()
        assert "Journal" not in source, name


def test_no_provider_is_named_outside_of_its_own_file() -> None:
    # house rule 3: no `if provider ==`
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Compare) and path.parent.name != "backends":
                left = ast.unparse(node.left)
                told = [ast.unparse(c) for c in node.comparators if isinstance(c, ast.Constant)]
                if left.endswith("provider") and any(t in ("'openai'", "'anthropic'", "'google'") for t in told):
                    raise AssertionError(f"{path}:{node.lineno} {ast.unparse(node)}")


# sizes and words


def test_no_file_is_too_long_and_most_are_short() -> None:
    # house rule 1
    sizes = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in FILES}
    long = {name: size for name, size in sizes.items() if size > 400}
    assert not long, f"above 400 lines: {long}"
    real = [size for size in sizes.values() if size]
    assert statistics.median(real) <= 120, f"the median is {statistics.median(real)}"


def test_every_file_says_in_its_first_line_what_it_is() -> None:
    # house rule 1
    for path in FILES:
        if path.stat().st_size:
            assert ast.get_docstring(parsed(path)), path


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
    allowed = {"backends.timed", "cli.stage", "protocol"}
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
    for path in [*ROOT.rglob("*"), *Path(__file__).parent.glob("*.py")]:
        if path.is_file() and path.suffix in (".py", ".txt", ".toml", ".json", ".md"):
            for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                assert not found.search(line) or "example" in line, f"{path}:{n} {line.strip()}"


# the door and what loading it does


def test_the_door_is_exact() -> None:
    assert sorted(rebut.__all__) == sorted(
        [
            *("start", "resume", "fork", "replay", "run", "Connection", "Control"),
            *("Debate", "Round", "Ask", "Answer", "Answers", "Failure", "Outcome", "Verdict", "Glance"),
            *("Claim", "Point", "Move", "Evidence", "Ledger", "Form", "Cite", "fill"),
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


HEAVY = ("pydantic", "asyncio", "click", "aiohttp", "rich", "genai_prices", "stamina", "json_repair")
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
    warm = "import pydantic, click, aiohttp, stamina, platformdirs, asyncio, rich.live, json_repair, genai_prices\n"
    found = probe(warm + "opened.clear()\n" + "\n".join(f"import {name}" for name in names))
    assert set(names) <= set(found["loaded"])
    assert found["opened"] == []
    assert found["reads"] == []


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_loads_neither_click_nor_pydantic_nor_asyncio(words: list[str]) -> None:
    # it must answer at once
    found = probe(f"sys.argv = ['rebut', *{words!r}]\nfrom rebut.cli import main\nmain()")
    assert not set(HEAVY) & set(found["loaded"])
    assert found["opened"] == []
