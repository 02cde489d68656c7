"""Install the tools, then run their tests with an empty environment and, where the system allows it, no network."""

from __future__ import annotations

import os
import subprocess
import sys

from tests_tools import real

AT_ONCE = "2"
"""A tool takes up to a gigabyte and a core; more of them would only make each other slow."""
INSIDE = 'ip link set lo up && exec "$@"'


def main() -> int:
    real.install()
    if sys.argv[1:] == ["--install"]:
        return 0
    tests = [sys.executable, "-m", "pytest", "tests_tools", "-p", "no:cacheprovider", "-n", AT_ONCE, *sys.argv[1:]]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    env["REBUT_TOOLS_CACHE"] = str(real.cache())
    for flags in ("-n", "-rn"):  # the second where only the user's own namespaces are allowed
        apart = ["unshare", flags, "sh", "-c", INSIDE, "sh"]
        try:
            alone = subprocess.run([*apart, "true"], env=env, capture_output=True, timeout=30).returncode == 0
        except OSError:
            alone = False
        if alone:
            print("running without a network, loopback aside", flush=True)
            return subprocess.run([*apart, *tests], env=env).returncode
    print("this system gives no network namespace: the tools could reach out, with a key that is none", flush=True)
    return subprocess.run(tests, env=env).returncode


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    sys.exit(main())
