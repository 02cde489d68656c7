"""Sessions that an earlier version recorded, finished and killed half-way: every one of them is still read, replayed,
resumed and forked. `tests/data/sessions/README.md` says what they are.

The tests compare ids, kinds, counts and the keys of questions, never a prompt, a fingerprint or a sentence: those may
be reworded. When its prompts change, a protocol gets another version. A resumed session then keeps its answers, and a
fork asks again what no longer fits; the tests allow for that.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.data.sessions import record
from tests.data.sessions.record import SAMPLES

DATA = Path(record.__file__).parent
ENDED = 0, 1, 3
"""Exit codes of a debate that reached its end: done, failed at its gate, inconclusive."""
WAITING = {
    "duel-caller": ("--judge", record.THREE),
    "duel-human": ("--judge", record.THREE),
    "cross-manual": ("--seat", f"decider={record.THREE}"),
}
"""Those that wait for a person or the caller → the options of a fork that does not."""


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / name / "expected.json").read_text())
    return found


RECORDED = sorted(path.parent.name for path in DATA.glob("*/expected.json"))
FINISHED = [name for name in RECORDED if expected(name)["ended"]]
KILLED = [name for name in RECORDED if not expected(name)["ended"] and name not in WAITING]


# the program --------------------------------------------------------

LOOP = """
import io, json, os, sys
from importlib.metadata import entry_points

[script] = entry_points(group="console_scripts", name="rebut")
main = script.load()
questions, answers, errors = sys.stdin, sys.stdout, sys.stderr
for line in questions:
    wanted = json.loads(line)
    os.chdir(wanted["cwd"])
    os.environ["REBUT_HOME"] = wanted["home"]
    sys.argv = ["rebut", *wanted["words"]]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    sys.stdin, sys.stdout, sys.stderr = open(os.devnull), out, err
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdin.close()
        sys.stdin, sys.stdout, sys.stderr = questions, answers, errors
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]
    print(json.dumps([code, *said]), flush=True)
"""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Program:
    """The console script in one process that runs many command lines: starting Python each time would take most of the
    time. It is not this process, because the script keeps the time at which its process began."""

    def __init__(self, env: dict[str, str], log: Path) -> None:
        self._env, self._log = env, log
        self._start()

    def _start(self) -> None:
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", LOOP],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                env=self._env,
            )

    def run(self, cwd: Path, home: Path, *words: str) -> Done:
        if self._process.poll() is not None:  # a command ended it, and that test has failed
            self._start()
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"cwd": str(cwd), "home": str(home), "words": words}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"rebut {' '.join(words)} ended its process:\n{self._log.read_text()}"
        return Done(*json.loads(line))

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, safe_path: str) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("program")
    started = Program({"PATH": safe_path, "HOME": str(folder), "LC_ALL": "C.UTF-8"}, folder / "errors")
    yield started
    started.close()


# the sessions -------------------------------------------------------


class Place:
    """A sample in the folder of one test: its sessions, its workspace and its seats."""

    def __init__(self, name: str, root: Path, program: Program) -> None:
        self.sample, self.expected = SAMPLES[name], expected(name)
        self.id: str = self.expected["id"]
        self.root, self._program = root, program
        self.work, self.home = root / "work", root / "home"
        self.work.mkdir()
        copy(DATA / name / "sessions", self.home / "sessions")

    def rebut(self, *words: str, codes: tuple[int, ...] = (0,)) -> Done:
        done = self._program.run(self.work, self.home, *words)
        assert done.code in codes, f"rebut {' '.join(words)} ended with {done.code}:\n{done.out}\n{done.err}"
        return done

    def export(self, id: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.rebut("export", id or self.id, "--format", "json").json
        return found

    def journal(self) -> bytes:
        return (self.home / "sessions" / self.id / "journal.jsonl").read_bytes()

    def seat(self, without: list[str]) -> None:
        """Fill the seats. They have every answer but these; a seat that is asked for one of these fails."""
        record.seats(self.root / "seats", {key: said for key, said in self.sample.says.items() if key not in without})


@pytest.fixture
def untouched(name: str, tmp_path: Path, program: Program) -> Place:
    """A sample byte by byte as it was recorded. Its workspace does not exist."""
    return Place(name, tmp_path, program)


@pytest.fixture
def moved(name: str, tmp_path: Path, program: Program) -> Place:
    """A sample with its workspace and the files that it wrote, all moved to the folder of this test."""
    place = Place(name, tmp_path, program)
    record.workspace(place.work, changed=place.sample.changed)
    shutil.copy(DATA / "steelman.py", tmp_path / "steelman.py")
    if (DATA / name / "left").is_dir():
        copy(DATA / name / "left", place.work)
    for claim in (DATA / name / "claims").rglob("*"):
        if claim.is_file():
            folder = tmp_path / claim.parent.relative_to(DATA / name / "claims")
            kept = place.home / "claims" / hashlib.sha256(bytes(folder)).hexdigest()[:24]
            kept.mkdir(parents=True)
            shutil.copy(claim, kept / claim.name)
    move(tmp_path)
    return place


def copy(source: Path, target: Path) -> None:
    """Copy a folder of the samples, with the names that git does not track."""
    for path in source.rglob("*"):
        if path.is_file():
            to = target / path.relative_to(source).as_posix().replace("dot-git", ".git")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)


def move(root: Path) -> None:
    """Write this folder in place of the one where the samples were recorded, with the hashes that follow from that."""
    old, new = bytes(record.ROOT), bytes(root)
    journals, hashes = list((root / "home/sessions").glob("*/journal.jsonl")), dict[bytes, bytes]()
    others = [p for p in root.rglob("*") if p.is_file() and p not in journals and "objects" not in p.parts]
    for path in others:
        if old in (was := path.read_bytes()):
            path.write_bytes(now := was.replace(old, new))
            hashes[hashlib.sha256(was).hexdigest().encode()] = hashlib.sha256(now).hexdigest().encode()
    for journal in journals:
        lines, before = list[bytes](), b""
        for line in journal.read_bytes().splitlines():
            line = line.replace(old, new)
            for was, now in hashes.items():
                line = line.replace(was, now)
            line = re.sub(rb'"prev":"[0-9a-f]*"', b'"prev":"%s"' % before, line, count=1)
            lines.append(line)
            before = digest(line)
        journal.write_bytes(b"\n".join(lines) + b"\n")


def digest(line: bytes) -> bytes:
    """The hash of a line of a journal, which the next line holds."""
    return hashlib.sha256(line).hexdigest()[:32].encode()


def keys(shown: dict[str, Any], kind: str, start: int = 0) -> list[str]:
    return [event["key"] for event in shown["events"] if event["kind"] == kind and event["seq"] > start]


def last(shown: dict[str, Any]) -> int:
    seq: int = shown["events"][-1]["seq"]
    return seq


def versions(shown: dict[str, Any]) -> tuple[str, str]:
    opened = shown["events"][0]
    return opened["rebut"], opened["protocol_version"]


def test_every_sample_is_recorded_and_none_holds_a_path_of_a_machine() -> None:
    assert sorted(SAMPLES) == RECORDED
    assert sorted([*FINISHED, *KILLED, *WAITING]) == RECORDED
    for path in DATA.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            found = re.findall(
                r"(?<![\w.~-])/(?:home|root|usr|opt|var|work|Users|tmp(?!/rebut-sample))\b", path.read_text()
            )
            assert not found, f"{path}: {found}"


# reading ------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDED)
def test_it_is_listed_shown_exported_and_verified_without_its_workspace(untouched: Place) -> None:
    place, wanted = untouched, untouched.expected
    listed = {row["id"]: row for row in place.rebut("list", "--all", "--json").json}
    for folder in (place.home / "sessions").iterdir():
        journal = (folder / "journal.jsonl").read_bytes().splitlines()
        opened = json.loads(journal[0])
        row = listed.pop(folder.name)
        assert (row["protocol"], row["topic"], row["at"]) == (opened["protocol"], opened["topic"], opened["at"])
        checked = place.rebut("verify", folder.name, "--json", codes=(0, 3)).json  # 3: files that it wrote are not here
        assert (checked["events"], checked["last_hash"]) == (len(journal), digest(journal[-1]).decode())
    assert not listed
    shown = place.rebut("show", place.id, "--json").json
    exported = place.export()
    assert shown["id"] == exported["id"] == place.id
    assert shown["events"] == exported["events"] and last(exported) == len(place.journal().splitlines())
    assert sorted(keys(exported, "answered")) == wanted["answered"]
    assert (exported["outcome"] is not None) == wanted["ended"]
    if wanted["ended"]:
        assert record.essence(exported) == record.essence(shown) == wanted["outcome"]
    page = place.rebut("export", place.id, "--format", "md").out
    assert place.id in page and all(key in page for key in wanted["answered"])
    shown_in_words = place.rebut("show", place.id, "--all", "--no-pager").out
    points = [point["id"] for point in exported["ledger"]["points"]]
    assert place.id[:4] in shown_in_words and all(id in shown_in_words for id in points)
    if wanted["ended"] and (winner := wanted["outcome"]["winner"]):
        assert winner in shown_in_words and winner in page


@pytest.mark.parametrize("name", RECORDED)
def test_its_chain_its_snapshot_and_its_files_are_sound(moved: Place) -> None:
    for folder in (moved.home / "sessions").iterdir():
        checked = moved.rebut("verify", folder.name, "--json").json
        assert checked["ok"] and checked["problems"] == []
    assert moved.id in [row["id"] for row in moved.rebut("list", "--json").json], "it belongs to its workspace"


# continuing ---------------------------------------------------------


@pytest.mark.parametrize("name", FINISHED)
def test_a_finished_one_replays_to_the_same_outcome_and_resumes_to_it(name: str, moved: Place) -> None:
    before = moved.journal()
    moved.seat(without=list(moved.sample.says))
    again = moved.rebut("replay", moved.id, "--json", codes=(0, 3)).json  # 3: the same outcome in other words
    assert essence(again) == brief(moved.expected["outcome"])
    if name.startswith("steelman"):  # all its words are in its own file
        assert again["same"]
    resumed = moved.rebut("resume", moved.id, "--json", codes=ENDED).json
    assert essence(resumed) == brief(moved.expected["outcome"])
    assert moved.journal() == before, "nothing was left to do"


@pytest.mark.parametrize("name", KILLED)
def test_a_killed_one_resumes_to_its_end_and_asks_only_what_is_missing(moved: Place) -> None:
    wanted, before, was = moved.expected, moved.journal(), moved.export()
    moved.seat(without=wanted["answered"])
    resumed = moved.rebut("resume", moved.id, "--json", codes=ENDED).json
    assert resumed["exit"] == wanted["exit"]
    assert moved.journal().startswith(before), "what was on record is still there"
    shown = moved.export()
    assert record.essence(shown) == wanted["outcome"]
    assert sorted(set(keys(shown, "asked", start=last(was)))) == wanted["asked"]
    assert not set(wanted["asked"]) & set(wanted["answered"])
    assert sorted(keys(shown, "answered")) == sorted([*wanted["answered"], *wanted["asked"]]), "each once"
    in_doubt = set(keys(was, "asked")) - set(keys(was, "attempt"))
    assert resumed["spent"]["in_doubt"] == len(in_doubt)
    assert moved.rebut("verify", moved.id, "--json").json["ok"]
    again = moved.rebut("replay", moved.id, "--json", codes=(0, 3)).json
    assert essence(again) == brief(wanted["outcome"])


@pytest.mark.parametrize("name", WAITING)
def test_one_that_waits_for_an_answer_still_waits_for_the_same(name: str, moved: Place) -> None:
    was = moved.export()
    moved.seat(without=moved.expected["answered"])
    moved.rebut("resume", moved.id, "--json", codes=(4,))
    shown = moved.export()
    assert shown["outcome"] is None
    assert keys(shown, "answered", start=last(was)) == keys(shown, "failed") == []
    if name != "duel-caller":
        return
    turn = moved.rebut("resume", moved.id, "--json", codes=(4,)).json
    assert turn["key"] == "verdict@judge"
    (moved.root / "answer.json").write_text(json.dumps(moved.sample.says["verdict@judge"]))
    answered = ["answer", moved.id, "--key", turn["key"], "--file", str(moved.root / "answer.json"), "--json"]
    assert moved.rebut(*answered).json["verdict"]["winner"] == "challenger"
    assert keys(moved.export(), "answered", start=last(shown)) == ["verdict@judge"]


@pytest.mark.parametrize("name", RECORDED)
def test_it_forks_and_its_answers_are_reused(name: str, moved: Place) -> None:
    wanted, before, was = moved.expected, moved.journal(), moved.export()
    change = WAITING.get(name, ("--max-calls", "30"))
    moved.seat(without=[])
    reused = moved.rebut("fork", moved.id, *change, "--dry-run", "--json").json["reused"]
    on_record = keys(was, "answered")
    forked = moved.rebut("fork", moved.id, *change, "--json", codes=ENDED).json
    shown = moved.export(forked["session"])
    assert shown["events"][0]["forked_from"] == moved.id
    copied = [e["key"] for e in shown["events"] if e["kind"] == "answered" and e.get("copied_from")]
    if versions(shown) == versions(was):
        assert reused == wanted["reused"] and sorted(copied) == wanted["answered"]
    assert reused <= len(copied) and set(copied) <= set(on_record)
    assert not set(copied) & set(keys(shown, "asked")), "what was reused was not asked"
    if name in WAITING:
        assert shown["outcome"]["kind"] == ("keep original" if name == "cross-manual" else "verdict")
    elif "joined" in name:  # a fork is a new session, in which points that cite the same lines stay apart
        assert len(shown["ledger"]["points"]) > len(wanted["outcome"]["points"])
    else:
        assert record.essence(shown) == wanted["outcome"]
    assert shown["outcome"]["complete"]
    assert moved.rebut("verify", forked["session"], "--json").json["ok"]
    assert moved.journal() == before, "the session itself is as it was"


def essence(told: dict[str, Any]) -> dict[str, Any]:
    """The same of a result as `--json` prints it."""
    return {
        "kind": told["kind"],
        "conclusive": told["conclusive"],
        "winner": told["verdict"]["winner"] if told["verdict"] else None,
        "claims": told["ledger"]["claims"],
        "points": {point["id"]: point["status"] for point in told["ledger"]["points"]},
    }


def brief(outcome: dict[str, Any]) -> dict[str, Any]:
    return {**outcome, "claims": len(outcome["claims"])}
