"""The lines behind a citation: those that stood there when it was looked up, with the quoted words marked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import crosses
import duels
import pytest
import revisions
from repositories import commit

import rebut
from rebut.cli.debated_versions import debated_versions
from rebut.record import sessions
from rebut.web.cited_lines import LONGEST, MOST, quoted_in
from rebut.web.frames import PageCitation
from rebut.web.live_session import LiveSession
from rebut.workspace.targets.target import Wanted


def looked_up(outcome: rebut.Outcome) -> list[tuple[PageCitation, dict[str, Any]]]:
    """Each citation of a debate, with its lines."""

    async def all_of() -> list[tuple[PageCitation, dict[str, Any]]]:
        followed = LiveSession(sessions.home() / outcome.session, debated_versions)
        try:
            followed.update()
            lines: dict[str, Any] = await followed.cited()
            return [(one, lines[id]) for id, one in followed.citations.items()]
        finally:
            await followed.close()

    return asyncio.run(all_of())


def at(outcome: rebut.Outcome, place: str) -> list[tuple[PageCitation, dict[str, Any]]]:
    """Those that cite one place."""
    found = [pair for pair in looked_up(outcome) if pair[0].evidence.place == place]
    assert found, [pair[0].evidence.place for pair in looked_up(outcome)]
    return found


def claimed(workspace: Path, place: str, quote: str = "") -> dict[str, Any]:
    """The lines of a claim that cites a place."""
    claim = {"text": "Something stands there.", "evidence": [duels.cite(place, quote)]}
    outcome = duels.duel(workspace, {"r1/opening@proposer": duels.opening(claims=[claim])})
    return next(found for one, found in looked_up(outcome) if one.by == "proposer" and one.evidence.quote == quote)


def marked_words(found: dict[str, Any]) -> list[str]:
    return [found["lines"][n - found["first"]][a:b] for n, a, b in found["hits"]]


def test_found_words_are_marked_in_their_line(workspace: Path) -> None:
    found = claimed(workspace, "src/session.py:2", "ttl = 3600")
    assert (found["path"], found["first"], found["from"], found["to"]) == ("src/session.py", 1, 2, 2)
    assert found["lines"][:3] == ["import redis", "ttl = 3600", "line_3 = 3"]
    assert marked_words(found) == ["ttl = 3600"]


def test_moved_words_are_shown_where_they_really_are(workspace: Path) -> None:
    found = claimed(workspace, "src/session.py:30", "ttl = 3600")
    assert found["from"] == 2 and marked_words(found) == ["ttl = 3600"]


def test_absent_words_show_what_stands_there_instead(workspace: Path) -> None:
    found = claimed(workspace, "src/session.py:10", "ttl = 9999")
    assert found["from"] == 10 and "line_10 = 10" in found["lines"] and found["hits"] == []


def test_a_line_after_the_end_shows_the_end_and_says_how_long_the_file_is(workspace: Path) -> None:
    found = claimed(workspace, "src/session.py:900")
    assert found["lines"][-1] == "line_39 = 39" and found["note"] == "the file has 39 lines"


def test_a_file_that_is_not_there_has_a_reason_and_no_lines(workspace: Path) -> None:
    found = claimed(workspace, "src/nowhere.py:3")
    assert "lines" not in found and "src/nowhere.py" in found["note"]


@pytest.mark.parametrize("place", ["https://example.org/a", "commit 1234567", "a feeling"])
def test_what_has_no_lines_says_so(workspace: Path, place: str) -> None:
    found = claimed(workspace, place)
    assert "lines" not in found and found["note"]


def test_a_range_is_shown_up_to_a_limit(workspace: Path) -> None:
    (workspace / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 200)))
    commit(workspace, "long")
    found = claimed(workspace, "long.txt:50-190")
    assert found["first"] == 47 and len(found["lines"]) <= MOST + 4 and found["to"] == 190


def test_a_line_of_megabytes_is_cut(workspace: Path) -> None:
    (workspace / "min.js").write_text("x" * 500_000 + "\n")
    commit(workspace, "minified")
    found = claimed(workspace, "min.js:1")
    assert all(len(line) <= LONGEST for line in found.get("lines", [])) and (found.get("lines") or found["note"])


def test_a_citation_that_is_not_on_record_has_no_lines(workspace: Path) -> None:
    outcome = duels.duel(workspace)
    followed = LiveSession(sessions.home() / outcome.session, debated_versions)
    followed.update()
    assert asyncio.run(followed.lines("../../etc/passwd")) == {"note": "this citation is not on record"}


# reviews


def test_words_that_only_the_old_side_has_are_shown_there(shop: Path) -> None:
    raised = crosses.raised("Charging came first.", "api/orders.py:5")
    raised["evidence"] = [duels.cite("api/orders.py:5-6", "charge(order)\n    commit(order)")]
    said = {"r1/critique@critic": crosses.critique(raised), "r1/judgement@judge": crosses.judgement("E")}
    [(cited, found)] = at(crosses.review(shop, said, rounds=1), "api/orders.py:5-6")
    assert cited.evidence.note.startswith("on the old side")
    assert marked_words(found) == ["charge(order)", "    commit(order)"]
    assert found["lines"][4 - found["first"] + 1] == "    charge(order)"


def test_a_citation_in_a_later_round_shows_the_version_that_was_under_review(shop: Path) -> None:
    new = crosses.raised("None is returned.", "api/orders.py:5", category="tests")
    new["evidence"] = [duels.cite("api/orders.py:5", "charge(order)")]
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(new),
        "r2/judgement@judge": crosses.judgement("E", {"F2": "valid P2"}),
    }

    found = at(crosses.review(shop, said, rounds=2), "api/orders.py:5")
    shown = {(one.version, row["lines"][5 - row["first"]]) for one, row in found}
    assert shown == {(0, "    commit(order)"), (1, "    charge(order)")}


def test_a_line_of_a_file_is_never_shown_from_the_text_under_review(tmp_path: Path) -> None:
    """In a folder without git no copy is kept."""
    place = tmp_path / "plain"
    place.mkdir()
    said = {"r1/critique@critic": crosses.proposal(crosses.raised(evidence=[duels.cite("src/app.py:3", "TTL = 3600")]))}
    said["r1/judgement@judge"] = crosses.judgement("E")
    wanted = Wanted("proposal", content="# Plan\n\nWe keep TTL = 3600.\n")
    for one, found in at(crosses.review(place, said, wanted), "src/app.py:3"):
        assert "lines" not in found and found["note"], one


def test_a_section_of_the_text_under_review_is_shown(shop: Path) -> None:
    raised = crosses.raised("A replica is needed.", "## Cost")
    raised["evidence"] = [duels.cite("## Cost", "A replica is not needed.")]
    said = {"r1/critique@critic": crosses.proposal(raised), "r1/judgement@judge": crosses.judgement("E")}
    outcome = crosses.review(shop, said, Wanted("proposal", content=crosses.PROPOSAL), rounds=1)
    [(_, found)] = at(outcome, "## Cost")
    assert "## Cost" in found["lines"] and marked_words(found) == ["A replica is not needed."]


def test_a_section_of_a_document_that_was_written_is_shown(workspace: Path) -> None:
    found = at(revisions.run(workspace), "§ Steps")
    assert all("## Steps" in row["lines"] for _, row in found)
    # Both were cited in round 1, before the drafts were revised.
    assert not any("As of round" in line for _, row in found for line in row["lines"])


def test_a_file_of_the_reviewed_commit_is_shown_as_it_was_then(shop: Path) -> None:
    sha = commit(shop, "two")
    (shop / "api/orders.py").write_text("nothing is left\n")
    (shop / "README.md").write_text("# Another shop\n")
    raised = crosses.raised()
    raised["evidence"] = [duels.cite("api/orders.py:5", "commit(order)"), duels.cite("README.md:1", "# Shop")]
    said = {"r1/critique@critic": crosses.critique(raised), "r1/judgement@judge": crosses.judgement("E")}
    outcome = crosses.review(shop, said, Wanted(scope=f"commit:{sha}"), rounds=1)
    assert at(outcome, "README.md:1")[0][1]["lines"] == ["# Shop"]
    assert "    commit(order)" in at(outcome, "api/orders.py:5")[0][1]["lines"]


# the quoted words


@pytest.mark.parametrize(
    ("lines", "quote", "hits"),
    [
        (["a b c"], "b", [(1, 2, 3)]),
        (["a  b", "  c"], "b c", [(1, 3, 4), (2, 0, 3)]),
        (["x"], "", []),
        (["x"], "y", []),
        (["a.*b"], ".*", [(1, 1, 3)]),
        (["one", "", "two"], "one two", [(1, 0, 3), (3, 0, 3)]),
        ([], "a", []),
    ],
)
def test_quoted_words_are_found_white_space_aside(lines: list[str], quote: str, hits: list[Any]) -> None:
    assert quoted_in(lines, quote) == hits
