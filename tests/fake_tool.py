"""A stand-in for a command-line tool on PATH: does what the plan in PROGRAMDATA says, and notes how it was called.

Run as a program it reproduces the ways of the real ones, each seen in a test of that tool: answers as an object, an
array or lines, errors on stderr or dressed as an answer, paths in the prompt that are read, children that stay behind.
Its variables are some of Windows, since rebut passes only variables to a tool that it knows by name: PROGRAMDATA is the
plan, APPDATA the log, PATHEXT the help, SYSTEMROOT the version; with COMSPEC nobody is logged in. The tools of
`panel_tool.py` read no context file if LOCALAPPDATA names them, and are dead if USERPROFILE does.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path


def says(name: str, text: str) -> str:
    """An answer in the shape in which the tool of that name gives it."""
    usage = {"input_tokens": 11, "output_tokens": 7}
    halves = (text[: len(text) // 2], text[len(text) // 2 :])
    shapes: dict[str, object] = {
        "claude": [
            {"type": "system", "subtype": "init", "model": "claude-opus-9"},
            *(delta(piece) for piece in halves),
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}},
            {
                "type": "result",
                "subtype": "success",
                "is_error": False,
                "result": text,
                "total_cost_usd": 0.0025,
                "usage": {**usage, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3},
                "modelUsage": {"claude-opus-9": {}},
            },
        ],
        "codex": [
            {"type": "thread.started"},
            {"type": "item.completed", "item": {"type": "error", "message": "model metadata not found"}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "let me think"}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": text}},
            {"type": "turn.completed", "usage": {**usage, "cached_input_tokens": 5}},
        ],
        "gemini": {
            "response": text,
            "stats": {"models": {"gemini-9": {"tokens": {"prompt": 11, "candidates": 4, "thoughts": 3, "cached": 5}}}},
        },
        "qwen": [
            {"type": "system", "subtype": "init", "model": "qwen9-max"},
            *(delta(piece) for piece in halves),
            {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}},
            {"type": "result", "is_error": False, "result": text, "usage": {**usage, "cache_read_input_tokens": 5}},
        ],
        "opencode": [
            {"type": "step_start"},
            *({"type": "text", "part": {"text": piece}} for piece in halves),
            {
                "type": "step_finish",
                "part": {"tokens": {"input": 6, "output": 4, "reasoning": 3, "cache": {"read": 5}}},
            },
        ],
        "copilot": [
            {"type": "user.message", "data": {"content": "the prompt"}},
            {"type": "assistant.reasoning_delta", "data": {"deltaContent": "a thought"}},
            *({"type": "assistant.message_delta", "data": {"deltaContent": piece}} for piece in halves),
            {"type": "assistant.message", "data": {"model": "gpt-9", "content": text}},
            {"type": "result", "exitCode": 0},
        ],
    }
    return written(name, shapes[name])


def delta(text: str, kind: str = "text") -> dict[str, object]:
    """A piece of what a model says, or thinks, as two of them pass it on."""
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", kind: text}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None}


def fails(name: str, status: int, message: str) -> tuple[str, str, int]:
    """stdout, stderr and exit code of the tool of that name when its provider refused."""
    shapes: dict[str, tuple[object, str, int]] = {
        "claude": (
            {"type": "result", "subtype": "success", "is_error": True, "api_error_status": status, "result": message},
            "",
            1,
        ),
        "codex": ([{"type": "turn.failed", "error": {"message": f"unexpected status {status}: {message}"}}], "", 1),
        "gemini": (
            None,
            "Warning: no colours\nError when talking to the model {\n  at line 3\n}\n"
            + json.dumps({"session_id": "x", "error": {"type": "Error", "message": message, "code": status}}, indent=1),
            status % 256,
        ),
        "qwen": (
            [
                {"type": "assistant", "message": {"content": [{"type": "text", "text": f"[API Error: {status}]"}]}},
                {"type": "result", "is_error": True, "error": {"message": f"[API Error: {status} {message}]"}},
            ],
            '{"name": "AlreadyReportedError"}',
            1,
        ),
        "opencode": (
            [{"type": "error", "error": {"name": "APIError", "data": {"message": message, "statusCode": status}}}],
            "",
            1,
        ),
        "copilot": ([{"type": "session.error", "data": {"message": message, "statusCode": status}}], "", 1),
    }
    out, err, code = shapes[name]
    return ("" if out is None else written(name, out)), err, code


def written(name: str, value: object) -> str:
    if name == "gemini":
        return json.dumps(value, indent=1)
    return "".join(json.dumps(item) + "\n" for item in (value if isinstance(value, list) else [value]))


LAUNCHER = """#!/bin/sh
for last; do :; done
case "$last" in
  --version) echo "{name} ${{SYSTEMROOT:-999.0.0}} (a fake)"; exit ;;
  --help) echo "${{PATHEXT-{flags}}}"; exit ;;
  status) test -z "$COMSPEC"; exit ;;
  list) test -n "$COMSPEC" || echo "1 credentials"; exit ;;
esac
exec {python} -IS {file} {name} "$@"
"""


def install(folder: Path, *names: str) -> Path:
    """Put fakes of these names into a folder for PATH. The shell says what they say of themselves, to be quick."""
    from rebut.backends.cli_tools import (
        tables,  # not at the top: run as a program, this file knows nothing of rebut
    )

    folder.mkdir(parents=True, exist_ok=True)
    known = tables.load_tools({})
    for name in names:
        program = folder / name
        flags = " ".join(known[name].probe) if name in known else ""
        program.write_text(LAUNCHER.format(name=name, flags=flags, python=sys.executable, file=__file__))
        program.chmod(0o755)
    return folder


def log_in(home: Path) -> None:
    """Lay what shows a login of those tools that have no word for it."""
    for name in (".gemini/oauth_creds.json", ".qwen/oauth_creds.json"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("{}")
    (home / ".copilot").mkdir(parents=True, exist_ok=True)
    (home / ".copilot/config.json").write_text('{"loggedInUsers": [{"login": "somebody"}]}')


def main() -> None:
    name, plan = sys.argv[1], json.loads(os.environ.get("PROGRAMDATA", "{}"))
    if plan.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "orphan" in plan:
        # It notes down when it comes to its own end, which it should not live to see.
        sleeper = ["/bin/sh", "-c", f"sleep 30; touch {plan['orphan']}.ended"]
        alone = {"start_new_session": True} if plan.get("alone") else {}
        Path(plan["orphan"]).write_text(str(subprocess.Popen(sleeper, **alone).pid))
    if plan.get("stdin") == "closed":
        os.close(0)
    prompt = "" if "stdin" in plan else sys.stdin.buffer.read().decode()
    if log := os.environ.get("APPDATA"):
        seen = {p.relative_to(Path.cwd()).as_posix(): p.read_text() for p in Path.cwd().rglob("*") if p.is_file()}
        laid = {p.name: p.read_text() for p in Path.cwd().parent.glob("files/**/*") if p.is_file()}
        note = {"argv": sys.argv[2:], "env": dict(os.environ), "cwd": str(Path.cwd()), "prompt": prompt}
        Path(log).write_text(json.dumps({**note, "work": seen, "files": laid}))
    if plan.get("hang") or (plan.get("hang_on") and plan["hang_on"] in prompt):
        print("Attempt 1 failed with status 429. Retrying with backoff", file=sys.stderr, flush=True)
        time.sleep(60)
    if plan.get("login"):
        login = Path.home() / ".fake" / "login.json"
        text = login.read_text() if login.exists() else "Please sign in to continue: run the tool and log in."
        print(says(name, text))
        return
    if plan.get("slash") and prompt.startswith("/"):
        print(says(name, ""))
        return
    if plan.get("expand"):
        prompt = re.sub(r"@([\w./~-]+)", lambda found: expanded(found[1]), prompt)
    if plan.get("obeys"):
        plan["text"] = obeyed(prompt, "" if plan.get("blind") else given(name))
    if "answers" in plan:
        schema, _ = json.JSONDecoder().raw_decode(prompt.partition("this JSON schema:")[2].lstrip())
        plan["text"] = json.dumps(plan["answers"][schema["title"]])
    if "usage" in plan:
        at = sys.argv[sys.argv.index("--usage-output-file") + 1]
        Path(at).write_text(json.dumps(plan["usage"]))
    sys.stderr.write(plan.get("err", "") * plan.get("err_times", 1))
    for _ in range(plan.get("flood", 0)):
        sys.stdout.write("x" * 1_000_000)
    if "raw" in plan:
        sys.stdout.buffer.write(bytes.fromhex(plan["raw"]))
    elif "out" in plan:
        sys.stdout.write(plan["out"])
    else:
        sys.stdout.write(says(name, plan.get("text", prompt if plan.get("expand") else "I agree with the plan.")))
    sys.stdout.flush()
    os._exit(plan.get("exit", 0))


def given(name: str) -> str:
    """The context file as the tool of that name comes by it: one is handed it by a flag, the others look around."""
    if name == "claude":
        flag = "--append-system-prompt-file"
        return Path(sys.argv[sys.argv.index(flag) + 1]).read_text() if flag in sys.argv else ""
    return "".join(path.read_text() for path in Path.cwd().glob("*.md"))


def obeyed(prompt: str, context: str) -> str:
    """Does as the doctor says: fills in the form, gives back the text, finds the word."""
    if form := re.search(r'word is \\?"(\w+)\\?", count is 3', prompt):
        return json.dumps({"word": form[1], "count": 3})
    if "What is the code word" in prompt:
        told = re.search(r"code word of this project is (\w+)", context)
        return told[1] if told else "I was given no such file."
    asked = re.search(r"The word is (\w+)\. Reply", prompt) or re.search(r"nothing else: ([^\"\\\n]+)", prompt)
    return asked[1] if asked else "yes"


def expanded(path: str) -> str:
    """A path in a prompt, as the tools that read them do: all below the working folder, one outside of it too."""
    full = Path(path).expanduser().resolve()
    outside = sys.argv[1] == "claude" and "--restricted" not in sys.argv
    if full.is_file() and (outside or full.is_relative_to(Path.cwd())):
        return f"--- {path} ---\n{full.read_text()}"
    return f"@{path}"


if __name__ == "__main__":
    main()
