"""The project's own interpreters and packages, as the sandbox mounts them: Python, Node and Go, at neutral places.

The repository must not choose which files of this machine a check can read. So a folder is used as an environment only
if it looks like one, and only its programs and libraries are mounted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from rebut.core.files import on_path, real
from rebut.core.frozen import frozen
from rebut.proof.sandbox import WORK, Inside, Mount

LAUNCHER = "/rebut/launcher.py"


@frozen
class Interpreter:
    """An interpreter: what is mounted for it, and the names by which a runner's command refers to it."""

    inside: Inside
    names: Mapping[str, str]


def find_interpreter(kind: str, project: Path, env: Mapping[str, str], scratch: Path) -> Interpreter | str:
    """The interpreter of a project, or what is missing. `scratch` is a folder for files that it needs."""
    match kind:
        case "python":
            return python(project, env, scratch)
        case "node":
            return node(project, env)
        case "go":
            return go(env)
    found = python(project, env, scratch)  # a shell script may call the project's Python
    return found if isinstance(found, Interpreter) else Interpreter(Inside(), {})


def python(project: Path, env: Mapping[str, str], scratch: Path) -> Interpreter | str:
    """The virtual environment of the project or the active one; else the Python that is first on PATH."""
    venvs = [project / ".venv", project / "venv"]
    venvs += [Path(active)] if (active := env.get("VIRTUAL_ENV", "")).startswith("/") else []
    launcher = Mount(Path(__file__).with_name("launcher.py"), LAUNCHER)
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    path = "/usr/local/bin:/usr/bin:/bin"
    for venv in venvs:
        base = _base_of(venv)
        packages = _packages(venv)
        if base is None or packages is None:
            continue
        written = scratch / "pyvenv.cfg"
        written.write_text(f"home = {base.home}/bin\ninclude-system-site-packages = {_with_system(venv)}\n")
        inside = base.inside + Inside(
            (Mount(packages.parent, f"/env/lib/{packages.parent.name}"), Mount(written, "/env/pyvenv.cfg"), launcher),
            {"/env/bin/python": base.program, "/env/bin/python3": base.program},
            {**settings, "PATH": f"/env/bin:{path}"},
        )
        return Interpreter(inside, {"python": "/env/bin/python", "launcher": LAUNCHER})
    for place in (on_path("python3", env), Path(sys.executable)):
        base = _base(real(place)) if place else None
        if base is not None:
            own = base.inside + Inside((launcher,), {}, {**settings, "PATH": f"{base.home}/bin:{path}"})
            return Interpreter(own, {"python": base.program, "launcher": LAUNCHER})
    return "no Python was found: neither .venv in the project, nor an active environment, nor python3 on PATH"


@frozen
class PythonInstall:
    """A Python installation: where it is inside the sandbox, and what is mounted for it."""

    home: str
    program: str
    inside: Inside


def _base_of(venv: Path) -> PythonInstall | None:
    """The installation that a virtual environment is made from."""
    if not (venv / "pyvenv.cfg").is_file():
        return None
    return _base(real(venv / "bin" / "python"))


def _base(program: Path) -> PythonInstall | None:
    """The installation that a program belongs to; None if it does not look like one."""
    home = program.parent.parent
    libraries = [lib for lib in sorted((home / "lib").glob("python3*")) if (lib / "os.py").is_file()]
    name = program.name
    if program.parent.name != "bin" or not name.startswith("python3") or not os.access(program, os.X_OK):
        return None
    if not any(lib.name == name or name == "python3" for lib in libraries):
        return None
    if program.is_relative_to("/usr"):  # /usr is mounted as a whole
        return PythonInstall(str(home), str(program), Inside())
    mounts = [Mount(program, f"/python/bin/{name}"), *(Mount(lib, f"/python/lib/{lib.name}") for lib in libraries)]
    mounts += [Mount(one, f"/python/lib/{one.name}") for one in sorted((home / "lib").glob("lib*.so*"))]
    return PythonInstall(
        "/python", f"/python/bin/{name}", Inside(tuple(mounts), {}, {"LD_LIBRARY_PATH": "/python/lib"})
    )


def _packages(venv: Path) -> Path | None:
    """The folder with the packages of a virtual environment; None if it is not inside the environment."""
    found = [real(one) for one in sorted((venv / "lib").glob("python3*/site-packages"))]
    top = real(venv)
    return next((one for one in found if one.is_relative_to(top) and one.is_dir()), None)


def _with_system(venv: Path) -> str:
    said = (venv / "pyvenv.cfg").read_text("utf-8", "replace").casefold()
    return "true" if "include-system-site-packages = true" in said else "false"


def node(project: Path, env: Mapping[str, str]) -> Interpreter | str:
    """Node from PATH, and the packages of the project."""
    place = on_path("node", env)
    if place is None:
        return "node is not on PATH"
    program, packages = real(place), project / "node_modules"
    in_system = program.is_relative_to("/usr")
    mounts = [] if in_system else [Mount(program, "/rebut/node")]
    if packages.is_dir() and not packages.is_symlink():
        mounts.append(Mount(packages, f"{WORK}/node_modules"))
    return Interpreter(
        Inside(tuple(mounts), {}, {"NO_COLOR": "1"}), {"node": str(program) if in_system else "/rebut/node"}
    )


def go(env: Mapping[str, str]) -> Interpreter | str:
    """Go from PATH, and the modules that were downloaded before."""
    place = on_path("go", env)
    if place is None:
        return "go is not on PATH"
    program = real(place)
    root = program.parent.parent
    if program.parent.name != "bin" or not (root / "pkg").is_dir():
        return f"{place} is not in a Go installation"
    mounts = [] if root.is_relative_to("/usr") else [Mount(root, "/rebut/go")]
    inside = "/rebut/go" if mounts else str(root)
    settings = {"GOROOT": inside, "GOCACHE": "/tmp/go-build", "GOPATH": "/tmp/go", "GOPROXY": "off"}
    settings |= {"GOFLAGS": "-mod=mod", "GONOSUMDB": "*", "GOTOOLCHAIN": "local", "GOTELEMETRY": "off"}
    settings["CGO_ENABLED"] = "0"
    paths = env.get("GOPATH") or str(Path(env.get("HOME", "/nowhere"), "go"))
    modules = Path(env.get("GOMODCACHE") or Path(paths.partition(":")[0], "pkg", "mod"))
    if modules.is_absolute() and (modules / "cache" / "download").is_dir():
        mounts.append(Mount(modules, "/rebut/modules"))
        settings["GOMODCACHE"] = "/rebut/modules"
    return Interpreter(Inside(tuple(mounts), {}, settings), {"go": f"{inside}/bin/go"})
