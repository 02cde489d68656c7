"""The two sides of a pair as small git repositories: the file before the change is committed, the change is not.

The name of a folder does not say which side it is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from rebut.core.errors import UsageError
from rebut.trial.pairs import DefectPair
from rebut.workspace.git import Git, GitFailed, installed, off

DIFF = "change.diff"
"""The change as a file, for a debate that is not about a change of git."""
SETTINGS = ("user.name=rebut trial", "user.email=trial@localhost", "init.defaultBranch=main", "commit.gpgSign=false")


def folder_of(root: Path, pair: DefectPair, side: str) -> Path:
    return root / hashlib.sha256(f"{pair.id} {side}".encode()).hexdigest()[:12]


async def write(root: Path, pair: DefectPair, side: str) -> Path:
    """Write the repository of one side, unless it exists; it is created as a whole or not at all."""
    folder = folder_of(root, pair, side)
    if folder.is_dir():
        return folder
    exe = installed()
    if exe is None:
        raise UsageError("git is not installed, so a trial cannot write its changes", "Install git.")
    made = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(made, ignore_errors=True)
    file = made / pair.path
    try:
        file.parent.mkdir(parents=True)
        file.write_text(pair.before, encoding="utf-8")
        git = Git(made, exe, off(*SETTINGS))
        await git.run("init", "-q", "--template=", ".")
        (made / ".git" / "info").mkdir(exist_ok=True)
        (made / ".git" / "info" / "exclude").write_text(f"{DIFF}\n")
        await git.run("add", "-A")
        await git.run("commit", "-q", "-m", "before the change")
        file.write_text(pair.text(side), encoding="utf-8")
        (made / DIFF).write_bytes(await git.run("diff", "--no-color", "--no-ext-diff"))
        made.rename(folder)
    except (OSError, GitFailed) as error:
        shutil.rmtree(made, ignore_errors=True)
        if folder.is_dir():  # another process has just made it
            return folder
        raise UsageError(
            f"the change of a pair cannot be written to {folder}: {error}", "Choose another --out."
        ) from None
    return folder
