"""The files of the page. Its scripts are plain modules, joined into one for the server and the exported file."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

SCRIPTS = (
    *(
        "dom",
        "debate",
        "markdown",
        "points",
        "argument_map",
        "timeline",
        "turns",
        "changes",
        "form",
        "sessions",
        "main",
    ),
)
"""The modules, each after those that it uses."""
_IMPORT = re.compile(r"^import (\{[^}]*\}) from \"\./(\w+)\.js\";$", re.M)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|const|class) (\w+))", re.M)


@cache
def _file(name: str) -> str:
    return (files("rebut.web") / "page" / name).read_text(encoding="utf-8")


def page() -> str:
    return _file("index.html")


def style() -> str:
    return _file("style.css")


@cache
def script() -> str:
    """All modules as one: each in a function of its own, which returns what the module exports."""
    return "\n".join(_wrapped(name, _file(f"{name}.js")) for name in SCRIPTS)


def _wrapped(name: str, source: str) -> str:
    exported = ", ".join(found[2] for found in _EXPORT.finditer(source))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r"const \1 = $\2;", source))
    return f"const ${name} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"
