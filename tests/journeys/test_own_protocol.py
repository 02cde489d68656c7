"""A protocol in a file of its own does what the shipped ones do: seats from config, findings, a gate, files, worth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import forkserver
import pytest

from rebut.testing import crash_at_every_call

PREMORTEM = Path(__file__).parents[2] / "docs/examples/premortem.py"
CAUSES = {
    "causes": [
        {"text": "There is no replica.", "severity": "P1", "evidence": [{"place": "infra.tf:1", "quote": "nodes = 1"}]},
        {"text": "The team knows no Redis.", "severity": "P2", "evidence": []},
    ]
}
RULINGS = {
    "rulings": [
        {"id": "F1", "valid": True, "reason": "One node it is."},
        {"id": "F2", "valid": False, "reason": "We run two of them."},
    ]
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace, and a config whose [seats] names the roles of a protocol that rebut does not know."""
    (tmp_path / "infra.tf").write_text("nodes = 1\n")
    (tmp_path / "critic.json").write_text(json.dumps({"answers": {"causes@critic": {"json": CAUSES}}}))
    (tmp_path / "owner.json").write_text(json.dumps({"answers": {"rulings@owner": {"json": RULINGS}}}))
    seats = '[seats]\ncritic = "scripted:critic.json"\nowner = "scripted:owner.json"\n'
    (tmp_path / "config.toml").write_text(f'{seats}[egress]\nallow = ["scripted"]\n')
    return tmp_path


def rebut(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rebut", *words]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "REBUT_CONFIG": str(folder / "config.toml")}
    return forkserver.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_findings_a_gate_a_file_and_what_it_was_worth(folder: Path) -> None:
    done = rebut(folder, "run", str(PREMORTEM), "Keep sessions in Redis?", "--fail-on", "P1", "--context", "infra.tf")
    assert done.returncode == 1, done.stderr
    assert "F1" in done.stdout and "infra.tf:1" in done.stdout and "found" in done.stdout
    assert "GATE FAILED" in done.stdout.upper()
    assert "worth it?" in done.stdout
    session = json.loads(rebut(folder, "show", "last", "--json").stdout)
    assert [p["id"] for p in session["outcome"]["ledger"]["points"]] == ["F1", "F2"]
    [page] = (folder / ".local/state/rebut/sessions").glob("*/premortem.md")
    assert "- F1 P1 conceded: There is no replica." in page.read_text()


def test_a_gate_of_a_grave_finding_that_its_owner_refuted_passes(folder: Path) -> None:
    refuted = {"rulings": [{**r, "valid": False} for r in RULINGS["rulings"]]}
    (folder / "owner.json").write_text(json.dumps({"answers": {"rulings@owner": {"json": refuted}}}))
    done = rebut(folder, "run", str(PREMORTEM), "Keep sessions in Redis?", "--fail-on", "P1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_record_alone_is_judged_and_exported(folder: Path) -> None:
    assert rebut(folder, "run", str(PREMORTEM), "Keep sessions in Redis?").returncode == 0
    assert rebut(folder, "gate", "last", "--fail-on", "P1").returncode == 1
    assert rebut(folder, "gate", "last", "--fail-on", "P1", "--json").stdout
    log = json.loads(rebut(folder, "export", "last", "--format", "sarif").stdout)
    assert [r["level"] for r in log["runs"][0]["results"]][:1] == ["error"]


def test_a_gate_on_a_protocol_without_findings_is_refused_before_a_call(folder: Path) -> None:
    steelman = PREMORTEM.with_name("steelman.py")
    (folder / "config.toml").write_text("")
    seats = ("--seat", "owner=scripted:owner.json", "--seat", "skeptic=scripted:critic.json")
    done = rebut(folder, "run", str(steelman), "Redis?", *seats, "--fail-on", "P1")
    assert done.returncode == 2 and "does not end in findings" in done.stderr


def test_a_crash_at_any_call_changes_nothing() -> None:
    crash_at_every_call(PREMORTEM, {"causes@critic": CAUSES, "rulings@owner": RULINGS})
