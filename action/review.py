"""The step `Review` of the action: runs rebut, and writes the report, the step summary and the outputs.

Inputs come from the environment only. Everything that a pull request can choose (names, texts, findings) is written to
files, and to the log only by rebut, which escapes what a runner would take for a command.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OPTIONS = {
    "REBUT_CRITIC": "--critic",
    "REBUT_JUDGE": "--judge",
    "REBUT_FAIL_ON": "--fail-on",
    "REBUT_MAX_USD": "--max-usd",
    "REBUT_DEADLINE": "--deadline",
}
LONGEST_ERROR = 2000
LONGEST_SUMMARY = 900_000
"""Bytes; GitHub takes a megabyte."""


def main(env: Mapping[str, str] = os.environ) -> int:
    folder = Path(env["RUNNER_TEMP"]) / f"rebut-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700, parents=True)
    sarif, report = folder / "rebut.sarif", folder / "rebut.md"
    own = {**env, "REBUT_HOME": str(folder / "state"), "GITHUB_ACTIONS": "true"}
    ended = _rebut(own, ["review", *_base(env), *_options(env), "--sarif", str(sarif), "--github"])
    about = _properties(sarif)
    session, heading = str(about.get("session", "")), str(about.get("heading", ""))
    if about:
        repository = env.get("GITHUB_REPOSITORY", "")
        where = ["--repository", repository] if re.fullmatch(r"[\w.-]+/[\w.-]+", repository, re.ASCII) else []
        where += ["--site", env["GITHUB_SERVER_URL"]] if env.get("GITHUB_SERVER_URL") else []
        written = _rebut(own, ["export", str(sarif), "--format", "comment", *where], capture=True)
        text = written.stdout or f"### rebut: {heading or 'nothing to report'}\n"
        if written.returncode:
            text = _failure("the report could not be written", written.returncode, written.stderr)
    else:
        heading = "nothing was reviewed"
        text = _failure(heading, ended.returncode, ended.stderr)
    report.write_text(text, encoding="utf-8")
    if summary := env.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text.encode()[:LONGEST_SUMMARY].decode(errors="ignore") + "\n")
    _write_outputs(
        env,
        {
            "session": session,
            "heading": heading,
            "exit-code": str(ended.returncode if 0 <= ended.returncode < 256 else 1),
            "report": str(report),
            "sarif-file": str(sarif) if about else "",
        },
    )
    return 0


def _rebut(env: Mapping[str, str], words: list[str], *, capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Run rebut. Its output goes to the log, except for what is captured; its errors go to both."""
    command = [sys.executable, "-I", "-m", "rebut", *words]
    sys.stdout.flush()
    done = subprocess.run(
        command,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if capture else None,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    sys.stderr.write(done.stderr)
    sys.stderr.flush()
    return done


def _base(env: Mapping[str, str]) -> list[str]:
    """The base as the clone knows it: a branch of the pull request's repository is `origin/BRANCH` there."""
    base = env.get("REBUT_BASE", "")
    if not base:
        return []
    is_known = re.fullmatch(r"[0-9a-f]{40}|origin/.*|refs/.*", base)
    return ["--base", base if is_known else f"origin/{base}"]


def _options(env: Mapping[str, str]) -> list[str]:
    # As one word, so that no value can be read as another option.
    return [f"{flag}={env[name]}" for name, flag in OPTIONS.items() if env.get(name)]


def _properties(sarif: Path) -> dict[str, Any]:
    try:
        found = json.loads(sarif.read_text("utf-8"))["runs"][0]["properties"]
    except (OSError, ValueError, KeyError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


def _failure(what: str, code: int, said: str) -> str:
    text = said.strip()[-LONGEST_ERROR:]
    ticks = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"### rebut: {what}\n\nExit code {code}.\n\n{fence}text\n{text}\n{fence}\n"


def _write_outputs(env: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Write the outputs, each within a random delimiter, which no value can contain by intent."""
    if not (place := env.get("GITHUB_OUTPUT")):
        return
    with Path(place).open("a", encoding="utf-8") as file:
        for name, value in values.items():
            end = f"end-{secrets.token_hex(16)}"
            file.write(f"{name}<<{end}\n{value}\n{end}\n")


if __name__ == "__main__":
    sys.exit(main())
