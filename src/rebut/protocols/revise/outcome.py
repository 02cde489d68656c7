"""How a revision ends: when it has converged, its outcome, and what the debate changed."""

from __future__ import annotations

from collections.abc import Sequence

from rebut.core.frozen import frozen
from rebut.core.json_value import Json
from rebut.core.markdown import inline
from rebut.core.text import counted, plural
from rebut.domain.doubts import Doubt
from rebut.domain.ledger import Ledger, Point, Severity
from rebut.domain.outcome import REWRITTEN, Outcome, Rewritten
from rebut.domain.worth import Worth, fates
from rebut.engine.debate import Debate
from rebut.protocols.revise import sections
from rebut.protocols.revise.render import NOTES, tally
from rebut.protocols.revise.settings import Settings
from rebut.protocols.revise.state import ReviseState
from rebut.protocols.shared import check_ignored, of_rounds
from rebut.workspace.context import without_numbers
from rebut.workspace.diff import BothTexts

WEAKNESS, DISAGREEMENT = "weakness", "disagreement"
COSMETIC: Severity = "P3"
DRAFTS = ("r0/draft*",)


# when the authors have converged: pure functions of the ledger after the critiques of a round


def reached(
    ledger: Ledger, round: int, authors: Sequence[str], *, weaknesses: int = 0, weightiest: Severity = COSMETIC
) -> str:
    """Return why no further round is needed; empty if one is needed.

    `weaknesses` and `weightiest` come from the critiques themselves. The ledger alone would miss an item that repeats a
    point which does not exist, and would count a weakness that repeats a disagreement as a disagreement.
    """
    if not weaknesses and not pressed(ledger, round, WEAKNESS):
        return "no weakness in either critique"
    if weightiest == COSMETIC and only_cosmetic(ledger, round):
        return "only cosmetic disagreements are left"
    if shared := conceded_by_all(ledger, round, authors):
        return f"both concede the same points ({', '.join(shared)})"
    return ""


def pressed(ledger: Ledger, round: int, kind: str) -> list[Point]:
    """Points of a kind that the critiques of this round raised, or raised again."""
    again = {m.point for m in ledger.moves if m.kind == "maintain" and m.round == round}
    return [p for p in ledger.points if p.category.startswith(kind) and (p.round == round or p.id in again)]


def only_cosmetic(ledger: Ledger, round: int) -> bool:
    """Whether there are disagreements, and all of them are of low severity and without impact."""
    at_issue = pressed(ledger, round, DISAGREEMENT)
    return bool(at_issue) and all(_severity(ledger, p, round) == COSMETIC for p in at_issue)


def conceded_by_all(ledger: Ledger, round: int, authors: Sequence[str]) -> list[str]:
    """The points that both authors concede, if neither concedes any other; from round 2 on."""
    sets = [
        {m.point for m in ledger.moves if m.round == round and m.by == author and m.kind in ("concede", "withdraw")}
        for author in authors
    ]
    if round < 2 or not sets or any(one != sets[0] for one in sets):
        return []
    return [p.id for p in ledger.points if p.id in sets[0]]


def _severity(ledger: Ledger, point: Point, round: int) -> str:
    """The gravest severity that the critiques of this round give to a point."""
    said: list[str] = [one.severity for one in point.wordings if one.round == round]
    said += [m.severity for m in ledger.moves if m.point == point.id and m.round == round and m.severity]
    return min(said, default=point.severity)


# the outcome: each way to end has its own heading, so that an incomplete result never reads as a complete one


def ended(
    debate: Debate, state: ReviseState, text: str, decision: str, found: Figures, notes: Sequence[str] = ()
) -> Outcome:
    debated = state.settings.debates
    page, rows = (found.markdown(), found.rows()) if debated else ("", ())
    return Outcome(
        kind="synthesis",
        heading=heading(state, bool(debate.ledger.points or debate.ledger.unplaced)),
        decision=decision,
        doubts=_doubts(state, notes),
        stopped=state.cut_short,
        final=f"{text}\n{page}" if page else text,
        data=data(state) | _rewritten(debate, state, text),
        notes=(*notes, *([state.contradiction] if state.contradiction else ()), *_unsupported(debate.ledger)),
        rows=(*rows, *_where(state)),
        worth=found.worth(state.files.names, "it ended early" if state.cut_short else "")
        if debated
        else Worth(caveat="the drafts were not debated", keys=DRAFTS),
    )


def _doubts(state: ReviseState, notes: Sequence[str]) -> tuple[Doubt, ...]:
    """Return the doubts about a result. `notes` say what was not read."""
    found = [Doubt("ended early", said=state.cut_short)] if state.cut_short else []
    found += [Doubt("part missing", said="; ".join(notes))] if notes else []
    if state.rounds and (silent := state.rounds[-1].silent):
        names = " and ".join(state.files.names[by] for by in silent)
        does = plural(len(silent), "leaves", "leave")
        said = f"the last {plural(len(silent), 'critique')} by {names} {does} out the weaknesses"
        which = plural(len(silent), "A CRITIQUE LEAVES", "BOTH CRITIQUES LEAVE")
        found.append(Doubt("part missing", f"{which} OUT THE WEAKNESSES", said))
    if state.left_out:
        said = f"the synthesizer did not rule on {', '.join(state.left_out)}"
        no_ruling = plural(len(state.left_out), "A POINT HAS NO RULING", "SOME POINTS HAVE NO RULING")
        found.append(Doubt("not weighed", no_ruling, said))
    if state.ignored:
        found.append(check_ignored(state.ignored, "the synthesizer does not follow"))
    if state.contradiction:
        found.append(Doubt("contradiction", "THE SYNTHESIZER CONTRADICTS ITSELF", state.contradiction))
    return (*found, *([] if state.settings.debates else [Doubt("not debated", said="the drafts were not debated")]))


def _unsupported(ledger: Ledger) -> list[str]:
    """A note on the weaknesses and disagreements that cite nothing, in any of their wordings."""
    bare = [p.id for p in ledger.points if not p.evidence]
    return [f"{', '.join(bare)} {plural(len(bare), 'cites', 'cite')} nothing: unsupported"] if bare else []


def heading(state: ReviseState, contested: bool) -> str:
    word = "PLAN" if state.stage.name == "plan" else "REVIEW VERDICT"
    if not state.settings.debates:
        return f"{word} OUT OF TWO DRAFTS, NOT DEBATED"
    done, budget = state.complete, state.planned
    if state.cut_short:
        stale = ", ONE VERSION STALE" if state.stale else ""
        return f"{word} AFTER {of_rounds(done, budget)}{stale}"
    if not contested:
        word = f"UNCONTESTED {word}"
    if state.converged:
        return f"{word}, CONVERGED AFTER {of_rounds(done, budget)}"
    return f"{word} AFTER {counted(done, 'ROUND', 'ROUNDS')}"


def no_synthesis(state: ReviseState, why: str) -> Outcome:
    """The outcome if a limit left no room for the closing call: the result is both documents."""
    texts = [
        f"# {state.files.names[n]}\n\n{sections.contained(versions[-1].text)}"
        for n, versions in enumerate(state.versions)
    ]
    return Outcome(
        kind="no synthesis",
        heading=f"NO SYNTHESIS, {of_rounds(state.complete, state.planned)}",
        doubts=(Doubt("ended early", said=why),),
        stopped=why,
        final="\n\n".join(texts) + "\n",
        data=data(state),
        rows=_where(state),
        worth=Worth(caveat="there is no synthesis to compare the drafts with", keys=DRAFTS),
    )


def one_sided(state: ReviseState) -> Outcome:
    [version] = [versions[-1] for versions in state.versions if versions]
    word = state.stage.name.upper()
    return Outcome(
        kind="one-sided",
        heading=f"ONE-SIDED {word}, 1 OF 2 AUTHORS",
        doubts=(Doubt("seats missing", said="only one of two authors wrote"),),
        stopped=state.cut_short,
        final=f"[WARN] Only one of two authors wrote a {state.stage.name}; it was not critiqued.\n\n"
        f"{sections.contained(version.text)}",
        data=data(state),
        rows=_where(state),
        worth=Worth(caveat="only one of two authors wrote, so nothing was debated", keys=DRAFTS),
    )


def single(state: ReviseState, notes: Sequence[str]) -> Outcome:
    return Outcome(
        kind="single",
        heading="SINGLE REVIEW, NOT DEBATED",
        doubts=_doubts(state, notes),
        final=sections.contained(state.latest(0).text),
        data=data(state),
        notes=tuple(notes),
        rows=_where(state),
    )


def partial(debate: Debate) -> Outcome:
    """The result at a deadline: how many rounds are complete, and which points are open."""
    settings: Settings = debate.settings
    done = sum(
        1
        for n in range(1, debate.planned(settings.rounds) + 1)
        if {f"r{n}/revision@author.1", f"r{n}/revision@author.2"}
        <= {key.replace(".again@", "@") for key in debate.answers}
    )
    drafted = sum(1 for key in debate.answers if key.startswith("r0/draft"))
    basis = f"round {done}" if done else counted(drafted, "draft") if drafted else "nothing yet"
    still = [f"- {p.id}: {inline(p.words())}" for p in debate.ledger.open]
    return Outcome(
        kind="partial",
        heading=f"NO {settings.stage.upper()} YET, {of_rounds(done, debate.planned(settings.rounds))}",
        basis=basis,
        final="\n".join(["### Points at issue", "", *(still or ["- none"])]) + "\n",
        data={"stage": settings.stage, "strategy": settings.strategy, "rounds_completed": done},
    )


def data(state: ReviseState) -> dict[str, Json]:
    return {
        "stage": state.stage.name,
        "strategy": state.settings.strategy,
        "phase": state.phase,
        "rounds_completed": state.complete,
        "converged": state.converged,
        "stale": [state.files.names[author] for author in sorted(state.stale)],
        "taken_up": [
            state.files.version(author, 1)
            for author, versions in enumerate(state.versions)
            if versions and versions[0].taken_up
        ],
    }


def _rewritten(debate: Debate, state: ReviseState, text: str) -> dict[str, Json]:
    """The diff from the plan that is rewritten to the new plan, as data; empty if no plan is rewritten."""
    file = state.settings.rewrites
    before = debate.topic if file == "-" else without_numbers(debate.context, file)
    if not file or before is None:
        return {}
    after = text.partition(f"\n## {NOTES}\n")[0].strip("\n") + "\n"
    texts = BothTexts(before.strip("\n") + "\n", after)
    diff = "\n".join(texts.hunks(texts.differences()))
    made = Rewritten("the text" if file == "-" else file, state.result_path, diff)
    return {REWRITTEN: made.to_json()}


def _where(state: ReviseState) -> tuple[tuple[str, str], ...]:
    reused = [f"{v[0].path.rpartition('/')[2]} existed and was used" for v in state.versions if v and v[0].taken_up]
    folder = str(state.folder) if state.settings.shared and state.settings.place else state.track
    latest = [versions[-1].path for versions in state.versions if versions]
    # Without a synthesis, the only document is the result.
    path = state.result_path or (latest[0] if len(latest) == 1 else "")
    # The user does not know the session's own folder, so the full path is shown.
    rows = [("result", f"{folder}/{path.rpartition('/')[2]}" if state.settings.shared else path)] if path else []
    inside = "" if state.settings.shared else ", in the session's own folder"
    return (*_cited(state), *rows, ("files", "; ".join([folder + inside, *reused])))


def _cited(state: ReviseState) -> tuple[tuple[str, str], ...]:
    """Rows on what the result cites, then on what the last version of each document cites."""
    named = [("result", state.result)]
    named += [(state.files.names[n], versions[-1].claims) for n, versions in enumerate(state.versions) if versions]
    rows = [f"{name} cites {cites}" for name, claims in named if (cites := tally(claims))]
    return tuple(("citations" if not n else "", row) for n, row in enumerate(rows))


# whether the debate was worth it: what changed between the first drafts and the result, counted by the program


@frozen
class Figures:
    """What a debate changed, in figures."""

    points: tuple[tuple[str, int], ...]
    """The statuses of the points that were raised, each with its count."""
    changed: tuple[tuple[str, int, int], ...]
    """Author, how many sections of its first draft were changed or removed, and how many it had."""
    baseline: str = ""
    """How the result differs from a synthesis of the first drafts alone, if that was requested."""

    def rows(self) -> tuple[tuple[str, str], ...]:
        return (("baseline", self.baseline),) if self.baseline else ()

    def worth(self, names: Sequence[str], caveat: str = "") -> Worth:
        """The same figures as a `Worth`, which every protocol returns."""
        moved, of = sum(n for _, n, _ in self.changed), sum(of for *_, of in self.changed)
        changed = [f"{moved} of {counted(of, 'section')} of the drafts changed"] if moved else []
        return Worth(
            first=f"two unargued drafts, of {' and '.join(names)}",
            points=self.points,
            changed=tuple(changed),
            same=not changed,
            caveat=caveat,
            keys=DRAFTS,
        )

    def markdown(self) -> str:
        statuses = ", ".join(f"{count} {status}" for status, count in self.points)
        raised = f"{counted(sum(count for _, count in self.points), 'point')} raised"
        sections = "; ".join(f"{name}: {n} of {counted(of, 'section')} changed" for name, n, of in self.changed)
        rows = [
            f"- Points: {raised}{f': {statuses}' if statuses else ''}",
            f"- Sections: {sections or 'nothing changed'}",
        ]
        rows += [f"- Baseline: {self.baseline}"] if self.baseline else []
        return "## Was It Worth It\n\n" + "\n".join(rows) + "\n"


def figures(ledger: Ledger, state: ReviseState, baseline: str = "") -> Figures:
    changed = [
        (state.files.names[author], *sections.changed(versions[0].text, versions[-1].text))
        for author, versions in enumerate(state.versions)
        if len(versions) > 1
    ]
    return Figures(fates(ledger), tuple(changed), baseline)


def compared(baseline: str, result: str) -> str:
    """One line on how the result differs from a synthesis of the first drafts alone."""
    changed, of = sections.changed(baseline, result)
    new, among = sections.changed(result, baseline)
    words = len(result.split()) - len(baseline.split())
    return (
        f"against a synthesis of the first drafts alone: {changed} of its {counted(of, 'section')} "
        f"{plural(changed, 'was', 'were')} changed or dropped; {new} of the {counted(among, 'section')} of this result "
        f"{plural(new, 'is', 'are')} new or different; {words:+} words"
    )
