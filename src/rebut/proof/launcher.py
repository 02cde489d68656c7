"""Runs inside the sandbox, by the project's own Python: a check as a script or by pytest. Knows nothing of rebut.

It reads a word from standard input that the check does not know, and ends its report with it. So a check, or code of
the project, cannot end the process with `os._exit(0)` and pass for a check that ran to its end.
"""

import os
import sys

CANNOT = (ImportError, SyntaxError, NameError)
"""Raised by the check's own code, they mean that it does not fit the project. Raised by the project, it fails."""


def main() -> None:
    word = sys.stdin.readline().strip()
    kind, file = sys.argv[1:3]
    report = os.dup(2)
    if kind == "pytest":
        import pytest  # noqa: F401 - before the project can be imported: it may have a file of that name
    # The project comes after Python's own modules, so that none of its files replaces one; before installed packages.
    own = [place for place in ("/w/src", "/w") if os.path.isdir(place)]  # noqa: PTH112
    at = next((n for n, place in enumerate(sys.path) if place.endswith("-packages")), len(sys.path))
    sys.path[at:at] = own
    os.environ["PYTHONPATH"] = os.pathsep.join(own)
    sys.argv[:] = [file]
    outcome = by_pytest(file) if kind == "pytest" else as_script(file)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the check closed it
            pass
    os.write(report, ("\n%s %s\n" % (word, outcome)).encode())  # noqa: UP031
    os._exit(0)  # threads that the check left behind end here


def as_script(file: str) -> str:
    import traceback

    try:
        with open(file, encoding="utf-8") as source:  # noqa: PTH123
            code = compile(source.read(), file, "exec")
        exec(code, {"__name__": "__main__", "__file__": file, "__builtins__": __builtins__})
    except SystemExit as left:
        return "passes" if left.code in (None, 0) else "fails"
    except BaseException as error:  # noqa: BLE001 - whatever the check raises is its result
        trace = error.__traceback__
        shown = trace.tb_next if trace else None
        traceback.print_exception(type(error), error, shown)
        return "cannot run" if is_own(error, file) else "fails"
    return "passes"


def is_own(error: BaseException, file: str) -> bool:
    """Whether the check itself is wrong: it uses a name that does not exist, or is not valid Python."""
    if not isinstance(error, CANNOT):
        return False
    trace = error.__traceback__
    places = []
    while trace is not None:
        places.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    own = [place for place in places if "importlib" not in place]
    return isinstance(error, SyntaxError) or not own or own[-1] in (file, __file__)


def by_pytest(file: str) -> str:
    import pytest

    class Recorder:
        def __init__(self) -> None:
            self.passed = self.failed = self.broken = 0

        def pytest_collectreport(self, report: "pytest.CollectReport") -> None:
            self.broken += report.failed

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):  # type: ignore[no-untyped-def]
            got = yield
            report = got.get_result()
            wrong = call.excinfo is not None and is_own(call.excinfo.value, file)
            if report.failed and (wrong or report.when != "call"):
                self.broken += 1
            elif report.when == "call":
                self.passed += report.passed
                self.failed += report.failed

    recorder = Recorder()
    flags = [
        "-q",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "--rootdir=/w",
        "--import-mode=importlib",
    ]
    pytest.main([*flags, "--no-header", "-o", "addopts=", file], plugins=[recorder])
    if recorder.broken:
        return "cannot run"
    return "fails" if recorder.failed else "passes" if recorder.passed else "no test"


if __name__ == "__main__":
    main()
