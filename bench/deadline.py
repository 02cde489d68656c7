"""Deadlines: twenty commands of which one model hangs, each in another phase; how late the process has ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.places import own_home
from bench.table import Row

ROOT = Path(__file__).parent.parent
SECONDS = 3
DUEL = (
    "r1/opening@proposer",
    "r1/challenge@challenger",
    "r2/defense@proposer",
    "r2/follow-up@challenger",
    "verdict@judge",
)
ASK = ("answer@proposer", "answer@challenger", "comparison@judge", "r1/challenge@challenger")
CROSS = ("r1/critique@critic", "r1/judgement@judge", "r1/version.text@judge", "r2/critique@critic")
PANEL = (
    *("opening/personas@judge", "opening/position@lead", "r1/challenge@challenger.2"),
    *("r2/confront@lead", "r2/rebuttal@challenger.1"),
)


def rows() -> list[Row]:
    # Where what models say in tests is written down.
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "protocols")]
    with own_home() as workspace:
        late = [_late(workspace, n, *command) for n, command in enumerate(_commands(workspace))]
    in_time = sum(one <= 0 for one in late)
    return [
        Row(f"deadline of {SECONDS} s: late by, at worst of {len(late)}", max(0.0, *late) * 1000, "ms"),
        Row(f"  in time, of {len(late)}", in_time, "", len(late)),
        Row("  the nearest to it, before", min(abs(one) for one in late) * 1000, "ms"),
    ]


def _late(workspace: Path, n: int, words: list[str], env: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "rebut", *words, "--deadline", str(SECONDS), "--json"],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    took = time.perf_counter() - began
    told = json.loads(done.stdout)
    if done.returncode != 5 or told["complete"] or not told["basis"]:
        raise RuntimeError(f"{words[:2]}: no partial result: {done.returncode} {told} {done.stderr.decode()}")
    return took - SECONDS


def _commands(workspace: Path) -> list[tuple[list[str], dict[str, str]]]:
    import crosses
    import duels
    import panels
    import test_ask

    out: list[tuple[list[str], dict[str, str]]] = []
    folder = workspace.parent

    def hang(said: dict[str, Any], key: str, name: str) -> str:
        return duels.script(folder / f"{name}-{len(out)}.json", said | {key: {"hang": True}}, model=name)

    for key in DUEL:
        seats = [
            w for role in ("proposer", "challenger", "judge") for w in (f"--{role}", hang(duels.answers(2), key, role))
        ]
        out.append((["duel", "Redis?", *seats], {}))
    for key in ASK:
        who = [hang(test_ask.said(same=False), key, role) for role in ("proposer", "challenger", "judge")]
        out.append((["ask", "Redis?", "--with", ",".join(who)], {}))
    finding = crosses.raised("No replica.", "§ Cost", evidence=[duels.cite("§ Cost", "A replica is not needed.")])
    review = {
        "r1/critique@critic": crosses.proposal(finding),
        "r1/judgement@judge": crosses.judgement("C", {"F1": "valid P1"}),
        "r1/version.text@judge": crosses.text("# Design\n\nOther.\n"),
        "r2/critique@critic": crosses.proposal(),
    }
    (workspace / "PLAN.md").write_text(crosses.PROPOSAL)
    for key in CROSS:
        seats = [w for role in ("critic", "judge") for w in (f"--{role}", hang(review, key, role))]
        out.append((["cross", "--artifact-file", "PLAN.md", "--target", "proposal", *seats], {}))
    for key in PANEL:
        seats = panels.seats(folder / f"panel-{len(out)}", panels.tradeoff(2) | {key: {"hang": True}})
        words = ["--lead", seats["lead"], "--judge", seats["judge"], "--max-rounds", "2"]
        out.append((["panel", "Redis?", *words, *(w for s in seats["challenger"] for w in ("--challenger", s))], {}))
    out.append((["duel", "Redis?", "--proposer", "deaf", *out[1][0][4:]], _deaf(folder)))
    out.append((["duel", "Redis?", "--proposer", "silent:m", *out[1][0][4:]], _silent(folder)))
    return out


def _deaf(folder: Path) -> dict[str, str]:
    """A command-line tool that never answers, and ignores the gentle signal."""
    tool = folder / "bin/deaf"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n")
    tool.chmod(0o755)
    config = folder / "deaf.toml"
    config.write_text('[tools.deaf]\nargs = []\noutput = { form = "json", text = { take = "answer" } }\n')
    return {"PATH": f"{tool.parent}:{os.environ['PATH']}", "REBUT_CONFIG": str(config)}


def _silent(folder: Path) -> dict[str, str]:
    """A server that takes the question and says nothing: a socket that nobody reads."""
    import socket

    listening = socket.create_server(("127.0.0.1", 0), backlog=8)
    _kept.append(listening)
    config = folder / "silent.toml"
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    config.write_text(f'[providers.silent]\nwire = "openai"\nbase_url = "{url}"\n')
    return {"REBUT_CONFIG": str(config)}


_kept: list[object] = []
