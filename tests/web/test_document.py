"""The exported file: one file that loads nothing, without what nobody cited, and not much larger than the journal."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import console
import crosses
import duels
import pytest
from recorded import FOLDERS, NAMES, copied, prompts_of, secrets_of, taken, written
from repositories import commit

import rebut
from rebut.cli.debated_versions import debated_versions
from rebut.record import sessions
from rebut.web import assets
from rebut.web.document import document, page
from rebut.workspace.targets.target import Wanted

PAGE = sum(path.stat().st_size for path in (Path(assets.__file__).parent / "page").iterdir())
MARKER = "hidden_in_the_context"


def exported(folder: Path, **flags: Any) -> str:
    return asyncio.run(document(folder, debated_versions, **flags))


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="debate">(.*?)</script>', html, re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_a_recorded_session_is_exported_without_keys_and_prompts(folder: Path, tmp_path: Path) -> None:
    html = exported(copied(folder, tmp_path))
    record = taken(folder)[0].record
    text = written(data_of(html))
    for secret in secrets_of(record):
        assert secret not in html
    for prompt in prompts_of(record):
        assert written(prompt)[1:-1] not in text
    assert len(html.encode()) <= 1.3 * (PAGE + (folder / "journal.jsonl").stat().st_size)


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_with_prompts_it_has_every_prompt_and_still_no_key(folder: Path, tmp_path: Path) -> None:
    html = exported(copied(folder, tmp_path), prompts=True)
    record = taken(folder)[0].record
    text = written(data_of(html))
    assert all(written(prompt)[1:-1] in text for prompt in prompts_of(record))
    assert not any(secret in html for secret in secrets_of(record))


def test_the_policy_allows_exactly_the_script_and_the_style_inside(workspace: Path) -> None:
    html = exported(sessions.home() / duels.duel(workspace).session)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy and policy[1].startswith("default-src 'none'; ")
    for tag, name in (('<script type="module">', "script"), ("<style>", "style")):
        body = re.search(rf"{tag}(.*?)</{name}>", html, re.S)
        assert body
        hashed = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{hashed}';" in policy[1]
    assert "require-trusted-types-for 'script'" in policy[1] and "unsafe" not in policy[1]
    assert html.index("Content-Security-Policy") < html.index("<script") and "src=" not in html.split("<script")[0]


def test_it_names_no_file_of_the_server(workspace: Path) -> None:
    html = exported(sessions.home() / duels.duel(workspace).session)
    assert "/app.js" not in html and "/style.css" not in html and '<script type="module" src' not in html


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "\u2028\u2029", "&lt;b&gt;", "\udc80", "\0"]
)
def test_a_text_cannot_end_the_element_that_it_is_in(text: str) -> None:
    html = page({"frames": [{"seq": 1, "topic": text}]})
    before, _, after = html.partition('id="debate">')
    inside = after.partition("</script>")[0]
    assert not re.search(r"[<>&\u2028\u2029]", inside)
    html.encode("utf-8")
    said = json.loads(inside)["frames"][0]["topic"]
    assert said == text.encode("utf-8", "replace").decode()
    assert before.count("<script") == 1  # the one that the text is in


def test_a_file_that_was_read_and_not_cited_stays_out(workspace: Path) -> None:
    (workspace / "notes.md").write_text(f"{MARKER}\n")
    lines = "".join(f"more_{n} = {n}\n" for n in range(1, 40))
    (workspace / "src/other.py").write_text(f"first = 1\n{lines}{MARKER} = 2\n")
    commit(workspace, "more")
    claim = {"text": "It begins with one.", "evidence": [duels.cite("src/other.py:1", "first = 1")]}
    said = {"r1/opening@proposer": duels.opening(claims=[claim])}
    outcome = duels.duel(workspace, said, context=("notes.md", "src/other.py"))
    folder = sessions.home() / outcome.session
    assert MARKER in (folder / "journal.jsonl").read_text(), "the test needs a session that read it"
    html = exported(folder)
    assert MARKER not in html and "first = 1" in html
    assert MARKER not in written(taken(folder)[1])  # type: ignore[arg-type]
    assert MARKER in exported(folder, prompts=True)


def test_hunks_that_no_finding_cites_stay_out(shop: Path) -> None:
    middle = "".join(f"more_{n} = {n}\n" for n in range(40))
    (shop / "api/other.py").write_text("def other():\n    return 1\n")
    (shop / "api/orders.py").write_text(f"{crosses.BEFORE}{middle}last = 1\n")
    commit(shop, "two")
    (shop / "api/other.py").write_text(f"def other():\n    return '{MARKER}'\n")
    (shop / "api/orders.py").write_text(f"{crosses.AFTER}{middle}last = '{MARKER}'\n")
    said = {"r1/critique@critic": crosses.critique(crosses.raised()), "r1/judgement@judge": crosses.judgement("E")}
    folder = sessions.home() / crosses.review(shop, said, rounds=1).session
    html = exported(folder)
    [target] = [frame["target"] for frame in data_of(html)["frames"] if "target" in frame]
    shown = {file["path"]: [hunk[2] is not None for hunk in file["hunks"]] for file in target["files"]}
    assert shown == {"api/orders.py": [True, False], "api/other.py": [False]}
    assert MARKER not in html and MARKER in exported(folder, prompts=True)


def test_a_reviewed_text_stays_out_but_for_what_is_cited(shop: Path) -> None:
    text = (
        crosses.PROPOSAL + "\n## Appendix\n\n" + "\n\n".join(f"Paragraph {n}." for n in range(30)) + f"\n\n{MARKER}\n"
    )
    raised = crosses.raised("A replica is needed.", "## Cost")
    raised["evidence"] = [duels.cite("## Cost", "A replica is not needed.")]
    said = {"r1/critique@critic": crosses.proposal(raised), "r1/judgement@judge": crosses.judgement("E")}
    outcome = crosses.review(shop, said, Wanted("proposal", content=text), rounds=1)
    html = exported(sessions.home() / outcome.session)
    assert MARKER not in html and "A replica is not needed." in html


def test_a_fork_has_its_parent_beside_it(tmp_path: Path) -> None:
    [fork] = [folder for folder in FOLDERS if "duel-fork/" in str(folder) and taken(folder)[1][0].get("forked_from")]
    for folder in fork.parent.iterdir():
        copied(folder, tmp_path)
    data = data_of(exported(tmp_path / "sessions" / fork.name))
    assert data["parent"]["parent"] == taken(fork)[1][0]["forked_from"] and len(data["parent"]["columns"]) == 2


# through the command


def test_export_writes_the_file_and_does_not_replace_one(workspace: Path) -> None:
    duels.duel(workspace)
    done = console.piped("export", "last", "--format", "html", "-o", "out.html", cwd=workspace)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    html = (workspace / "out.html").read_text()
    assert html.startswith("<!doctype html>") and data_of(html)["frames"][0]["topic"] == duels.TOPIC
    again = console.piped("export", "last", "--format", "html", "-o", "out.html", cwd=workspace)
    assert again.returncode == 2 and "already exists" in again.stderr


def test_export_prints_the_same_file_unchanged(workspace: Path) -> None:
    topic = "Should <b>this</b> stay, \u202e or \x1b[31mnot?"
    rebut.run("duel", topic, rounds=2, **duels.seats(workspace))
    console.piped("export", "last", "--format", "html", "-o", "out.html", cwd=workspace)
    printed = console.piped("export", "last", "--format", "html", cwd=workspace).stdout
    assert printed.rstrip("\n") == (workspace / "out.html").read_text().rstrip("\n")
