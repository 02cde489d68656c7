"""docs/requirements.md: what rebut must do, and the tests that show it through the command line.

A test names the requirements that it shows in a comment: `# C3 C13`, on the line of its `def` or on any line of its
body, alone or before a colon, comma or semicolon and a remark. It goes through the command line if it runs the command
`rebut` itself, or by a helper, class or fixture of the tests that does: that is, if the code that it reaches has a list
of words with `REBUT`, or with `sys.executable, "-m", "rebut"`, in it, or calls `rebut.cli.app.enter`, which is all that
the command does with its words, in the process of the test.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
PAGE = "docs/requirements.md"
MARK = re.compile(r"#\s*([A-Z]\d{1,2}(?:(?:,\s*|\s+)[A-Z]\d{1,2})*)\s*(?:[:;,]|$)")

NOT_BUILT: tuple[str, ...] = ()
"""Requirements without a test because what they ask for does not exist yet. As soon as a test names one of them, the
check fails until it is removed here, and from then on it needs a test like every other requirement."""

REQUIREMENTS: Mapping[str, Mapping[str, str]] = {
    "Every debate": {
        "C1": "Any seat takes any model: a command-line tool, an HTTP API, the embedded model, a linter, a program, a "
        "person, the calling agent or a script, with the effort that the user names.",
        "C2": "Without named seats, rebut chooses models that it finds, prefers different families, and prints each "
        "choice with its reason; one model in several seats is called a self-debate.",
        "C3": "Every call is on record before its answer is used, so a killed debate resumes without a repeated call "
        "and ends as if it had not been killed.",
        "C4": "Limits on rounds, minutes, tokens, dollars and calls are never exceeded, the closing call is reserved "
        "at the start, and the limit that ended a debate is named.",
        "C5": "A participant that fails never speaks: errors, empty and malformed replies are failures with a class, "
        "and the seat still counts.",
        "C6": "The heading of an outcome says no more than the record shows: a degraded, partial or one-sided run has "
        "a heading of its own.",
        "C7": "Text of models, of the artifact and of the repository enters a prompt only as quoted data, in fences "
        "that it cannot close.",
        "C8": "Secrets are replaced by placeholders before anything is sent or written.",
        "C9": "Command-line tools run read-only, get their prompts by standard input or file, and end with all their "
        "processes at a time-out.",
        "C10": "Every point has an id, a severity, its own words and a status; two points are one issue only by equal "
        "text or because a participant says so, and then both texts stay.",
        "C11": "Every citation is looked up in the workspace as it was when the debate opened, and marked; claims that "
        "cite nothing are marked unsupported.",
        "C12": "A concession that is taken back without new evidence, and an objection that is dropped without a "
        "reason, is detected and reported.",
        "C13": "Sessions can be listed, shown, resumed, forked, replayed and exported; reading an old one needs no "
        "code of its protocol.",
        "C14": "Every command has JSON output, progress is visible during a call, and Ctrl-C leaves a session that can "
        "be resumed.",
        "C15": "The program serves context: files that the user names, the changed files, and what a reply asks for "
        "under `need`.",
        "C16": "The user decides what leaves the machine: a dry run lists it, private files are never sent, and a "
        "repository's own config can only narrow it.",
        "C17": "Exit codes say how a run ended, and `--deadline` returns the best result so far in time.",
        "C18": "One place decides what an outcome may claim, and screen, JSON, gate and exports take it from there.",
        "C19": "A finding is called fixed only if a critic, a judge or a check looked at it in the new version and no "
        "longer finds it.",
        "C20": "In every form the reasons come before the conclusion, what decides is required, and a bad optional "
        "field costs only that field.",
        "C21": "A user can add a note to a running debate; both sides get it in the next round, quoted and on record.",
    },
    "rebut revise": {
        "K1": "`.kiln/config.json` sets strategies and rounds; flags override it, values out of range are clamped with "
        "a notice, and a malformed file stops the command.",
        "K2": "The flows without a debate work, too: two plans merged into one, and a review by one author.",
        "K3": "Two authors write plans independently, then critique, revise and synthesize; drafts that exist are "
        "used.",
        "K4": "Two reviews of a change or of files are debated in the same way.",
        "K5": "A critique has strengths, weaknesses, disagreements and concessions; a disagreement has a severity and "
        "an impact.",
        "K6": "A revision keeps the headings of its document and lists what it addresses and what it defends; what "
        "breaks this is sent back once.",
        "K7": "The prompts give critics and revisers the adversarial rules.",
        "K8": "The rounds end when both critiques have no weakness, when only cosmetic disagreements are left, or when "
        "both authors concede the same points.",
        "K9": "Files have fixed names in `.kiln/tracks/phase-N`, and a second debate of a stage in a named phase is "
        "refused.",
        "K10": "`debate_log.md` has real counts, a summary of every revision, the convergence check and the outcome; "
        "plan and review share it.",
        "K11": "The synthesis reads the final versions, all critiques and the log, and accounts for every point.",
        "K12": "A failed call is tried once more; after a second failure the debate ends with what there is, and no "
        "file is deleted or overwritten.",
    },
    "rebut cross": {
        "J1": "What is reviewed is found in a fixed order and classified with a confidence; where that is low, rebut "
        "asks or stops.",
        "J2": "A scope names uncommitted changes, a commit, a branch, a range or a file; a bad scope is an error that "
        "names what was not found.",
        "J3": "The intensity sets rounds, minutes and time-out, and flags override each of them.",
        "J4": "The judge's choice is taken, or in manual mode a person is asked, once a round.",
        "J5": "`--artifact-file`, `--state-dir` and `--skip-materialize-opposite` work.",
        "J6": "Each session has a private folder with fixed files, inside the git folder or in the user's state.",
        "J7": "Code, proposals and mixed texts go to the critiques that fit them, and each round is summed up.",
        "J8": "The critic is the opposite model of the author's.",
        "J9": "The judge rules on each finding, weighs its severity and recommends how to continue; a P1 with an "
        "absent citation cannot stay P1.",
        "J10": "The choices A to E keep the original, accept the critic's version, write a compromise, rebut, or stop.",
        "J11": "The review ends by rounds, minutes, two quiet rounds, agreement or choice, and says whether it "
        "converged.",
        "J12": "`summary.md`, the screen and `decision.json` end with one result in a fixed format.",
        "J13": "If a backend is not available, another model answers for it, and every file says which one for which.",
        "J14": "With a clean tree the last message of the coding agent is offered, and the summary shows where "
        "severity is concentrated.",
    },
    "rebut panel": {
        "H1": "Each panel has a folder of its own with context, state, transcript, rounds and personas, and each "
        "challenger runs in a private folder.",
        "H2": "Every challenger gets an expert persona with a lens and a list of its own.",
        "H3": "Before the debate, a real round trip shows which challengers answer and which read their persona file.",
        "H4": "The lead opens with a position, reasons, confidence, weaknesses and assumptions.",
        "H5": "All challengers answer at once, in a form; a slow or failing one does not hold back the rest.",
        "H6": "The panel ends at once only if all agree; an agreement that names nothing examined does not count.",
        "H7": "The lead accepts or rejects every point with reasons, and says what changed and because of whom.",
        "H8": "Only dissenters answer again, round by round, and the outcome shows which version each challenger "
        "accepted.",
        "H9": "Where disagreement remains, each party names its assumptions, and these are mapped to the positions.",
        "H10": "All versions of the position are kept with what caused each.",
        "H11": "The outcome is CONSENSUS or TRADEOFF in a fixed format; with seats missing it is a partial consensus.",
        "H12": "Defaults can be changed, a failed or unreadable challenger is recorded, and without any answer the "
        "panel aborts.",
        "H13": "`rebut doctor` tests every provider with a real round trip and says what to do about each failure.",
        "H14": "The defaults of the panel can be set in the user's config.",
    },
    "rebut duel": {
        "D1": "Proposer and challenger are named with models, effort and rounds; mistakes are errors before any call.",
        "D2": "Both sides must cite evidence in every round, and unsupported claims are named in the verdict.",
        "D3": "The four prompts set the rules of a duel, and a reply that breaks one is sent back once.",
        "D4": "From round 3 on, a short summary replaces the oldest rounds, with every concession word for word.",
        "D5": "The verdict picks a side, in a fixed format with ratings, open questions and what the program checked.",
        "D6": "`last-debate.json` has the state of the duel in a fixed schema, with the status that applies.",
        "D7": "Each failure ends as the table of errors says: abort, uncontested, or a verdict on complete rounds.",
        "D8": "One layer builds the commands of tools, passes questions safely, and reads and redacts replies.",
        "D9": "`--all-rounds` holds every round; a concession without evidence never settles a point.",
    },
}


def page(folder: Path = TESTS) -> str:
    tests = [test for test in suite(folder).tests if test.by_command]
    rows = [
        "# Requirements",
        "",
        f"What rebut must do, and the tests that show it through the command line. Generated by `make docs` from the "
        f"comments of the tests ({', '.join(f'`# {id}`' for id in ('C3', 'K6'))}); the tests check that it is current.",
    ]
    for title, sentences in REQUIREMENTS.items():
        rows += ["", f"## {title}"]
        for id, sentence in sentences.items():
            rows += ["", f"### {id}", "", sentence, ""]
            files: dict[str, list[str]] = {}
            for test in tests:
                if id in test.ids:
                    files.setdefault(test.path, []).append(test.name)
            rows += [f"- [{path}](../{path}): {', '.join(f'`{name}`' for name in files[path])}" for path in files]
            rows += [] if files else ["Not built yet."]
    return "\n".join(rows) + "\n"


def problems(folder: Path = TESTS, not_built: Sequence[str] = NOT_BUILT) -> list[str]:
    """What is wrong with the marks of the tests: unknown ids, and requirements that no test shows."""
    known = [id for sentences in REQUIREMENTS.values() for id in sentences]
    tests = suite(folder).tests
    wrong = [
        f"{test.path}: {test.name} names {id}, which is not a requirement"
        for test in tests
        for id in test.ids
        if id not in known
    ]
    named, shown = ({id for test in found for id in test.ids} for found in (tests, [t for t in tests if t.by_command]))
    for id in known:
        if id in not_built and id in named:
            wrong.append(f"{id} has a test now: remove it from NOT_BUILT in tools/requirements.py")
        elif id not in shown and id not in not_built:
            wrong.append(f"{id} has no test that goes through the command line")
    return wrong


@dataclass(frozen=True)
class Test:
    """A test function, the requirements that it names, and whether it goes through the command line."""

    path: str
    name: str
    ids: tuple[str, ...]
    by_command: bool


@dataclass
class Module:
    """A file of the tests: its functions and classes, and what its names mean in other files."""

    path: Path
    tree: ast.Module
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name → module and the name there, which is empty for the module itself."""

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return {node.name: node for node in self.tree.body if isinstance(node, kinds)}

    @cached_property
    def parts(self) -> dict[str, list[ast.AST]]:
        """All nodes of each definition."""
        return {name: list(ast.walk(node)) for name, node in self.definitions.items()}

    @cached_property
    def entrance(self) -> str:
        """The name under which the module knows the entrance of the command line; empty if it does not."""
        return next((name for name, source in self.imported.items() if source == ("rebut.cli.app", "enter")), "")

    @cached_property
    def comments(self) -> dict[int, str]:
        text = self.path.read_text("utf-8")
        if not any(map(MARK.search, text.splitlines())):
            return {}
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}

    def ids(self, test: ast.stmt) -> tuple[str, ...]:
        lines = range(test.lineno, (test.end_lineno or test.lineno) + 1)
        found = [mark[1] for n in lines if n in self.comments and (mark := MARK.match(self.comments[n]))]
        return tuple(dict.fromkeys(id for one in found for id in re.split(r"[,\s]+", one)))


class Suite:
    """All tests of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = (path for path in sorted(folder.rglob("*.py")) if "data" not in path.parts)
        self.modules = {path.stem: _module(path) for path in files}
        starts = {
            (stem, name): _starts(parts, module.entrance)
            for stem, module in self.modules.items()
            for name, parts in module.parts.items()
        }
        uses = {key: set(self._used(*key)) for key in starts}
        self._by_command = {key for key, is_start in starts.items() if is_start}
        while more := {key for key in uses if key not in self._by_command and uses[key] & self._by_command}:
            self._by_command |= more

    @cached_property
    def tests(self) -> list[Test]:
        out = []
        for stem, module in self.modules.items():
            path = module.path.relative_to(self.folder.parent).as_posix()
            for name, node in module.definitions.items():
                if name.startswith("test_") and not isinstance(node, ast.ClassDef):
                    out.append(Test(path, name, module.ids(node), (stem, name) in self._by_command))
        return sorted(out, key=lambda test: test.path)

    def _used(self, stem: str, name: str) -> Iterator[tuple[str, str]]:
        """The functions, classes and fixtures of the tests that a definition names."""
        module, names = self.modules[stem], set[str]()
        for part in module.parts[name]:
            if isinstance(part, ast.Name):
                names.add(part.id)
            elif isinstance(part, ast.arg):  # a fixture, if one has this name
                names.add(part.arg)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                there, inner = module.imported.get(part.value.id, ("", ""))
                if there in self.modules and not inner and part.attr in self.modules[there].definitions:
                    yield there, part.attr
        for name in sorted(names):
            there, inner = module.imported.get(name, ("", ""))
            if name in module.definitions:
                yield stem, name
            elif there in self.modules and inner in self.modules[there].definitions:
                yield there, inner
            elif "conftest" in self.modules and name in self.modules["conftest"].definitions:
                yield "conftest", name


@cache
def suite(folder: Path) -> Suite:
    return Suite(folder)


def _module(path: Path) -> Module:
    module = Module(path, ast.parse(path.read_text("utf-8")))
    others = (
        ast.walk(node) for node in module.tree.body if module.definitions.get(getattr(node, "name", "")) is not node
    )
    for node in chain(*others, *module.parts.values()):
        if isinstance(node, ast.Import):
            module.imported |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            module.imported |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    return module


def _starts(parts: Sequence[ast.AST], entrance: str) -> bool:
    """Whether the words of a command that runs rebut are in this code, or a call of the entrance."""
    return any(
        (isinstance(part, ast.List | ast.Tuple) and _is_command(part))
        or (isinstance(part, ast.Call) and bool(entrance) and _word(part.func) == entrance)
        for part in parts
    )


def _is_command(words: ast.List | ast.Tuple) -> bool:
    said = [_word(word) for word in words.elts]
    at = said.index("executable") if "executable" in said else len(said)
    return "REBUT" in said or said[at + 1 : at + 3] == ["-m", "rebut"]


def _word(word: ast.expr) -> object:
    match word:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=name):
            return name
        case _:
            return None
