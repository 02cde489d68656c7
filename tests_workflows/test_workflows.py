"""Both workflows for pull requests, run by act, and both hooks, run by pre-commit: the real programs.

The steps install rebut with pip, from wherever pip is set up to find packages. GitHub itself is replaced: its API by a
server on the loopback address, and the actions that check out and that store artifacts by small ones of our own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from repositories import commit, git, new
from test_pull_requests import NAMES, ROOT, GitHub, harmless

BIN = Path(sys.executable).parent
PINNED = {
    "checkout": "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683",
    "upload": "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02",
    "download": "actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093",
}
STEPS = {
    "checkout": 'git clone -q "$CLONE_FROM" . && git checkout -q "$INPUT"',
    "upload": 'cp "$INPUT" "$ARTIFACTS/rebut.sarif"',
    "download": 'mkdir -p "$INPUT" && cp "$ARTIFACTS/rebut.sarif" "$INPUT/rebut.sarif"',
}
SECONDS = 900


def run(*words: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    around = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=around | {"PATH": f"{BIN}:/usr/bin:/bin"} | env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


# act


@pytest.fixture
def github() -> Iterator[Any]:
    class Own(GitHub):
        address = ""

    Own.pulls, Own.comments, Own.seen = [], [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    Own.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Own
    server.shutdown()
    thread.join()
    server.server_close()


def stand_ins(folder: Path) -> None:
    """Actions in the place of those that need GitHub."""
    for name, step in STEPS.items():
        given = "ref" if name == "checkout" else "path"
        inputs = {"ref", "fetch-depth", "persist-credentials", "name", "path", "run-id", "github-token"}
        rows = "".join(f"  {one}: {{required: false, description: x}}\n" for one in sorted(inputs))
        (folder / name).mkdir(parents=True)
        (folder / name / "action.yml").write_text(
            f"name: {name}\ndescription: stands in\ninputs:\n{rows}"
            "runs:\n  using: composite\n  steps:\n    - shell: bash\n"
            f"      env:\n        INPUT: ${{{{ inputs.{given} }}}}\n      run: {json.dumps(step)}\n"
        )


def act(shop: Path, home: Path, name: str, event: dict[str, Any], file: str, **env: str) -> Any:
    there = shop.parent
    (there / "event.json").write_text(json.dumps(event))
    words: list[str | Path] = [BIN / "act", name, "-W", f".github/workflows/{file}", "-P", "ubuntu-latest=-self-hosted"]
    words += ["-e", there / "event.json", "--pull=false", "-s", "GITHUB_TOKEN=test-token"]
    words += ["--local-repository", f"OWNER/rebut@{'0' * 40}={home}"]
    for kind, pinned in PINNED.items():
        words += ["--local-repository", f"{pinned}={there / 'actions' / kind}"]
    for key, value in {"ARTIFACTS": str(there / "artifacts"), "CLONE_FROM": str(there / "origin"), **env}.items():
        words += ["--env", f"{key}={value}"]
    return run(*words, cwd=shop)


def test_both_workflows_review_a_hostile_pull_request_and_write_one_comment(
    tmp_path: Path, home: Path, github: Any
) -> None:
    origin = new(tmp_path / "origin", {"README.md": "# Shop\n"})
    flows = origin / ".github/workflows"
    flows.mkdir(parents=True)
    for file in (ROOT / "examples/pull-requests").glob("*.yml"):
        (flows / file.name).write_text(file.read_text())
    commit(origin)
    git(origin, "branch", "-m", "main")
    shop = tmp_path / "shop"
    git(tmp_path, "clone", "-q", str(origin), str(shop))
    git(shop, "remote", "set-url", "origin", "https://github.com/me/shop")  # act reads the repository's name there
    git(origin, "checkout", "-q", "-b", "feature")
    for name in NAMES:
        (origin / name).write_text(
            "# ::set-output name=x::y </details> @team ![x](https://evil/x.png)\nprint(undefined)\n"
        )
    (origin / "venv.py").write_text("raise SystemExit('imported from the pull request')\n")
    head = commit(origin, "::error::title %0A @team")
    stand_ins(tmp_path / "actions")
    (tmp_path / "artifacts").mkdir()
    pull = {"title": "$(touch pwned) ::error:: @team", "head": {"sha": head, "ref": "feature"}, "base": {"ref": "main"}}
    done = act(shop, home, "pull_request", {"pull_request": {**pull, "number": 7}}, "review.yml")
    said = done.stdout + done.stderr
    assert "::set-output:: exit-code=1" in said and f"heading={len(NAMES)} problems to fix" in said, said[-3000:]
    assert done.returncode == 1 and "Failure - Main Gate" in said, "the gate fails the job"
    assert "Success - Main actions/upload-artifact" in said, "and the report is stored nevertheless"
    assert not [*tmp_path.rglob("pwned")]

    github.pulls.append({"number": 7, "head": {"sha": head, "label": "stranger:feature"}})
    owner = {"full_name": "stranger/shop", "owner": {"login": "stranger"}}
    ended = {"id": 99, "event": "pull_request", "head_sha": head, "head_branch": "feature", "conclusion": "failure"}
    event = {"action": "completed", "workflow_run": {**ended, "head_repository": owner}}
    done = act(shop, home, "workflow_run", event, "review-comment.yml", GITHUB_API_URL=github.address)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    [one] = github.comments
    harmless(one["body"])
    assert f"**Gate failed**: {len(NAMES)} findings" in one["body"]
    assert [method for method, _ in github.seen if method != "GET"] == ["POST"]


# pre-commit


def test_pre_commit_runs_both_hooks_on_what_is_staged(tmp_path: Path, home: Path) -> None:
    shop = new(tmp_path / "shop", {"pay.py": "def pay(order):\n    return order\n", "PLAN.md": "See pay.py:1.\n"})
    (shop / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {home}\n    rev: {git(home, 'rev-parse', 'HEAD')}\n"
        "    hooks:\n      - id: rebut-check\n      - id: rebut-review\n"
    )
    commit(shop)
    kept = {"PRE_COMMIT_HOME": str(tmp_path / "hooks"), "HOME": str(tmp_path)}

    def hooks(*words: str) -> subprocess.CompletedProcess[str]:
        return run(BIN / "pre-commit", "run", "--color", "never", *words, cwd=shop, **kept)

    whole = hooks("--all-files")
    assert whole.returncode == 0 and whole.stdout.count("Passed") == 2, whole.stdout + whole.stderr
    (shop / "PLAN.md").write_text('See pay.py:2 "return charged" and gone.py:7.\n')
    (shop / "pay.py").write_text("def pay(order):\n    return charged(order)\n")
    git(shop, "add", "-A")
    done = hooks()
    assert done.returncode == 1 and done.stdout.count("Failed") == 2, done.stdout + done.stderr
    assert "absent" in done.stdout and "gone.py:7" in done.stdout
    assert "pay.py:2  P1" in done.stdout and "GATE FAILED" in done.stdout
    (shop / "PLAN.md").write_text("See pay.py:2.\n")
    (shop / "pay.py").write_text("def pay(order):\n    return order, 1\n")
    git(shop, "add", "-A")
    (shop / "pay.py").write_text("def pay(order):\n    return undefined(order)\n")  # not staged
    done = hooks()
    assert done.returncode == 0 and done.stdout.count("Passed") == 2, done.stdout + done.stderr
    (shop / "NEWS.txt").write_text("news\n")
    git(shop, "checkout", "-q", "--", "pay.py")
    commit(shop, "two")
    (shop / "NEWS.txt").write_text("more\n")
    git(shop, "add", "-A")
    assert hooks().stdout.count("Skipped") == 2, "nothing here is for them"
