"""What `make debate` runs: three steps without a key, an account or a word to any server."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
QUESTION = "Should a small team put its sessions into Redis?"
SEATS = ["--proposer", "local", "--challenger", "local", "--judge", "local"]
DUEL = ["duel", QUESTION, *SEATS, "--allow-same-model", "--rounds", "1"]
STEPS = (
    ("1  The citations of a plan, looked up: no model", HERE / "check", ["check", "PLAN.md", "--root", "."], (0, 1)),
    ("2  A change with planted defects: analysers find, rules judge", None, ["review", "--with", "lint,rules"], (0,)),
    ("3  A short duel on the embedded model, which shows the machinery, not wisdom", HERE, DUEL, (0, 3)),
)


def main() -> int:
    model = subprocess.run([BIN / "rebut", "models", "path"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="rebut-debate-") as scratch:
        home = Path(scratch)
        # A home and a PATH of its own: no tool, key or login of this machine takes part.
        env = {name: os.environ[name] for name in ("LANG", "TERM", "COLUMNS", "NO_COLOR") if name in os.environ}
        env |= {"HOME": scratch, "REBUT_HOME": str(home / "rebut"), "PATH": f"{BIN}:/usr/bin:/bin"}
        (home / "rebut/models").mkdir(parents=True)
        (home / "rebut/models" / Path(model).name).symlink_to(model)
        subprocess.run([sys.executable, str(HERE / "review/prepare.py"), str(home / "shop")], check=True)
        for title, folder, words, fine in STEPS:
            print(f"\n{title}\n$ rebut {shlex.join(words)}\n", flush=True)
            done = subprocess.run([BIN / "rebut", *words], cwd=folder or home / "shop", env=env)
            if done.returncode not in fine:
                print(f"make debate: that ended with {done.returncode}, which it should not", file=sys.stderr)
                return done.returncode
    print("\nThese sessions were kept in a folder of their own, and went with it. Yours stay:")
    print("  .venv/bin/rebut      .venv/bin/rebut demo      .venv/bin/rebut --help")
    return 0


if __name__ == "__main__":
    sys.exit(main())
