"""Static analysers as a critic: the real ones, over real files, both sides of a change."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest

from rebut.backends.linters import tables
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.installation import with_extra
from rebut.core.types import Changed, Finding
from rebut.protocols.cross.forms import Category, CodeCritique
from tests.changes import asked, changed, critique, lines_of, mended, rules_of, with_rule

CATEGORIES = get_args(get_args(Category)[0])
BIN = Path(sysconfig.get_path("scripts"))
WORKFLOW = ".github/workflows/ci.yml"
DEFECTS = {
    "a.py": ("import subprocess\n\n\ndef run(x):\n    subprocess.call(x, shell=True)\n", "B602"),
    "b.py": ("print(nowhere)\n", "F821"),
    "a.sh": ('#!/bin/sh\nrm -r "$1"\necho $1\n', "SC2086"),
    "a.js": ("export function f(x) {\n  if (x === NaN) return 1;\n  debugger;\n}\n", "no-debugger"),
    WORKFLOW: (
        "on: push\npermissions: {}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        '      - run: echo "${{ github.event.head_commit.message }}"\n',
        "template-injection",
    ),
    "Dockerfile": ("FROM debian:12\nRUN sudo ls\n", "DL3004"),
}
"""For each analyser a file, and a rule that it breaks."""


def ruff(*change: Changed) -> CodeCritique:
    return critique(*change, spec="lint:ruff")


def tally(*change: Changed) -> str:
    return asked(*change, spec="lint:ruff").notes[-1].partition("): ")[2]


# the critique


def test_files_that_no_analyser_reads_are_named_and_deleted_ones_are_not() -> None:
    change = [changed("a.py", None, "x = 1\n"), changed("b.md", None, "b\n"), changed("c.md", "c\n", None)]
    said = asked(*change)
    assert said.skipped == ("b.md",)
    assert "No analyser is for 1 file of this change: b.md." in critique(*change).suggestions
    many = [changed("a.py", None, "x = 1\n"), *(changed(f"{n}.md", None, "b\n") for n in range(7))]
    [listed] = [one for one in critique(*many).suggestions if one.startswith("No analyser is for")]
    assert listed.endswith("for 7 files of this change: 0.md, 1.md, 2.md, 3.md, 4.md and 2 more.")
    assert len(asked(*many).skipped) == 7
    nothing = asked(changed("b.md", None, "b\n"))
    assert nothing.skipped == ("b.md",) and nothing.notes[-1].startswith("lint (no analyser): 0 raised")


@pytest.mark.parametrize(
    ("text", "spec", "state"),
    [
        ("subprocess call with shell=True (bandit B602).", "lint", "fixed"),
        ("subprocess call with shell=True (bandit B602).", "lint:ruff", "not checked"),
        (
            "Undefined name `gone` (ruff F821). A comment there silences the rule, and did so before this change.",
            "lint",
            "fixed",
        ),
        ("The retry has no bound.", "lint", "not checked"),
        ("It is wrong (ruff says so, too).", "lint", "not checked"),
    ],
)
def test_only_the_analyser_that_raised_a_finding_can_call_it_fixed(text: str, spec: str, state: str) -> None:
    # J7: a finding of a model was called fixed because an analyser had nothing to say about its file
    before = Finding("F1", "P1", "security", text, place="a.py:1")
    found = critique(changed("a.py", "x = 1\n", "x = 2\n"), spec=spec, earlier=(before,))
    assert [(one.id, one.state) for one in found.earlier] == [("F1", state)]


def test_a_new_file_is_read_by_whatever_fits_and_each_finding_has_place_quote_severity_and_action() -> None:  # C1 J7
    found = critique(*(changed(path, None, text) for path, (text, _) in DEFECTS.items()))
    for path, (text, rule) in DEFECTS.items():
        one = with_rule(found, rule)
        cite = one.evidence[0]
        first, last = lines_of(one)
        assert cite.place.startswith(f"{path}:"), cite
        assert cite.quote == "\n".join(text.split("\n")[first - 1 : last]).strip() and cite.quote
        assert one.severity in ("P1", "P2") and one.category in CATEGORIES and one.action
    severities = [one.severity for one in found.findings]
    assert severities == sorted(severities), "the gravest first"
    assert not found.agrees


def test_the_reply_says_that_rules_made_it_and_that_it_cost_nothing() -> None:  # C1
    reply = asked(changed("a.py", None, DEFECTS["a.py"][0]))
    assert re.fullmatch(r"ruff \d+\.\d+[\d.]*, bandit \d+\.\d+[\d.]*", reply.model), "only who had something to read"
    assert (reply.family, reply.usd, reply.usage.total) == ("rules", 0.0, 0)
    assert any(reply.model in line and "Rule-based" in line for line in json.loads(reply.text)["suggestions"])


def test_nothing_new_is_agreement() -> None:  # J7
    found = critique(changed("a.py", "x = 1\n", "x = 2\n"))
    assert found.agrees and not found.findings and found.agreements


def test_more_than_fits_is_cut_at_the_least_grave_and_told() -> None:  # J7
    imports = "".join(f"import m{n}\n" for n in range(70))
    found = critique(changed("a.py", None, imports + "print(undefined)\n"))
    assert len(found.findings) == 60 and rules_of(found)[0] == "F821"
    assert any(re.match(r"11 more findings count", line) for line in found.suggestions)


# only what the change brings in


def test_each_number_of_the_tally() -> None:  # J7
    before = "import os\nimport json\nimport sys\n\n\ndef f():\n    return json\n"
    after = "import os\nimport json\nimport sys\nimport re\n\n\ndef f():\n    return nowhere\n"
    found = ruff(changed("a.py", before, after))
    # os and sys were unused before; json became unused on a line that nobody touched; re and nowhere are new
    assert tally(changed("a.py", before, after)) == "5 raised, 2 already there, 1 outside the change, 2 new"
    assert sorted(rules_of(found)) == ["F401", "F821"]
    assert lines_of(with_rule(found, "F821")) == (8, 8)
    assert any("5 raised, 2 already there, 1 outside the change, 2 new" in line for line in found.suggestions)


def test_of_two_alike_where_there_was_one_the_written_one_is_new() -> None:  # J7
    before = "def f():\n    return nowhere\n"
    for after, line in (
        ("def g():\n    return nowhere\n\n\ndef f():\n    return nowhere\n", 2),
        ("def f():\n    return nowhere\n\n\ndef g():\n    return nowhere\n", 6),
    ):
        found = ruff(changed("a.py", before, after))
        assert [lines_of(one) for one in found.findings] == [(line, line)]


def test_what_only_moved_or_was_indented_was_already_there() -> None:  # J7
    before = "def f():\n    return nowhere\n"
    assert ruff(changed("a.py", before, f"X = 1\n\nif X:\n    {before.replace(chr(10), chr(10) + '    ')}\n")).agrees
    moved = ruff(changed("a.py", before, "\n"), changed("b.py", None, before))
    assert moved.agrees, "from one file to another"
    both = ruff(changed("a.py", before, f"{before}\n\nX = 1\n"), changed("b.py", None, before))
    assert rules_of(both) == ["F821"], "a copy is new"
    twice = ruff(changed("a.py", before, "\n"), changed("b.py", None, before), changed("c.py", None, before))
    assert rules_of(twice) == ["F821"], "one of them moved, the other is new"


def test_a_finding_over_several_lines_counts_when_one_of_them_was_written() -> None:  # J7
    before = "import subprocess\n\n\ndef f(x):\n    subprocess.call(\n        x,\n    )\n"
    after = before.replace("        x,\n", "        x,\n        shell=True,\n")
    found = critique(changed("a.py", before, after))
    assert lines_of(with_rule(found, "B602")) == (7, 7), "it points at a written line"
    assert found.findings[0].evidence[0].quote == "shell=True,"


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "rule"),
    [
        ("Dockerfile", "FROM debian:12\nRUN set -e; \\\n    @\nUSER me\n", "ls", "sudo ls", "DL3004"),
        ("Dockerfile", "FROM debian:12\nRUN <<E\nset -e\n@\nE\n", "ls", "sudo ls", "DL3004"),
        ("Dockerfile", "FROM debian:12\nRUN a; \\\r b; \\\n    @\n", "ls", "sudo ls", "DL3004"),
        ("a.js", "export const a = {\n  b: 1,\n  @: 2,\n};\n", "c", "b", "no-dupe-keys"),
    ],
)
def test_a_finding_counts_where_the_tool_names_only_the_first_line_of_several(
    path: str, text: str, old: str, new: str, rule: str
) -> None:  # J7
    found = critique(changed(path, text.replace("@", old), text.replace("@", new)))
    one = with_rule(found, rule)
    assert not found.agrees and new in one.evidence[0].quote, "the line that was written is cited"


def test_a_finding_ends_with_its_own_instruction() -> None:  # J7
    text = "FROM debian:12\nRUN cd /x && ls\n\nEXPOSE {}\n"
    found = critique(changed("Dockerfile", text.format(80), text.format(81)))
    assert found.agrees and not found.findings


def test_a_renamed_file_is_held_against_what_it_was() -> None:  # J7
    before = "import os\n"
    found = ruff(changed("new.py", before, "import os\nimport re\n", old_path="old.py"))
    assert [one.evidence[0].place.partition(":")[0] for one in found.findings] == ["new.py"]
    assert (
        tally(changed("new.py", before, before, "old.py")) == "1 raised, 1 already there, 0 outside the change, 0 new"
    )


def test_a_deleted_file_raises_nothing_and_lends_its_findings_to_where_its_code_went() -> None:  # J7
    gone = changed("old.py", "import os\n", None)
    assert ruff(gone, changed("a.py", "x = 1\n", "x = 2\n")).agrees
    assert ruff(gone, changed("b.py", None, "import os\n")).agrees
    with pytest.raises(ParticipantFailed, match=r"no analyser reads files that were deleted: old\.py"):
        asked(gone)


# what cannot be read


def test_a_file_that_does_not_parse_is_a_finding_and_is_told_as_unread() -> None:  # J7
    for path, text in (
        ("a.py", "def f(:\n    pass\n"),
        ("a.sh", "#!/bin/sh\nif [ x; then\n"),
        ("a.js", "function ( {\n"),
        ("Dockerfile", "FRM x\n"),
    ):
        found = critique(changed(path, None, text))
        assert found.findings and not found.agrees, path
        assert any(line.startswith(f"Not read completely: {path} (") for line in found.suggestions), path


def test_what_a_tool_says_that_it_could_not_read_is_unread() -> None:  # J7
    change = [changed("a.py", None, "def f(:\n"), changed("b.py", None, "x = 1\n")]
    found = critique(*change, spec="lint:bandit")
    assert not found.findings and not found.agrees
    assert "Not read completely: a.py (bandit could not read all of it)." in found.suggestions


def test_one_broken_before_too_is_not_agreed_to_though_nothing_stands() -> None:  # J7
    broken = "def f(:\n    pass\n"
    found = critique(changed("a.py", broken, broken + "x = 1\n"))
    assert not found.findings and not found.agrees and "Not read completely: a.py" in "\n".join(found.suggestions)


def test_a_workflow_that_is_no_yaml_takes_no_other_along() -> None:  # J7
    found = critique(changed(WORKFLOW, None, DEFECTS[WORKFLOW][0]), changed(".github/workflows/b.yml", None, "on: [\n"))
    assert "template-injection" in rules_of(found)
    assert next(s for s in found.suggestions if s.startswith("Not read")).startswith(
        "Not read completely: .github/workflows/b.yml (zizmor: exit 1"
    )


def test_bytes_that_are_no_utf8_reach_the_analysers_as_they_were() -> None:  # J7
    text = b'x = "\xe9"\n'.decode("utf-8", "surrogateescape")
    found = critique(changed("a.py", None, text), changed("b.py", None, "import os\n"))
    assert "E902" in rules_of(found) and "F401" in rules_of(found) and not found.agrees
    whole = critique(changed("a.py", None, "# coding: latin-1\n" + text))
    assert "a.py" in "\n".join(whole.suggestions), "ruff reads UTF-8 only, and that is told"


def test_a_carriage_return_alone_hides_no_line_and_shifts_none() -> None:  # J7
    text = "x = 1  # harmless\rimport os\ny = 2\nimport re\n"
    found = critique(changed("a.py", None, text), spec="lint:ruff")
    assert [(lines_of(one), one.fix) for one in found.findings] == [((1, 1), ""), ((3, 3), "")]


def test_tools_that_count_lines_otherwise_come_to_the_same_line() -> None:  # J7
    found = critique(changed("a.sh", None, "#!/bin/sh\necho a\recho b\necho $1\n"))
    assert lines_of(with_rule(found, "SC2086")) == (3, 3)


def test_windows_line_ends_change_neither_lines_nor_quotes() -> None:  # J7
    found = critique(changed("a.py", None, "x = 1\r\nimport os\r\ny = 2\r\n"))
    one = found.findings[0]
    assert rules_of(found) == ["F401"] and one.evidence[0].quote == "import os\ny = 2" and one.fix == "y = 2"


def test_a_kind_of_file_that_no_analyser_knows_is_passed_over() -> None:  # J7
    assert critique(changed("a.py", None, "x = 1\n"), changed("README.md", None, "hello\n")).agrees
    assert asked(changed("README.md", None, "hello\n")).skipped == ("README.md",)


def test_a_script_is_known_by_its_first_line() -> None:  # J7
    assert "SC2086" in rules_of(critique(changed("bin/run", None, "#!/usr/bin/env bash\necho $1\n")))
    assert asked(changed("bin/run", None, "#!/usr/bin/env fish\necho $1\n")).skipped == ("bin/run",)


# who may say what is looked at


def hostile_files() -> dict[str, str]:
    return {
        "pyproject.toml": '[tool.ruff]\nexclude = ["*"]\n[tool.ruff.lint]\nselect = []\nignore = ["ALL"]\n'
        '[tool.bandit]\nskips = ["B602"]\n',
        ".ruff.toml": 'exclude = ["*"]\n[lint.per-file-ignores]\n"*" = ["ALL"]\n',
        "ruff.toml": "this is broken [\n",
        ".bandit": "[bandit]\nskips: B602\nexclude: *\n",
        ".shellcheckrc": "disable=SC2086\n",
        ".oxlintrc.json": '{"ignorePatterns": ["**"], "rules": {"no-debugger": "off"}}',
        "oxlint.config.ts": "throw new Error()",
        ".eslintignore": "*\n",
        ".gitignore": "*\n",
        ".ignore": "*\n",
        ".hadolint.yaml": "ignored:\n  - DL3004\n",
        "zizmor.yml": "rules:\n  template-injection:\n    disable: true\n",
        ".github/zizmor.yml": "rules:\n  template-injection:\n    disable: true\n",
    }


@pytest.mark.parametrize("where", ["the change", "the home folder and all below", "the working folder"])
def test_no_config_of_anybody_changes_what_is_found(
    where: str, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # J7 C9
    change = [changed(path, None, text) for path, (text, _) in DEFECTS.items()]
    whole = rules_of(critique(*change))
    more = []
    monkeypatch.chdir(tmp_path)
    for name, text in hostile_files().items():
        if where == "the change":
            more.append(changed(name, None, text))
            more.append(changed(f"deep/{name}", None, text))
            continue
        for place in (
            [tmp_path] if where == "the working folder" else [own_home, own_home / ".cache", own_home / ".cache/rebut"]
        ):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
            (place / ".git").mkdir(exist_ok=True)
            (place / ".config").mkdir(exist_ok=True)
            (place / ".config" / name.rpartition("/")[2].lstrip(".")).write_text(text)
    found = rules_of(critique(*change, *more))
    assert [rule for rule in found if rule in whole] == whole


def test_no_variable_of_the_environment_changes_what_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # J7 C9
    change = [changed(path, None, text) for path, (text, _) in DEFECTS.items()]
    whole = rules_of(critique(*change))
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit(3)\n")
    env = {"SHELLCHECK_OPTS": "-e SC2086", "RUFF_OUTPUT_FORMAT": "grouped", "PYTHONPATH": str(tmp_path)}
    for name, value in {**env, "HADOLINT_IGNORE": "DL3004", "ZIZMOR_CONFIG": "/none"}.items():
        monkeypatch.setenv(name, value)
    assert rules_of(critique(*change)) == whole


SILENT = [
    ("a.py", "import os  # noqa\n", "F401", "P3"),
    ("a.py", "print(nowhere)  # noqa: F821\n", "F821", "P1"),
    ("a.py", "import subprocess\nsubprocess.call('x' + __name__, shell=True)  # nosec\n", "B602", "P1"),
    ("a.py", "import subprocess\nsubprocess.call('x' + __name__,\n    shell=True)  # nosec B602\n", "B602", "P1"),
    ("a.sh", "#!/bin/sh\necho $1 # shellcheck disable=SC2086\n", "SC2086", "P2"),
    ("a.sh", "#!/bin/sh\n# shellcheck disable=SC2086\necho $1\n", "SC2086", "P2"),
    ("a.sh", "#!/bin/sh\n# shellcheck shell=sh disable=SC2086\necho $1\n", "SC2086", "P2"),
    ("a.sh", "#!/bin/sh\n#\u00a0shellcheck disable=SC2086\necho $1\n", "SC2086", "P2"),
    ("a.sh", "#!/bin/sh\n# shellcheck\u2003disable=SC2086\necho $1\n", "SC2086", "P2"),
    ("a.sh", "#!/bin/sh\n# \u200bshellcheck shell=sh disable=SC2086\necho $1\n", "SC2086", "P2"),
    ("a.sh", "#!/bin/sh\n# shellcheck shell=sh# disable=SC2086\necho $1\n", "SC2086", "P2"),
    ("a.js", "debugger; // eslint-disable-line\n", "no-debugger", "P2"),
    ("a.js", "// eslint-disable-next-line no-debugger\ndebugger;\n", "no-debugger", "P2"),
    ("a.js", "debugger; // oxlint-disable-line\n", "no-debugger", "P2"),
    ("Dockerfile", "FROM debian:12\n# hadolint ignore=DL3004\nRUN sudo ls\n", "DL3004", "P2"),
    (
        WORKFLOW,
        DEFECTS[WORKFLOW][0].rstrip() + " # zizmor: ignore[template-injection]\n",
        "template-injection",
        "P1",
    ),
]


@pytest.mark.parametrize(("path", "text", "rule", "severity"), SILENT)
def test_a_comment_that_the_change_brings_in_hides_and_lowers_nothing(
    path: str, text: str, rule: str, severity: str
) -> None:  # J7
    one = with_rule(critique(changed(path, None, text)), rule)
    assert one.severity == severity and "This change brings in a comment that silences the rule" in one.text
    assert one.evidence[0].quote in text, "quoted as it is written, not as it was copied"


def test_a_comment_added_to_an_old_line_lowers_nothing_either() -> None:  # J7
    old = "import subprocess\nsubprocess.call('x' + __name__, shell=True)\n"
    one = with_rule(critique(changed("a.py", old, old.rstrip() + "  # nosec\n")), "B602")
    assert one.severity == "P1" and "This change brings in a comment" in one.text


# The name was defined in the base, so that F821 is new though its line is not.
DEFINED = "print(1)\nfirst = 1\nif first:\n    print(first)  # noqa: F821\n"


def test_a_comment_that_the_base_had_on_the_same_line_counts_also_when_both_were_moved() -> None:  # J7
    moved = "if 1:\n        print(first)  # noqa: F821\nprint(1)\n"
    one = with_rule(critique(changed("a.py", DEFINED, moved)), "F821")
    assert one.severity == "P3" and "did so before this change" in one.text
    gone = changed("a.py", DEFINED, "print(1)\n")
    one = with_rule(critique(gone, changed("b.py", None, "print(first)  # noqa: F821\n")), "F821")
    assert one.severity == "P3", "moved to another file"


def test_a_comment_of_the_base_counts_as_often_as_it_was_there_and_for_no_other_code() -> None:  # J7
    twice = "print(first)  # noqa: F821\nprint(first)  # noqa: F821\n"
    found = critique(changed("a.py", DEFINED, twice))
    assert sorted(one.severity for one in found.findings if "F821" in one.text) == ["P1", "P3"]
    other = DEFINED.replace("print(first)  # noqa", "print(second)  # noqa")
    assert with_rule(critique(changed("a.py", DEFINED, other)), "F821").severity == "P1"
    shell = "#!/bin/sh\n# shellcheck disable=SC2086\n{}\n"
    rewritten = changed("a.sh", shell.format("echo 1"), shell.format("rm -r $1"))
    assert with_rule(critique(rewritten), "SC2086").severity == "P2", "the old comment was never about this line"


def test_a_comment_about_other_rules_silences_nothing() -> None:  # J7
    moved = changed("a.py", DEFINED.replace("F821", "E501"), "print(first)  # noqa: E501\n")
    one = with_rule(critique(moved), "F821")
    assert one.severity == "P1" and "comment" not in one.text


@pytest.mark.parametrize(
    ("path", "head", "rule"),
    [
        ("a.py", "# ruff: noqa\n# flake8: noqa\n# nosec\n", "B602"),
        ("a.sh", "# shellcheck disable=all\n", "SC2086"),
        ("a.js", "/* eslint-disable */\n/* oxlint-disable */\n", "no-debugger"),
        (WORKFLOW, "# zizmor: ignore[template-injection]\n", "template-injection"),
        ("Dockerfile", "# hadolint global ignore=DL3004\n", "DL3004"),
    ],
)
def test_a_comment_at_the_head_of_a_file_silences_nothing(path: str, head: str, rule: str) -> None:  # J7
    text = DEFECTS[path][0]
    silent = text.replace("\n", f"\n{head}", 1) if text.startswith("#!") else head + text
    assert with_rule(critique(changed(path, None, silent)), rule).severity in ("P1", "P2")


def test_a_comment_of_shellcheck_in_a_command_of_a_dockerfile_silences_nothing() -> None:  # J7
    for space in (" ", "\u202f", "\u200b"):
        text = f"FROM debian:12\nRUN <<E\n#{space}shellcheck{space}disable=SC2086\nrm $1\nE\n"
        assert with_rule(critique(changed("Dockerfile", None, text)), "SC2086")


@pytest.mark.parametrize("stop", ["#!/bin/zsh", "#!/bin/sh\nfi", "#!/bin/sh\n}", "#!/bin/sh\n&&", "#!/bin/sh\na(b"])
def test_a_script_of_the_base_that_shellcheck_stops_reading_is_unread(stop: str) -> None:  # C5 J7
    found = critique(changed("a.sh", f"{stop}\necho 1\n", f"{stop}\necho 1\nrm -r $1\n"))
    assert not found.agrees and any("Not read completely: a.sh" in one for one in found.suggestions)


@pytest.mark.parametrize("head", ["// @flow", "/* @noflow */", "/**\n * @flow strict\n */"])
def test_a_file_that_calls_itself_flow_is_read_or_told_as_unread(head: str) -> None:  # C5 J7
    assert "no-debugger" in " ".join(rules_of(critique(changed("a.js", None, f"{head}\ndebugger;\n"))))
    found = critique(changed("a.js", None, f"{head}\ndebugger;\n(1: any);\n"))
    assert not found.agrees and any("Not read completely: a.js" in one for one in found.suggestions)


NAMES = (
    *("-rf.py", "--config=x.py", "../../up.py", "/etc/abs.py", "$(id).py", "CVS.py", "x.git/a.py", "node_modules/a.py"),
    *(".venv/a.py", "ü/é.py", "x.egg/a.py", "*.py", "[a].py", "a b.py", 'it\'s "q".py', "a\nb.py", "x" * 250 + ".py"),
)


def test_a_name_of_a_file_does_nothing_but_be_told(own_home: Path) -> None:  # J7 C9
    names = [*NAMES, "a/" * 200 + "b.py"]
    text = "import subprocess\nsubprocess.call('x' + __name__, shell=True)\n"
    found = critique(*(changed(name, None, text) for name in names))
    assert [one.evidence[0].place for one in found.findings] == sorted(f"{name}:2" for name in names)
    assert "Not wholly" not in "\n".join(found.suggestions)
    left = [path.name for path in own_home.rglob("*")]
    assert sorted(left) == [".cache", "rebut"], "nothing is left behind, and nothing was laid elsewhere"


def test_only_the_user_can_look_at_what_is_analysed(own_home: Path, tmp_path: Path) -> None:  # C9
    tool = script(
        tmp_path,
        "look",
        'stat -c "%a %n" . .. ./* > "$HOME/../../../../seen"; pwd >> "$HOME/../../../../seen"; echo "[]"',
    )
    asked(changed("a.look", None, "x"), config=table("look", tool))
    seen = (own_home / ".cache" / "seen").read_text().splitlines()
    assert {line.split()[0] for line in seen[:-1]} == {"700"} and len(seen) >= 4
    assert seen[-1].startswith(str(own_home / ".cache/rebut/run-"))


# fixes


FIXES = {
    "an import by itself": "import os\nimport re\n\nprint(re)\n",
    "the only line": "import os\n",
    "the last line": "x = 1\nimport os\n",
    "without a newline at the end": "x = 1\nimport os",
    "one of two": "import os, re\n\nprint(re)\n",
    "indented": "def f():\n    import os\n    import re\n\n    return re\n",
    "beyond ASCII": 'def f():\n    s = "ü😀"; import os, re\n    return s, re\n',
    "with a tab": "if True:\n\timport os, re\n\tprint(re)\n",
    "over several lines": "from os import (\n    path,\n    sep,\n    name,\n)\n\nprint(path, name)\n",
    "a format": 'print("{} {}".format(1, 2), f"x")\n',
    "not in": "def f(a, b):\n    return not a in b\n",
}


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_in_place_of_the_cited_lines_is_what_the_tool_itself_would_write(name: str, tmp_path: Path) -> None:  # J7
    text = FIXES[name]
    found = critique(changed("a.py", None, text), spec="lint:ruff")
    with_fix = [one for one in found.findings if one.fix]
    if name == "the only line":
        assert not with_fix or mended(text, with_fix[0]).strip() == "", "nothing may stand where all is taken away"
        return
    one = with_fix[0]
    rule = rules_of(found)[found.findings.index(one)]
    (tmp_path / "a.py").write_text(text)
    own = [str(BIN / "ruff"), "check", "--isolated", "--no-cache", "-q", "--fix", f"--select={rule}", "a.py"]
    subprocess.run(own, cwd=tmp_path, check=False)
    assert (tmp_path / "a.py").read_text() != text
    assert mended(text, one) == (tmp_path / "a.py").read_text()


def test_a_fix_of_a_shell_script_keeps_what_stands_around_it() -> None:  # J7
    text = "#!/bin/sh\nif true; then\n\techo ü $1 end\nfi\n"
    one = with_rule(critique(changed("a.sh", None, text)), "SC2086")
    assert mended(text, one) == '#!/bin/sh\nif true; then\n\techo ü "$1" end\nfi\n'


def test_a_fix_that_the_tool_calls_unsafe_is_not_offered() -> None:  # J7
    assert with_rule(critique(changed("a.py", None, "def f(a=[]):\n    return a\n")), "B006").fix == ""


# analysers that fail, and one of the user's own


def script(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def table(name: str, command: Path | str, more: str = "") -> str:
    return f"""
[analysers.{name}]
command = "{command}"
files = ["*.{name}"]
{more}
[analysers.{name}.output]
items = "*"
rule = "rule"
path = "path"
line = "line"
message = "message"
[[analysers.{name}.grades]]
rules = ["*"]
severity = "P2"
category = "tests"
"""


def test_an_analyser_of_the_users_own_is_a_table_in_their_config(tmp_path: Path) -> None:  # C1
    body = """for f; do printf '[{"rule": "X1", "path": "%s", "line": 2, "message": "two"}]' "$f"; done"""
    tool = script(tmp_path, "mine", f'test "$1" = --version && echo "mine 4.5" && exit\n{body}')
    found = critique(changed("a.mine", None, "one\ntwo\n"), config=table("mine", tool))
    one = found.findings[0]
    assert (one.evidence[0].place, one.evidence[0].quote, one.category) == ("a.mine:2", "two", "tests")
    assert asked(changed("a.mine", None, "x\n"), config=table("mine", tool)).model == "mine 4.5"


@pytest.mark.parametrize(
    ("after", "column", "line"),
    [
        ("a\nb\nnew\nd\ne\n", 5, 3),  # a line in its middle was written
        ("new\nb\nc2\nd\ne\n", 5, 3),  # another too, before it
        ("a\nb\nc\nnew\ne\n", 5, 4),
        ("a\nb\nc\nnew\ne\n", 1, None),  # it ends before the first character of that line
        ("a\nb\nc\nd\nnew\n", 5, None),
    ],
)
def test_a_span_is_in_the_change_when_one_of_its_lines_was_written(
    after: str, column: int, line: int | None, tmp_path: Path
) -> None:  # J7
    one = f'{{"rule": "S", "path": "%s", "line": 2, "end": 4, "column": {column}, "message": "m"}}'
    tool = script(tmp_path, "span", f"""grep -q new "$1" && printf '[{one}]' "$1" || echo "[]" """)
    shape = table("span", tool).replace("[[analysers", 'end = "end"\nend_column = "column"\n[[analysers')
    found = critique(changed("a.span", "a\nb\nc\nd\ne\n", after), config=shape)
    assert [lines_of(raised)[0] for raised in found.findings] == ([line] if line else [])


def test_one_that_hangs_is_ended_with_its_group_and_what_it_should_have_read_is_unread(tmp_path: Path) -> None:  # C9
    tool = script(tmp_path, "slow", 'test "$1" = --version && exit\ntrap "" TERM\nsleep 1000 &\nsleep 1000')
    groups: list[int] = []
    change = [changed("a.slow", None, "x\n"), changed("a.py", None, "x = 1\n")]
    found = critique(*change, config=table("slow", tool, "timeout = 0.3"), on_spawn=groups.append)
    assert not found.agrees and not found.findings
    assert "Not read completely: a.slow (slow: no report within 0.3 s)." in found.suggestions
    assert len(groups) >= 3, "each is told, so that a resume can end what a dead rebut left behind"
    assert not [group for group in groups if running(group)]


def running(group: int) -> list[str]:
    """The processes of a group that still run. A zombie, which nobody has asked about yet, does not."""
    fields = []
    for stat_file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields.append(stat_file.read_text().rpartition(")")[2].split())
    return [state for state, _, its, *_ in fields if int(its) == group and state != "Z"]


def test_the_limit_of_the_call_holds_for_all_and_those_in_time_are_heard(tmp_path: Path) -> None:  # C9
    tool = script(tmp_path, "slow", 'test "$1" = --version || exec sleep 1000')
    change = [changed("a.slow", None, "x\n"), changed("a.py", None, "import os\n")]
    found = critique(*change, config=table("slow", tool), seconds=4.0)
    assert rules_of(found) == ["F401"] and "slow: no report within" in "\n".join(found.suggestions)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo went wrong >&2; exit 7", "exit 7: went wrong"),
        ("kill -SEGV $$", "exit -11"),
        ("echo no json", "its report cannot be read"),
        ("true", "its report cannot be read"),
        ("""echo '[{"rule": "X", "path": "elsewhere", "line": 1, "message": "m"}]'""", "a file that it was not given"),
        ('test "$1" = --version || exec head -c 5000000 /dev/zero', "its report is too large"),
    ],
)
def test_one_that_breaks_leaves_its_files_unread_and_the_others_read(body: str, why: str, tmp_path: Path) -> None:  # C5
    tool = script(tmp_path, "odd", body)
    change = [changed("a.odd", None, "x\n"), changed("a.py", None, "import os\n")]
    found = critique(*change, config=table("odd", tool))
    assert rules_of(found) == ["F401"] and not found.agrees
    assert [s for s in found.suggestions if s.startswith("Not read completely: a.odd (odd")] and why in "\n".join(
        found.suggestions
    )
    with pytest.raises(ParticipantFailed, match="no analyser could read any changed file") as failed:
        asked(change[0], config=table("odd", tool))
    assert failed.value.kind == "crashed"


def test_one_of_two_that_breaks_is_enough_to_withhold_agreement(tmp_path: Path) -> None:  # C5
    found = critique(
        changed("a.py", None, "x = 1\n"), config=f'[analysers.bandit]\ncommand = "{script(tmp_path, "b", "exit 9")}"\n'
    )
    assert not found.agrees and "bandit: exit 9" in "\n".join(found.suggestions)


def test_an_old_side_that_cannot_be_read_is_told() -> None:  # J7
    found = critique(changed("a.py", "def f(:\n", "import os\n"))
    assert rules_of(found) == ["F401"]
    assert any(s.startswith("The old version of a.py was not read completely") for s in found.suggestions)


def test_a_file_whose_analyser_is_not_installed_is_unread() -> None:  # C5
    change = [changed("a.sh", None, "#!/bin/sh\necho hi\n"), changed("a.py", None, "x = 1\n")]
    assert critique(*change).agrees
    found = critique(*change, config='[analysers.shellcheck]\ncommand = "/nowhere/shellcheck"\n')
    assert not found.agrees and "Not read completely: a.sh (not installed: shellcheck)." in found.suggestions


def test_with_no_analyser_installed_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C5
    monkeypatch.setattr(tables.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(ParticipantFailed, match="no analyser is installed") as failed:
        asked(changed("a.py", None, "x = 1\n"), env={"PATH": "bin:."})
    assert failed.value.kind == "missing tool" and with_extra("lint") in failed.value.hint


def test_a_program_in_a_relative_place_of_the_path_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # C9
    monkeypatch.setattr(tables.sysconfig, "get_path", lambda name: str(tmp_path / "none"))
    script(tmp_path, "ruff", f"touch {tmp_path}/ran")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParticipantFailed, match="no analyser is installed"):
        asked(changed("a.py", None, "x = 1\n"), env={"PATH": ".:"})
    assert not (tmp_path / "ran").exists()


def test_without_a_code_change_it_says_what_it_is_for() -> None:  # C5
    with pytest.raises(ParticipantFailed, match="lint reads code changes, and this question has none") as failed:
        asked()
    assert "--critic lint" in failed.value.hint


def test_a_spec_may_name_the_analysers() -> None:  # C1
    change = changed("a.py", None, DEFECTS["a.py"][0] + "import os\n")
    assert asked(change, spec="lint:ruff").model.startswith("ruff ") and rules_of(
        critique(change, spec="lint:bandit")
    ) == ["B602"]
    assert asked(change, spec="lint:ruff+bandit").model == asked(change).model
    with pytest.raises(UsageError, match="has no analyser 'ruf'"):
        asked(change, spec="lint:ruf")
    assert "no levels of effort" in asked(change, spec="lint@high").notes[0]
