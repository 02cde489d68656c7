"""A stand-in for any tool on PATH that sits on a panel: it tells what persona it found, and answers from that alone.

Each call is noted in a file of its own, since several run at once.
"""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fake_tool import fails, says

LAUNCHER = """#!/bin/sh
for last; do :; done
case "$last" in
  --version) echo "{name} 999.0.0"; exit ;;
  --help) echo "$PATHEXT"; exit ;;
esac
exec {python} -IS {file} {name} "$@"
"""


def install(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        program = folder / name
        program.write_text(LAUNCHER.format(name=name, python=sys.executable, file=__file__))
        program.chmod(0o755)
    return folder


def main() -> None:
    name, argv = sys.argv[1], sys.argv[2:]
    prompt = sys.stdin.buffer.read().decode()
    found = {p.relative_to(Path.cwd()).as_posix(): p.read_text() for p in Path.cwd().rglob("*") if p.is_file()}
    note = {"name": name, "argv": argv, "cwd": str(Path.cwd()), "found": found, "prompt": prompt}
    Path(os.environ["APPDATA"], f"{name}-{uuid.uuid4().hex}.json").write_text(json.dumps(note))
    if name in os.environ.get("LOCALAPPDATA", "").split():  # it reads no context file
        found = {}
    if name in os.environ.get("USERPROFILE", "").split():
        out, err, code = fails(name, 401, "please log in")
        sys.stdout.write(out)
        sys.stderr.write(err)
        sys.exit(code)
    seen = "\n".join([*found.values(), prompt])
    echo = re.search(r"Reply with this word and nothing else: (\w+)", prompt)
    if echo:
        answer = echo[1]
    elif "code word" in prompt:
        word = re.search(r"code word of this (?:room|project) is (\w+)", seen)
        answer = word[1] if word else "I was given none."
    else:
        item = re.search(r"This is your list:\n\n- (.*)", seen)
        looked = [{"angle": item[1] if item else "", "what": "the whole of it", "found": "sound"}]
        answer = json.dumps(
            {"verdict": "agree", "objection_strength": "minor", "points": [], "examined": looked, "summary": "Sound."}
        )
    sys.stdout.write(says(name, answer))


if __name__ == "__main__":
    main()
