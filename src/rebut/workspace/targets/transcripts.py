"""The last message of an assistant in this workspace, from the transcripts of Claude Code and Codex."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from rebut.core.errors import UsageError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.json_value import Json, objects
from rebut.core.text import decoded

BLOCK = 1 << 18
LOOK_BACK = 64_000_000
FIRST_LINE = 4_000_000
MOST_FILES = 1_000
INSTEAD = "Give the text itself: as an argument, on standard input or with --artifact-file."


FAMILIES = {"Claude Code": "anthropic", "Codex": "openai"}


@frozen
class TranscriptMessage:
    """A message and where it was found."""

    text: str
    tool: str
    file: Path

    @property
    def family(self) -> str:
        """The family of the models that the tool runs."""
        return FAMILIES[self.tool]


def last_said(root: Path, env: Mapping[str, str] | None = None) -> TranscriptMessage:
    """The last message of the newest transcript of this workspace in which an assistant said anything."""
    env = os.environ if env is None else env
    home = Path(env.get("HOME") or Path.home())
    top = repository(root.resolve())
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
    codex = Path(env.get("CODEX_HOME") or home / ".codex") / "sessions"
    places = [("Claude Code", file) for file in _of_claude(claude, top)]
    places += [("Codex", file) for file in _newest(codex.glob("*/*/*/rollout-*.jsonl")) if _is_codex_here(file, top)]
    for tool, file in sorted(places, key=lambda place: _age(place[1]), reverse=True):
        try:
            text = _claude_text(file, top) if tool == "Claude Code" else _codex_text(file)
        except OSError as error:
            raise UsageError(f"the transcript {file} cannot be read: {error.strerror}", INSTEAD) from error
        if text.strip():
            return TranscriptMessage(text, tool, file)
    if places:
        raise UsageError(f"no assistant has said anything yet in the {len(places)} transcripts of {top}", INSTEAD)
    raise UsageError(f"there is no transcript of {top}, neither in {claude} nor in {codex}", INSTEAD)


def _age(file: Path) -> tuple[int, str]:
    try:
        return file.stat().st_mtime_ns, str(file)
    except OSError:
        return 0, str(file)


def _newest(files: Iterator[Path]) -> list[Path]:
    return sorted(files, key=_age, reverse=True)[:MOST_FILES]


def _of_claude(projects: Path, top: Path) -> list[Path]:
    # Claude Code names a folder after the path, with hyphens for all characters but letters and digits, and cuts long
    # names. Several paths may share such a name, so the `cwd` in the transcript decides.
    name = re.sub(r"[^A-Za-z0-9]", "-", str(top))[:200]
    if not projects.is_dir():
        return []
    folders = sorted(folder for folder in projects.iterdir() if folder.name.startswith(name) and folder.is_dir())
    files = (file for folder in folders for file in folder.glob("*.jsonl") if not file.name.startswith("agent-"))
    return [file for file in _newest(files) if _is_claude_here(file, top)]


def _is_claude_here(file: Path, top: Path) -> bool:
    return next(
        (_inside(cwd, top) for line in _backwards(file) if isinstance(cwd := _parsed(line).get("cwd"), str)), False
    )


def _inside(cwd: Json, top: Path) -> bool:
    return isinstance(cwd, str) and (cwd == str(top) or cwd.startswith(f"{top}{os.sep}"))


def _claude_text(file: Path, top: Path) -> str:
    """The last message with text. A message may take several lines with the same id, one for each of its blocks."""
    texts: list[str] = []
    id: Json = None
    for line in _backwards(file):
        entry = _parsed(line) if b"assistant" in line or texts else {}
        message = entry.get("message")
        skipped = entry.get("isSidechain") or entry.get("isApiErrorMessage")
        if entry.get("type") != "assistant" or skipped or not isinstance(message, dict):
            if texts and entry.get("type") == "user":
                break
            continue
        text = _joined(message.get("content"), "text")
        if texts and (id is None or message.get("id") != id):
            break
        if text.strip():
            texts.insert(0, text)
            id = message.get("id")
    return "\n\n".join(texts)


def _is_codex_here(file: Path, top: Path) -> bool:
    try:
        with file.open("rb") as stream:
            meta = _parsed(stream.readline(FIRST_LINE))
    except OSError:
        return False
    payload = meta.get("payload")
    return meta.get("type") == "session_meta" and isinstance(payload, dict) and _inside(payload.get("cwd"), top)


def _codex_text(file: Path) -> str:
    for line in _backwards(file):
        if b'"response_item"' not in line or b"assistant" not in line:
            continue
        payload = _parsed(line).get("payload")
        if isinstance(payload, dict) and payload.get("type") == "message" and payload.get("role") == "assistant":
            text = _joined(payload.get("content"), "output_text")
            if text.strip():
                return text
    return ""


def _joined(content: Json, kind: str) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(str(block.get("text", "")) for block in objects(content) if block.get("type") == kind)


def _parsed(line: bytes) -> dict[str, Json]:
    """A line's object; empty for a torn line, such as the last one while another process writes."""
    found = decoded(line)
    return found if isinstance(found, dict) else {}


def _backwards(file: Path) -> Iterator[bytes]:
    """The lines of a file, last one first, without reading more of it than is asked for."""
    with file.open("rb") as stream:
        at = stream.seek(0, os.SEEK_END)
        stop = max(0, at - LOOK_BACK)
        pieces: list[bytes] = []
        while at > stop:
            size = min(BLOCK, at - stop)
            at -= size
            stream.seek(at)
            block = stream.read(size)
            lines = block.split(b"\n")
            if len(lines) == 1:
                pieces.append(block)
                continue
            yield b"".join([lines[-1], *reversed(pieces)])
            yield from reversed(lines[1:-1])
            pieces = [lines[0]]
        if at == 0 and pieces:
            yield b"".join(reversed(pieces))
