"""Where the browser and axe are. axe comes from npm, once, into a cache outside of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

AXE = "axe-core@4.14.0"
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage")
"""A container has no user namespaces for a sandbox, and little shared memory."""


def found() -> str:
    """The path of the browser; empty if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


def cache() -> Path:
    return Path(os.environ.get("REBUT_WEB_CACHE") or Path.home() / ".cache/rebut-test-web")


def axe() -> str:
    """The source of axe; empty if it cannot be had."""
    path = cache() / "node_modules/axe-core/axe.min.js"
    if not path.exists() and shutil.which("npm"):
        cache().mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(cache()), AXE]
        subprocess.run(command, cwd=cache(), timeout=300, check=False)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def missing() -> str:
    """Why the tests cannot run; empty if they can."""
    if not found():
        return f"no browser is installed (looked for {', '.join(NAMES)})"
    if find_spec("playwright") is None:
        return "playwright is not installed (`make test-web` installs it)"
    return "" if axe() else f"{AXE} could not be installed with npm"
