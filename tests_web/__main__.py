"""Get what the tests of the page need, then run them; say clearly if they had to be left out."""

from __future__ import annotations

import os
import subprocess
import sys

from tests_web import chromium

AT_ONCE = "2"


def main() -> int:
    if missing := chromium.missing():
        print(f"the tests of the page were LEFT OUT: {missing}", flush=True)
        return 0
    tests = [sys.executable, "-m", "pytest", "tests_web", "-p", "no:cacheprovider", "-n", AT_ONCE, *sys.argv[1:]]
    return subprocess.run(tests).returncode


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    sys.exit(main())
