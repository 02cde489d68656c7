"""Installs a wheel alone into an empty environment and uses it: version, demo, check, and a review by analysers.

    python tools/try_wheel.py dist/rebut-0.1.0-py3-none-any.whl

No model is called. Run it with the Python that is to be tried.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SECONDS = 600


def main() -> int:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        print("give the path of a wheel", file=sys.stderr)
        return 2
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        return _try(wheel, Path(folder))


def _try(wheel: Path, folder: Path) -> int:
    venv.create(folder / "venv", with_pip=True)
    bin = folder / "venv" / "bin"
    env = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "LANG", "LC_", "SSL_"))}
    env |= {"PATH": f"{bin}:/usr/bin:/bin", "HOME": str(folder / "home"), "NO_COLOR": "1"}
    work = folder / "work"
    shutil.copytree(EXAMPLES, work / "examples")
    (folder / "home").mkdir()
    plan = ["examples/check/PLAN.md", "--root", "examples/check"]
    change = "examples/review/changed/shop/export.py"
    steps = [
        ([str(bin / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], 0, ""),
        (["rebut", "--version"], 0, "rebut"),
        (["rebut", "demo", "--fast"], 0, "VERDICT"),
        (["rebut", "check", *plan], 1, "absent"),
        (["rebut", "export", "--format", "comment"], 2, "is not a review"),
        # The analysers are an extra: without it, the message says how to get them.
        (["rebut", "review", change, "--with", "lint,rules"], 3, "rebut[lint]"),
        ([str(bin / "python"), "-m", "pip", "install", "--quiet", f"{wheel}[lint]"], 0, ""),
        (["rebut", "review", change, "--with", "lint,rules"], 0, "to fix"),
    ]
    print(f"Python {sys.version.split()[0]}, {wheel.name}")
    for command, code, wanted in steps:
        done = subprocess.run(command, env=env, cwd=work, capture_output=True, text=True, timeout=SECONDS)
        said = done.stdout + done.stderr
        shown = " ".join(Path(command[0]).name if n == 0 else word for n, word in enumerate(command))
        if done.returncode != code or wanted not in said:
            print(f"FAILED: {shown}\nexit code {done.returncode}, expected {code} and {wanted!r}\n{said}")
            return 1
        print(f"ok  {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
