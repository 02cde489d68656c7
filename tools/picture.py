"""The picture of the README: a real run of `rebut demo` in a terminal of 80 columns, drawn as SVG."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

COLUMNS, ROWS = 80, 200
WIDTH, LINE, LEFT, TOP = 8.43, 18, 18, 58
"""Of a character and a line of text, and where the first one begins, in pixels."""
COLOURS = {1: "#ff7b72", 2: "#7ee787", 3: "#e3b341", 4: "#79c0ff", 5: "#d2a8ff", 6: "#76e3ea"}
BUTTONS = ((22, "#ff5f57"), (42, "#febc2e"), (62, "#28c840"))
FIRST, LAST = "  round 1", "  RECOMMENDATION"


@dataclass
class Terminal:
    """As much of a terminal as the screen of rebut uses: lines, cursor up, erase, bold and colours."""

    lines: list[list[tuple[str, str]]] = field(default_factory=lambda: [[]])
    row: int = 0
    column: int = 0
    style: str = ""

    def feed(self, text: str) -> None:
        for control, mark, numbers, final, character in re.findall(
            r"(\x1b\[(\??)([0-9;]*)([a-zA-Z]))|(.)", text, re.DOTALL
        ):
            if control and not mark:
                self._control(numbers, final)
            elif character == "\n":
                self.row += 1
                self.lines += [[] for _ in range(self.row - len(self.lines) + 1)]
            elif character == "\r":
                self.column = 0
            elif character:
                self._write(character)

    def _write(self, character: str) -> None:
        line = self.lines[self.row]
        line += [(" ", "")] * (self.column - len(line) + 1)
        line[self.column] = (character, self.style)
        self.column += 1

    def _control(self, numbers: str, final: str) -> None:
        if final == "A":
            self.row -= int(numbers or 1)
        elif final == "K":
            self.lines[self.row] = [] if numbers == "2" else self.lines[self.row][: self.column]
        elif final == "m":
            codes = [int(n or 0) for n in numbers.split(";")]
            self.style = "" if codes == [0] else numbers

    def rows(self) -> list[list[tuple[str, str]]]:
        """Each line as runs of text in one style."""
        out = []
        for line in self.lines:
            runs: list[tuple[str, str]] = []
            for character, style in line:
                if runs and runs[-1][1] == style:
                    runs[-1] = (runs[-1][0] + character, style)
                else:
                    runs.append((character, style))
            out.append(runs)
        return out


def watched(*words: str) -> Terminal:
    """What a terminal shows after `rebut WORDS`."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory(prefix="rebut-picture-") as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "REBUT_HOME": f"{home}/rebut", "TERM": "xterm-256color"}
        env |= {"LANG": "C.UTF-8"}
        child = subprocess.Popen(
            [sys.executable, "-m", "rebut", *words],
            cwd=home,
            env=env,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        seen = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # what Linux reports when the other side is closed
                break
            if not piece:
                break
            seen += piece
        code = child.wait()
        os.close(leader)
    if code:
        raise SystemExit(f"rebut {' '.join(words)} ended with {code}:\n{seen.decode(errors='replace')}")
    terminal = Terminal()
    terminal.feed(seen.decode("utf-8"))
    return terminal


def drawn(rows: list[list[tuple[str, str]]], title: str) -> str:
    """The rows in a window."""
    width, height = round(COLUMNS * WIDTH + 2 * LEFT), TOP + LINE * len(rows) + 8
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(title)}</title>",
        "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d1d7e0;"
        "white-space:pre}.b{font-weight:bold;fill:#fff}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>',
        *(
            f'<circle cx="{x}" cy="22" r="6" fill="{c}"/>'
            for x, c in ((22, "#ff5f57"), (42, "#febc2e"), (62, "#28c840"))
        ),
    ]
    for n, runs in enumerate(rows):
        spans, column = [], 0
        for text, style in runs:
            if shown := text.strip():
                x = f"{LEFT + (column + len(text) - len(text.lstrip())) * WIDTH:.1f}"
                length = f'textLength="{len(shown) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
                spans.append(f'<tspan x="{x}" {length}{_look(style)}>{escape(shown)}</tspan>')
            column += len(text)
        if spans:
            out.append(f'<text y="{TOP + LINE * n}" xml:space="preserve">{"".join(spans)}</text>')
    return "\n".join([*out, "</svg>", ""])


def _look(style: str) -> str:
    codes = [int(n) for n in style.split(";") if n]
    colour = next((COLOURS[code % 10] for code in codes if code // 10 in (3, 9) and code % 10 in COLOURS), "")
    return (' class="b"' if 1 in codes else "") + (f' style="fill:{colour}"' if colour else "")


def picture() -> str:
    """The picture; the one that is there, if it shows the same but for how long each call took."""
    rows = watched("demo", "--fast").rows()
    texts = ["".join(text for text, _ in runs).rstrip() for runs in rows]
    begin, heading = texts.index(FIRST), texts.index(LAST)
    end = texts.index("", heading)
    whole = [[("$ rebut demo", "1")], [], *rows[begin:end]]
    new = drawn(whole, "A terminal: rebut demo, a scripted debate with checked citations and a verdict")
    old = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    return old if _timeless(old) == _timeless(new) else new


def _timeless(svg: str) -> str:
    return re.sub(r"\d+\.\d s", "0.0 s", svg)


FILE = Path(__file__).resolve().parent.parent / "docs/demo.svg"
