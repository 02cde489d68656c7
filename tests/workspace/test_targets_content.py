"""What enters a target and what is left out of it: binaries, submodules, secrets, large files, rebut's own output."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import crosses
import pytest
from repositories import commit, git, new, submodule
from targeting import applies, changed, paths, refused, target

import rebut
from rebut.api import Setup
from rebut.core.errors import NothingRead
from rebut.core.redaction import Redactor
from rebut.workspace.file_reader import WorkingTree
from rebut.workspace.targets.git_change import BETWEEN, redact_all
from rebut.workspace.targets.target import Wanted


def put(repo: Path, name: str, data: str | bytes = "x = 1\n") -> None:
    place = repo / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data if isinstance(data, bytes) else data.encode())


def test_a_binary_file_is_named_and_its_bytes_are_not_shown(repo: Path) -> None:
    # J2
    put(repo, "logo.png", b"\x89PNG\0\1\2")
    put(repo, "old.bin", b"\0old")
    commit(repo)
    put(repo, "logo.png", b"\x89PNG\0\3\4")
    put(repo, "fresh.bin", b"\0\1")
    (repo / "old.bin").unlink()
    put(repo, "a.py")
    found = target(repo, "uncommitted")
    assert paths(found) == ["a.py"]
    assert found.left_out == ("fresh.bin: binary", "logo.png: binary", "old.bin: binary")
    assert "Binary files a/logo.png and b/logo.png differ\n" in found.diff
    assert "new file mode 100644\nBinary files /dev/null and b/fresh.bin differ\n" in found.diff
    assert "Binary files a/old.bin and /dev/null differ\n" in found.diff


@pytest.mark.parametrize(("name", "code"), [("logo.png", 0), ("run.bin", 3)])
def test_only_binary_files_are_no_target(repo: Path, name: str, code: int) -> None:
    # J2 C17
    put(repo, name, b"\x89PNG\0\1\2")
    with pytest.raises(NothingRead, match="nothing") as raised:
        target(repo, "uncommitted")
    assert f"{name}: binary" in raised.value.hint and raised.value.exit_code == code


def test_a_submodule_is_told_and_never_entered(repo: Path) -> None:
    # J2
    inner = submodule(repo, {"x.py": "x = 1\n"})
    old = git(inner, "rev-parse", "HEAD")
    put(inner, "x.py", "y = 2\n")
    assert "no change" in refused(repo, "uncommitted")  # what is dirty inside is the submodule's own affair
    commit(inner)
    put(repo, "a.py")
    found = target(repo, "uncommitted")
    assert paths(found) == ["a.py"]
    assert found.left_out == (f"inner: a submodule, moved from commit {old[:12]}; what is inside it is not read",)
    assert "a submodule, added" in refused(repo, "commit:HEAD")


def test_a_repository_inside_that_is_no_submodule_is_named(repo: Path) -> None:
    # J2
    new(repo / "loose", {"y.py": "y = 1\n"})
    put(repo, "a.py")
    found = target(repo, "uncommitted")
    assert found.left_out == ("loose/: a repository of its own",) and paths(found) == ["a.py"]


OWN = (
    "review-loop/debate-20260102-030405-77/summary.md",
    ".kiln/tracks/phase-1/plan.md",
    "debates/001-redis/state.json",
    "debate/last-debate.json",
)


def test_rebuts_own_output_is_no_part_of_a_change(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # J2
    monkeypatch.setenv("REBUT_HOME", str(repo.resolve() / "state"))
    for name in (*OWN, "state/sessions/k7m2q9xd/journal.jsonl"):
        put(repo, name, "own\n")
    assert "rebut's own output (5 files)" in refused(repo, "uncommitted")
    # Code in folders of these names is a project's own, and a change cannot hide there.
    mine = ["debates/001-redis/views.py", "debates/models.json", "review-loop/main.md"]
    for name in mine:
        put(repo, name)
    assert paths(target(repo, "uncommitted")) == mine


def test_files_that_are_never_sent_are_told_and_not_read(repo: Path) -> None:
    # J2 C16
    put(repo, ".env", "PASSWORD=hunter2\n")
    put(repo, "deploy/id_rsa", "key\n")
    put(repo, "secret plans/a.md", "a\n")
    assert ".env: never read" in refused(repo, "uncommitted", never=("secret plans",))
    put(repo, "a.py")
    found = target(repo, "uncommitted", never=("secret plans",))
    assert paths(found) == ["a.py"]
    assert [line.partition(":")[0] for line in found.left_out] == [".env", "deploy/id_rsa", "secret plans/a.md"]


def test_a_file_renamed_away_from_a_secret_name_stays_out(repo: Path) -> None:
    # C16
    put(repo, "prod.env", "".join(f"A{n}=b{n}\n" for n in range(30)))
    commit(repo)
    git(repo, "mv", "prod.env", "harmless.txt")
    assert "harmless.txt: never read" in refused(repo, "uncommitted")


def test_secrets_go_from_both_sides_and_from_the_diff_at_the_same_lines(repo: Path, tmp_path: Path) -> None:
    # C8 J2
    put(repo, "conf.py", "a = 1\npw = 'hunter2'\nb = 2\n")
    commit(repo)
    put(repo, "conf.py", "a = 1\npw = 'hunter2'\nb = 2\nmore = 'hunter2'\n")
    found = target(repo, "uncommitted")
    conf = changed(found, "conf.py")
    assert conf.before == "a = 1\npw = '[secret:x:00000000]'\nb = 2\n" and conf.added == ((4, 4),)
    assert "+more = '[secret:x:00000000]'" in found.diff and " pw = '[secret:x:00000000]'" in found.diff
    applies(found, tmp_path / "apply")


def test_a_secret_in_a_name_is_not_shown(repo: Path) -> None:
    # C8
    put(repo, "hunter2.py")
    found = target(repo, "uncommitted")
    assert paths(found) == ["[secret:x:00000000].py"] and "hunter2" not in str(found)


def test_the_body_of_a_key_is_removed_even_where_the_diff_shows_only_its_middle(repo: Path, tmp_path: Path) -> None:
    # C8
    import asyncio

    from rebut.workspace.targets.resolve import resolve
    from rebut.workspace.targets.target import Wanted

    kind = "RSA PRIVATE KEY"
    body = [f"MIIEow{n:02d}" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123" for n in range(20)]

    def key(lines: list[str]) -> str:
        return "\n".join(["x = 1", f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", "y = 2", ""])

    put(repo, "cert.txt", key(body))
    commit(repo)
    put(repo, "cert.txt", key([*body[:10], "MIIEowZZ" + body[10][8:], *body[11:]]))
    found = asyncio.run(resolve(repo, Wanted(scope="uncommitted"), Redactor(b"k" * 32).redact))
    assert "MIIEow" not in str(found.to_json())
    assert "[secret:private-key:" in found.diff and found.diff.count("\n@@ ") == 1


def test_a_redaction_that_changes_the_number_of_lines_still_gives_a_true_diff(repo: Path, tmp_path: Path) -> None:
    # J2
    import asyncio

    from rebut.workspace.targets.resolve import resolve
    from rebut.workspace.targets.target import Wanted

    put(repo, "mac.txt", b"a\rb\rc\nlast\n")
    commit(repo)
    put(repo, "mac.txt", b"a\rB\rc\nlast\n")
    found = asyncio.run(resolve(repo, Wanted(), lambda text: text.replace("\r", "\n")))
    assert found.changes[0].added == ((2, 2),)
    applies(found, tmp_path / "apply")


def test_texts_are_redacted_together_only_where_none_can_speak_for_another() -> None:
    # C8
    calls: list[str] = []

    def redact(text: str) -> str:
        calls.append(text)
        return text.replace("hunter2", "[x]")

    plain = [f"text {n} hunter2" for n in range(5)]
    assert redact_all(plain, redact) == {text: text.replace("hunter2", "[x]") for text in plain} and len(calls) == 1
    calls.clear()
    forged = [f"a{BETWEEN}b", "-----BEGIN", "c"]
    assert redact_all(forged, redact) == {text: text for text in forged} and len(calls) == 3

    def greedy(text: str) -> str:  # swallows the line between
        return text.split("\n")[0]

    assert redact_all(["a\nb", "c\nd"], greedy) == {"a\nb": "a", "c\nd": "c"}


def test_files_beyond_the_caps_are_told(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # J2
    put(repo, "was.txt", "x\n" * 500_001)
    commit(repo)
    put(repo, "was.txt", "small\n")
    put(repo, "big.txt", "x" * 1_000_001)
    put(repo, "a.txt", "1234567\n")
    put(repo, "b.txt", "7654321\n")
    monkeypatch.setattr("rebut.workspace.targets.git_change.CHANGE_CAP", 30)
    found = target(repo, "uncommitted")
    assert paths(found) == ["a.txt", "b.txt"]
    assert found.left_out == ("big.txt: larger than 1 MB", "was.txt: larger than 1 MB")
    monkeypatch.setattr("rebut.workspace.targets.git_change.CHANGE_CAP", 10)
    assert "b.txt: beyond the" in " ".join(target(repo, "uncommitted").left_out)
    commit(repo)
    assert "b.txt: beyond the" in " ".join(target(repo, "commit:HEAD").left_out)


def test_what_is_no_utf8_is_replaced_and_told(repo: Path) -> None:
    # J2
    put(repo, "latin.txt", b"caf\xe9\n")
    (repo / os.fsdecode(b"na\xefve.txt")).write_text("x\n")
    found = target(repo, "uncommitted")
    assert paths(found) == ["latin.txt", "na�ve.txt"]
    assert changed(found, "latin.txt").after == "caf�\n"
    assert found.notes == ("latin.txt: not UTF-8: what could not be read is replaced",)
    commit(repo)
    put(repo, os.fsdecode(b"na\xefve.txt"), "x\ny\n")
    assert changed(target(repo, "uncommitted"), "na�ve.txt").added == ((2, 2),)


def test_a_conflict_is_shown_with_its_marks_and_told(repo: Path) -> None:
    # J2
    git(repo, "checkout", "-q", "-b", "other")
    put(repo, "README.md", "# Other\n")
    commit(repo)
    git(repo, "checkout", "-q", "main")
    put(repo, "README.md", "# Mine\n")
    commit(repo)
    with pytest.raises(AssertionError):
        git(repo, "merge", "-q", "other")
    found = target(repo, "uncommitted")
    assert "<<<<<<< HEAD" in (changed(found, "README.md").after or "")
    assert found.notes == ("README.md: has unresolved conflicts",)


def test_a_folder_that_became_a_link_does_not_lead_outside(repo: Path, tmp_path: Path) -> None:
    # J2 C16
    put(tmp_path, "elsewhere/cache.py", "stolen\n")
    (repo / "src/cache.py").unlink()
    (repo / "src").rmdir()
    (repo / "src").symlink_to(tmp_path / "elsewhere")
    found = target(repo, "uncommitted")
    assert "stolen" not in str(found.to_json())
    assert changed(found, "src/cache.py").after is None
    assert changed(found, "src").after == str(tmp_path / "elsewhere")
    assert WorkingTree(repo).read("src/cache.py") is None  # also if git had not seen it


@pytest.mark.parametrize("how", ["file", "parent"])
def test_a_named_file_is_read_without_following_a_link_out_of_the_tree(repo: Path, tmp_path: Path, how: str) -> None:
    # J2 C16
    put(tmp_path, "elsewhere/diary.txt", "private\n")
    (repo / "link").symlink_to(tmp_path / "elsewhere" / ("diary.txt" if how == "file" else ""))
    path = "link" if how == "file" else "link/diary.txt"
    for given in ({"scope": f"file:{path}"}, {"artifact_file": path}, {"context_file": path}):
        assert "link that leads out" in refused(repo, **given)


def test_an_ignored_file_is_taken_when_it_is_named(repo: Path) -> None:
    # J2
    put(repo, "build/out.py", "out = 'hunter2'\n")
    found = target(repo / "src", "file:../build/out.py")
    assert (paths(found), found.kind, found.confidence) == (["build/out.py"], "code", "high")
    assert found.changes[0].after == "out = '[secret:x:00000000]'\n" and found.diff.startswith("diff --git a/build/out")


def test_a_file_that_became_a_pipe_is_not_waited_for(repo: Path) -> None:
    # J2
    (repo / "README.md").unlink()
    os.mkfifo(repo / "README.md")
    put(repo, "a.py")
    found = target(repo, "uncommitted")
    assert paths(found) == ["a.py"] and found.left_out == ("README.md: not a regular file",)
    assert "no file README.md" in refused(repo, "file:README.md")


# at the door of a session


def test_files_that_were_read_for_a_session_are_searched_for_secrets_once_and_altered_ones_again(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C8
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (repo / "src/cache.py").write_text(f'TOKEN = "{token}"\nvalue = 1\n')
    said = {"r1/critique@critic": crosses.critique()}
    sat = crosses.seats(repo.parent / "seats", said)
    looked: list[str] = []
    redact = Redactor.redact

    def watched(self: Redactor, text: str) -> str:
        looked.append(text)
        return redact(self, text)

    async def run(alter: bool) -> str:
        setup = Setup(workspace=repo)
        target, key = await setup.resolve(Wanted(scope="uncommitted"))
        if alter:
            bad = replace(target.changes[0], after=f"{target.changes[0].after}# {token}\n")
            target = replace(target, changes=(bad,))
        looked.clear()
        await rebut.start("cross", setup=setup, target=target, redaction=key, **sat)
        return (setup.find("last") / "journal.jsonl").read_text()

    monkeypatch.setattr(Redactor, "redact", watched)
    record = asyncio.run(run(alter=False))
    assert token not in record and "[secret:" in record
    assert not any(text.startswith("TOKEN = ") and "[secret:" in text for text in looked)
    assert token not in asyncio.run(run(alter=True)), "what anybody made by hand passes the door"
