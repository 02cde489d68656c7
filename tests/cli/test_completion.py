"""Completion in zsh and fish themselves; `.ci/run` installs both where it may."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from pathlib import Path

import pytest
from console import REBUT

LOOK = """
PATH=$BIN:$PATH PS1=ready
autoload -Uz compinit && compinit -D -u
source <(rebut config completion zsh)
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  print -rl -- $hits >> $OFFERED
  builtin compadd "$@"
}
look() { zle list-choices; exit }
zle -N look
bindkey '^T' look
"""
"""Writes down what zsh would offer: only within its line editor does it complete at all."""


SILENCE = 60.0
"""Seconds without a word from a shell after which it is given up."""


def zsh(line: str, folder: Path) -> set[str]:
    (folder / ".zshrc").write_text(LOOK)
    offered = folder / "offered"
    env = {**os.environ, "ZDOTDIR": str(folder), "BIN": str(Path(REBUT).parent), "OFFERED": str(offered)}
    leader, follower = os.openpty()
    files = folder / "files"
    child = subprocess.Popen(
        ["zsh", "-i"], stdin=follower, stdout=follower, stderr=follower, env=env, cwd=files, start_new_session=True
    )
    os.close(follower)
    seen = b""
    try:
        while more := _read(leader):
            seen += more
            if b"ready" in seen and line:
                os.write(leader, line.encode() + b"\x14")
                line = ""
    finally:
        os.close(leader)
        child.kill()
        child.wait()
    return set(offered.read_text().split("\n")) - {""} if offered.exists() else set()


def _read(leader: int) -> bytes:
    if not select.select([leader], [], [], SILENCE)[0]:
        return b""  # a shell that waits for something else must not hold up the rest
    try:
        return os.read(leader, 4096)
    except OSError:  # what Linux says when the other side is gone
        return b""


def fish(line: str, folder: Path) -> set[str]:
    script = f"source ({REBUT} config completion fish | psub); complete -C {line!r}"
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    home["PATH"] = f"{Path(REBUT).parent}:{os.environ['PATH']}"  # Tab calls it by its name
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, **home, "REBUT_HOME": os.environ["REBUT_HOME"]},
        cwd=folder / "files",
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return {row.partition("\t")[0] for row in done.stdout.splitlines()}


SHELLS = [
    pytest.param(
        shell, marks=pytest.mark.skipif(not shutil.which(shell.__name__), reason=f"{shell.__name__} is not installed")
    )
    for shell in (zsh, fish)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/notes.md").write_text("x")
    (tmp_path / "state/sessions/abcdefgh").mkdir(parents=True)
    monkeypatch.setenv("REBUT_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("rebut due", {"duel"}),
        ("rebut d", {"delete", "demo", "dismiss", "doctor", "duel"}),
        ("rebut duel x --judge hu", {"human"}),
        ("rebut duel x --effort ", {"low", "medium", "high", "max"}),
        ("rebut export last --format ", {"md", "html", "json", "adr", "sarif", "github", "comment", "tests"}),
        ("rebut config ", {"path", "show", "completion"}),
        ("rebut revise ", {"plan", "review"}),
        ("rebut show ", {"last", "abcdefgh"}),
        ("rebut check no", {"notes.md"}),
        ("rebut duel x --context no", {"notes.md"}),
        ("rebut revise plan x --phase ", set()),
        ("rebut revise plan x --rewr", set()),
    ],
)
def test_a_shell_offers_what_may_follow_and_nothing_else(
    shell: object, folder: Path, line: str, offered: set[str]
) -> None:
    assert callable(shell) and shell(line, folder) == offered
