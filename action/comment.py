"""The step `Comment` of the second action: one comment on the pull request, updated in place.

It runs after the workflow that reviewed, with a token that may write, so it trusts nothing of that workflow: which pull
request it is follows from the event and from GitHub's API, and the SARIF file is only text for `rebut export`.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARKER = "<!-- rebut -->"
AUTHOR = "github-actions[bot]"
LARGEST = 10_000_000
MOST_PAGES = 30
SECONDS = 30
WORDS = re.compile(r"[a-z_]{1,30}")


class NotPosted(Exception):
    """Why no comment is written. That is no failure: there may be nothing to comment on."""


def main(env: Mapping[str, str] = os.environ) -> int:
    try:
        _output(env, Comment(env).write())
    except NotPosted as why:
        print(f"no comment: {why}")
        _output(env, "")
    except urllib.error.HTTPError as error:
        hint = "; give this job the permission pull-requests: write" if error.code == 403 else ""
        print(f"GitHub answered {error.code} to {error.geturl().partition('?')[0]}{hint}", file=sys.stderr)
        return 1
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        print(f"GitHub could not be reached, or gave no JSON: {error}", file=sys.stderr)
        return 1
    return 0


class Comment:
    """The comment of one finished workflow run."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.repository, self.api = env["GITHUB_REPOSITORY"], env.get("GITHUB_API_URL", "https://api.github.com")
        self.site = env.get("GITHUB_SERVER_URL", "https://github.com")
        event = json.loads(Path(env["GITHUB_EVENT_PATH"]).read_text("utf-8"))
        self.run: dict[str, Any] = event.get("workflow_run") or {}

    def write(self) -> str:
        """Write the comment, or update it. Returns its address."""
        if self.run.get("event") != "pull_request":
            raise NotPosted("this is not the end of a workflow for a pull request")
        number = self._pull_request()
        report = self._report()
        old = self._own_comment(number)
        body = self._body(report, str(old["body"]) if old else "")
        if not body:
            raise NotPosted("there is nothing to say")
        if self._head(number) != self.run["head_sha"]:  # it may have been pushed to meanwhile
            raise NotPosted("the pull request has a newer commit")
        if old and old["body"].strip() == body.strip():
            return str(old["html_url"])
        at = f"issues/comments/{old['id']}" if old else f"issues/{number}/comments"
        return str(self._call("PATCH" if old else "POST", at, {"body": body})["html_url"])

    def _pull_request(self) -> int:
        """The open pull request whose head is the commit of this run. A fork's run does not name it."""
        owner = (self.run.get("head_repository") or {}).get("owner", {}).get("login", "")
        head = urllib.parse.quote(f"{owner}:{self.run.get('head_branch', '')}", safe="")
        found = self._call("GET", f"pulls?state=open&per_page=100&head={head}")
        numbers = [int(one["number"]) for one in found if one["head"]["sha"] == self.run["head_sha"]]
        if len(numbers) != 1:
            what = "no open pull request has" if not numbers else f"{len(numbers)} open pull requests have"
            raise NotPosted(f"{what} the head {self.run['head_sha']}")
        return numbers[0]

    def _head(self, number: int) -> str:
        return str(self._call("GET", f"pulls/{number}")["head"]["sha"])

    def _own_comment(self, number: int) -> dict[str, Any] | None:
        """The comment that this workflow wrote before. A comment of another user is never taken for it."""
        for page in range(1, MOST_PAGES + 1):
            found = self._call("GET", f"issues/{number}/comments?per_page=100&page={page}")
            for one in found:
                if (one.get("user") or {}).get("login") == AUTHOR and str(one.get("body", "")).startswith(MARKER):
                    return dict(one)
            if len(found) < 100:
                return None
        return None

    def _report(self) -> Path:
        """The SARIF file, as a copy: the artifact may have a link or something else in its place."""
        file = Path(self.env["REBUT_SARIF_FILE"])
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise NotPosted(f"the review left no SARIF file ({error.strerror})") from error
        with os.fdopen(handle, "rb") as opened:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise NotPosted("what the review left as SARIF is no file")
            data = opened.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise NotPosted("the SARIF file is too large")
        copy = Path(self.env["RUNNER_TEMP"]) / f"rebut-{secrets.token_hex(8)}.sarif"
        copy.write_bytes(data)
        return copy

    def _body(self, report: Path, old: str) -> str:
        words = [
            "export",
            str(report),
            "--format",
            "comment",
            "--repository",
            self.repository,
            "--commit",
            self.run["head_sha"],
        ]
        words += ["--site", self.site]
        previous = report.with_suffix(".md")
        if old:
            previous.write_text(old, encoding="utf-8")
            words += ["--previous", str(previous)]
        env = {**self.env, "REBUT_HOME": str(report.with_suffix(".state"))}
        env.pop("REBUT_TOKEN", None)
        done = subprocess.run(
            [sys.executable, "-I", "-m", "rebut", *words], env=env, capture_output=True, text=True, errors="replace"
        )
        if done.returncode:
            raise NotPosted(f"the SARIF file cannot be read: {done.stderr.strip()[:300]}")
        if not done.stdout.strip():
            return ""
        ended = str(self.run.get("conclusion", ""))
        ended = ended if WORDS.fullmatch(ended) else "unknown"
        run = f"{self.site}/{self.repository}/actions/runs/{int(self.run['id'])}"
        return f"{done.stdout.rstrip()}\n<sub>[workflow run]({run}): {ended}</sub>\n"

    def _call(self, method: str, path: str, data: Mapping[str, str] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.api}/repos/{self.repository}/{path}",
            method=method,
            data=json.dumps(data).encode() if data is not None else None,
            headers={
                "Authorization": f"Bearer {self.env['REBUT_TOKEN']}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": "rebut",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read(LARGEST))


def _output(env: Mapping[str, str], address: str) -> None:
    if place := env.get("GITHUB_OUTPUT"):
        end = f"end-{secrets.token_hex(16)}"
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(f"comment<<{end}\n{address}\n{end}\n")


if __name__ == "__main__":
    sys.exit(main())
