"""What `make debate` runs: four steps without a key, an account or a word to any server."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REBUT = str(Path(sys.executable).parent / "rebut")
QUESTION = "Should a small team put its sessions into Redis?"
SEATS = ["--proposer", "local", "--challenger", "local", "--judge", "local", "--allow-same-model"]
KEPT = ("HOME", "LANG", "TERM", "COLUMNS", "NO_COLOR", "XDG_STATE_HOME", "XDG_DATA_HOME", "REBUT_HOME", "TMPDIR")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rebut-debate-") as scratch:
        shop = Path(scratch) / "shop"
        subprocess.run([sys.executable, str(HERE / "review/prepare.py"), str(shop)], check=True)
        # Every seat is named, and there is no key, no config and no tool: nothing else of this machine takes part.
        env = {name: os.environ[name] for name in KEPT if name in os.environ}
        config = Path(scratch) / "config.toml"
        config.touch()
        env |= {"PATH": f"{Path(REBUT).parent}:/usr/bin:/bin", "REBUT_CONFIG": str(config)}
        _title("1  A real debate, on a very small model inside rebut (a minute or so)")
        words = ["duel", QUESTION, *SEATS, "--rounds", "1", "--json"]
        print(f"$ rebut {shlex.join(words[:-1])}\n", flush=True)
        code, result = _waited(words, env, Path(scratch))
        if code not in (0, 3):  # the answers of so small a model may be too little for a verdict
            return _failed(code, result.get("error", ""))
        print("\n".join(summary(result)))
        for title, folder, words, fine in (
            ("2  Are the places that a plan cites really there? No model", HERE / "check", CHECK, (1,)),
            ("3  A change with planted defects: analysers find them, rules judge", shop, REVIEW, (0,)),
            ("4  A debate worth reading: its words are scripted, all else is real", HERE, demo(), (0,)),
        ):
            _title(title)
            print(f"$ rebut {shlex.join(words)}\n", flush=True)
            done = subprocess.run([REBUT, *words], cwd=folder, env=env)
            if done.returncode not in fine:
                return _failed(done.returncode, "")
    print("\nThis debate in the browser:\n  .venv/bin/rebut view last\n\nNow with models of your own:" + NEXT)
    return 0


CHECK = ["check", "PLAN.md", "--root", "."]
REVIEW = ["review", "--with", "lint,rules"]
NEXT = """
  .venv/bin/rebut "Redis or Postgres?"            claude, codex, a key, Ollama
  .venv/bin/rebut models get qwen2.5-coder-1.5b   or, without these, 1.1 GB"""


def demo() -> list[str]:
    """At reading speed at a terminal."""
    return ["demo"] if sys.stdout.isatty() else ["demo", "--fast"]


def summary(result: dict[str, Any]) -> list[str]:
    """A debate in short: who spoke, what was checked, where the record is."""
    ledger, spent, id = result["ledger"], result["spent"], result["session"]
    spoke = [seat["seat"] for seat in result["seats"] if seat["answered"]]
    checked = sum(ledger["citations"].values())
    rows = {
        "spoke": f"{', '.join(spoke)}: {spent['tokens']:,} tokens in {spent['seconds']:.0f} s",
        "checked": f"{checked} citations, {ledger['claims']} claims, {len(ledger['points'])} points",
        "ended": result["heading"].capitalize(),
        "record": f".venv/bin/rebut show {id[:4]}     .venv/bin/rebut verify {id[:4]}",
        "note": "a model this small (135M) shows the machinery only, not wisdom",
    }
    return [f"  {name:<9} {text}" for name, text in rows.items()]


def _title(text: str) -> None:
    print(f"\n\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else f"\n{text}")


def _waited(words: list[str], env: dict[str, str], scratch: Path) -> tuple[int, dict[str, Any]]:
    """Run a command whose result is JSON, and show how long it takes."""
    began, out = time.monotonic(), scratch / "result.json"
    with out.open("wb") as file:
        child = subprocess.Popen([REBUT, *words], cwd=HERE, env=env, stdout=file)
        while child.poll() is None:
            if sys.stdout.isatty():
                print(f"\r  debating … {time.monotonic() - began:.0f} s", end="", flush=True)
            time.sleep(0.5)
    if sys.stdout.isatty():
        print("\r\x1b[K", end="", flush=True)
    return child.returncode, json.loads(out.read_text("utf-8") or "{}")


def _failed(code: int, why: str) -> int:
    print(f"make debate: that ended with {code}, which it should not{f': {why}' if why else ''}", file=sys.stderr)
    return code or 1


if __name__ == "__main__":
    sys.exit(main())
