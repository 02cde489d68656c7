"""Get PostgreSQL, then run its tests; say clearly if they had to be left out."""

from __future__ import annotations

import os
import subprocess
import sys

from tests_postgres import cluster

AT_ONCE = "2"
ALONE = "tests_postgres/test_caps.py"
CRASHES = [f"tests/protocols/test_{name}_crash.py" for name in ("duel", "ask", "cross", "revise", "panel")]
"""The protocols' own tests, which then have their journals in the database."""


def main() -> int:
    if missing := cluster.get():
        print(f"the tests with PostgreSQL were LEFT OUT: {missing}", flush=True)
        return 0
    tests = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", AT_ONCE]
    if sys.argv[1:]:
        return subprocess.run([*tests, *sys.argv[1:]]).returncode
    # What is measured at the provider is measured alone.
    code = subprocess.run([*tests, "tests_postgres", f"--ignore={ALONE}"]).returncode
    code = subprocess.run([*tests, "-n", "0", "-s", ALONE]).returncode or code
    if code:
        return code
    with cluster.running() as server:
        return subprocess.run([*tests, *CRASHES], env={**os.environ, "REBUT_TEST_DATABASE": server.url()}).returncode


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    sys.exit(main())
