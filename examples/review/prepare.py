"""Make a git repository of `base`, with the files of `changed` uncommitted: `python prepare.py FOLDER`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHO = {
    name: value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in (
        (f"GIT_{role}_NAME", "Shop"),
        (f"GIT_{role}_EMAIL", "shop@example.invalid"),
        (f"GIT_{role}_DATE", "2026-01-01T00:00:00Z"),
    )
}


def lay(folder: Path) -> None:
    """The same commit every time, whatever git is set up to do."""
    shutil.copytree(HERE / "base", folder, dirs_exist_ok=True)
    env = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "The shop as it was"]):
        subprocess.run(["git", "-C", str(folder), *words], env=env, check=True)
    shutil.copytree(HERE / "changed", folder, dirs_exist_ok=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or (Path(sys.argv[1]).exists() and any(Path(sys.argv[1]).iterdir())):
        sys.exit("usage: python prepare.py FOLDER, where FOLDER is empty or not there yet")
    lay(Path(sys.argv[1]))
