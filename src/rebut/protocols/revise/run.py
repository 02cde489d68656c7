"""A revision: two drafts, rounds of critique and revision until they converge, then a synthesis."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from rebut.core.errors import Aborted, TooFewReplies, UsageError
from rebut.core.markdown import inline
from rebut.core.types import Material
from rebut.domain.forms import Form, cited, code_of, stated
from rebut.domain.ledger import Claim, Entry, Ledger, Move, Slip
from rebut.domain.limits import is_clamped
from rebut.domain.outcome import Outcome
from rebut.domain.prompts import fill
from rebut.engine.debate import Answer, Ask, Debate, Failure, Round, limit_hint
from rebut.engine.protocol import Artifact
from rebut.protocols.revise import ballot, folders, log, outcome, prompts, render, reply_checks, sections, synthesis
from rebut.protocols.revise.forms import Critique, Draft, Objection, Revision
from rebut.protocols.revise.outcome import DISAGREEMENT, WEAKNESS
from rebut.protocols.revise.prompts import Labels, fitted, shared
from rebut.protocols.revise.settings import STAGES, Settings
from rebut.protocols.revise.state import LOG, Critiqued, DocumentVersion, Revised, ReviseState, RoundSoFar, of_names
from rebut.protocols.shared import LONG, ask_twice, describe

LARGEST = 400_000


async def run(debate: Debate) -> Outcome:
    state = await start(debate)
    await write_drafts(debate, state)
    if state.settings.strategy == "single":
        return outcome.single(state, _unread(debate))
    if state.missing:
        return await _one_sided(debate, state)
    debate.keep_for_closing(state.size())
    if state.settings.debates:
        await debate_rounds(debate, state)
    try:
        text, decision = await synthesis.synthesized(debate, state)
    except synthesis.LimitReached as error:
        return outcome.no_synthesis(state, str(error))
    except Aborted:
        await write_log(debate, state)
        raise
    if state.fallbacks and state.settings.debates:
        await write_log(debate, state)  # another model may have answered for the synthesizer
    [state.result_path] = await debate.write_files(Artifact(state.path(state.files.result), text))
    found = outcome.figures(debate.ledger, state, await _baseline(debate, state, text))
    return outcome.ended(debate, state, text, decision, found, _unread(debate))


async def start(debate: Debate) -> ReviseState:
    """Set the authors, files and phase of this debate. Raises UsageError before any call if one of them is refused."""
    settings: Settings = debate.settings
    stage, authors = STAGES[settings.stage], debate.seats("author")
    names = [who.spec.name or who.spec.provider for who in authors]
    files = of_names(stage, names, settings.rounds if settings.debates else 0)
    if stage.name == "review":
        assert debate.target is not None
    return ReviseState(settings, stage, files, await folders.phase_of(debate), authors)


# the first drafts, each written without seeing the other


async def write_drafts(debate: Debate, state: ReviseState) -> None:
    """Set version 1 of each author's document, or why it is missing. Raises `Aborted` if there is no draft at all."""
    r = debate.scope("r0")
    found = [await existing_draft(r, state, n) for n in range(len(state.authors))]
    missing = [n for n, text in enumerate(found) if text is None]
    template = prompts.DRAFT_PLAN if state.stage.name == "plan" else prompts.DRAFT_REVIEW
    prompt = fill(template, **shared(r, checked=prompts.IN_DOCUMENT))
    shown = Material(ballot=ballot.of_draft(r.topic, state.stage.name))
    asks = [Ask(state.authors[n], prompt, Draft, reply_checks.draft, "", shown, LONG) for n in missing]
    state.versions = [[] for _ in state.authors]
    try:
        got = await ask_twice(r, "draft", asks, need=1 if len(missing) == len(state.authors) else 0)
    except TooFewReplies as error:
        raise _aborted(state, error.message, error.hint) from error
    drafts = dict(zip(missing, got, strict=True))
    if all(isinstance(one, Failure) for one in got) and len(missing) == len(state.authors):
        failed = [one for one in got if isinstance(one, Failure)]
        raise _aborted(state, "; ".join(dict.fromkeys(map(describe, failed))), limit_hint(failed))
    for n, text in enumerate(found):
        name = state.files.version(n, 1)
        if text is not None:
            path = state.path(name)
            if debate.is_fork:  # the draft is in another phase, and a phase contains all files of its debate
                [path] = await r.write_files(Artifact(path, text))
            state.versions[n].append(DocumentVersion(1, text, path, True, await _cited(r, state, n, text)))
            continue
        one = drafts[n]
        if isinstance(one, Failure):
            state.missing[n] = describe(one)
            continue
        text = sections.parts(one.value.document).document.strip("\n") + "\n"
        written = sections.signed(sections.contained(text), r.stood_in(one.key))
        [path] = await r.write_files(Artifact(state.path(name), written))
        await _note_checked(r, f"checked@{state.authors[n].seat}", state.authors[n].seat, 0, one.value)
        state.versions[n].append(DocumentVersion(1, text, path, claims=await _cited(r, state, n, text)))


async def existing_draft(r: Debate, state: ReviseState, author: int) -> str | None:
    """A draft that exists in the phase's folder, read once: later changes of the file are ignored."""
    if state.settings.strategy == "single" or not state.settings.shared:
        return None
    name = state.files.version(author, 1)
    value = await r.once(
        f"taken-up@{state.authors[author].seat}", lambda: _read(state.folder / name), of=name, cls="input"
    )
    return value if isinstance(value, str) else None


def _read(path: Path) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise UsageError(f"{path} is used as a first draft, but cannot be read: {why}") from error
    try:
        with os.fdopen(fd, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{path} is used as a first draft, but cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST:,} bytes", "Shorten it, or move it away to have it written.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8", "Save it as UTF-8, or move it away to have it written.") from error
    return sections.unsigned(text) if text.strip() else None


async def _cited(r: Debate, state: ReviseState, author: int, text: str) -> tuple[Claim, ...]:
    seat = state.authors[author].seat
    r.take_up({}, text)
    return await render.looked_up(r, f"draft@{seat}", seat, 0, sections.parts(text).document)


async def _note_checked(r: Debate, step: str, seat: str, round: int, form: Form) -> None:
    """Enter the statements of a document that have a check, each as a claim."""
    if checked := [Claim(text, seat, round, check=check) for text, check in stated(form)]:
        await r.enter(step, checked)


def _aborted(state: ReviseState, why: str, hint: str) -> Aborted:
    many = "neither author wrote" if len(state.authors) > 1 else "the author did not write"
    return Aborted(
        f"{many} a {state.stage.name}: {why}",
        hint or "Without a draft there is nothing to debate. Resume when they can answer.",
    )


# the rounds: both authors critique each other's document, then both revise their own


async def debate_rounds(debate: Debate, state: ReviseState) -> None:
    for r in debate.rounds(state.settings.rounds, least=0):
        await play_round(r, state)
        debate.keep_for_closing(state.size())
        state.added = debate.planned(0)
        if state.cut_short or state.converged or debate.stopped or r.n == state.planned:
            break
        await write_log(debate, state)
    state.added = debate.planned(0)
    state.cut_short = state.cut_short or debate.stopped
    state.settled = debate.settled
    state.over = True
    await write_log(debate, state)


async def play_round(r: Round, state: ReviseState) -> None:
    """Play one round. It ends after the first step in which an author fails."""
    played = RoundSoFar(r.n)
    state.rounds.append(played)
    await exchange_critiques(r, state, played)
    if _cut_short(state, played, "critique"):
        return
    critiqued = r.ledger
    if r.settled_before("revision"):
        r.settle(f"in round {r.n}, before its revisions")  # the synthesis gets the critiques without revisions
        return
    await revise_documents(r, state, played)
    if _cut_short(state, played, "revision"):
        return
    if played.silent:
        return
    forms = [one.form for one in played.critiques.values()]
    played.convergence = outcome.reached(
        critiqued,
        r.n,
        [who.seat for who in state.authors],
        weaknesses=sum(1 for form in forms for w in form.weaknesses if w.text),
        weightiest=min((d.grade for form in forms for d in form.disagreements if d.text), default="P3"),
    )


async def exchange_critiques(r: Round, state: ReviseState, played: RoundSoFar) -> None:
    before = r.ledger
    asks = []
    for by, who in enumerate(state.authors):
        check = reply_checks.critique(before, who.seat, state.authors[1 - by].seat)
        for_person = Material(ballot=ballot.of_critique(r.topic, state.latest(1 - by).text))
        asks.append(Ask(who, _critique_prompt(r, state, by), Critique, check, material=for_person))
    for by, got in enumerate(await ask_twice(r, "critique", asks)):
        if isinstance(got, Failure):
            _note_failure(played, "critique", by, got)
            continue
        me, them = state.authors[by].seat, state.authors[1 - by].seat
        form = got.value
        entries = critique_entries(form, me, them, r.n, before)
        r.take_up({}, state.latest(1 - by).text)  # the critique cites sections of this document
        placed = await r.enter(f"critique@{me}", entries)
        weak = sum(1 for w in form.weaknesses if w.text)
        against = sum(1 for d in form.disagreements if d.text)
        points = placed[:weak], placed[weak : weak + against]
        strong = [entry for _, entry in placed if isinstance(entry, Claim)]
        source = state.files.source(1 - by)
        text = render.critique(form, *points, source, r.n, strong)
        shown = render.critique(form, *points, source, r.n, strong, inline)
        written = render.signed_critique(shown, r.stood_in(got.key))
        [path] = await r.write_files(Artifact(state.path(state.files.critique(1 - by, r.n)), written))
        played.critiques[by] = Critiqued(form, *points, text, path, got.complaints, strong)


def _critique_prompt(r: Round, state: ReviseState, by: int) -> str:
    labels = Labels(state.settings, state.files)
    theirs = labels.theirs(1 - by)
    due = ", ".join(reply_checks.due(r.ledger, state.authors[by].seat)) or "none"
    seats = [who.seat for who in state.authors]
    names = ["you" if n == by else "the other" for n in range(2)]
    points = r.quote("the points so far", render.points(r.ledger, seats, names))
    return fill(
        prompts.CRITIQUE,
        **shared(r, checked=prompts.IN_CRITIQUE),
        noun=labels.noun,
        round=str(r.n),
        theirs=theirs,
        own=_document(r, labels.mine, state, by),
        other=_document(r, theirs, state, 1 - by),
        before="" if not r.ledger.points else "\n" + fill(prompts.BEFORE, points=points, due=due) + "\n",
    )


def _document(r: Round, label: str, state: ReviseState, author: int) -> str:
    """A document for a prompt, and below it the result of checking its citations and of running its checks."""
    version, seat = state.latest(author), state.authors[author].seat
    return (
        r.quote(label, version.text)
        + render.citation_results(r, label, version.claims)
        + render.checked(r, label, seat)
    )


async def revise_documents(r: Round, state: ReviseState, played: RoundSoFar) -> None:
    asks = []
    for by, who in enumerate(state.authors):
        critique = played.critiques[1 - by]
        required = list(dict.fromkeys(id for id, _ in critique.weaknesses if id))
        check = reply_checks.revision(r.ledger, who.seat, required, state.latest(by).text)
        points = [p for p in r.ledger.points if p.id in required]
        shown = Material(
            ballot=ballot.of_revision(r.topic, state.stage.name, state.latest(by).text, critique.text, points)
        )
        prompt = _revision_prompt(r, state, by, critique, required)
        asks.append(Ask(who, prompt, Revision, check, material=shown, max_output=LONG))
    asked = r.ledger
    got = await ask_twice(r, "revision", asks)
    for by, one in enumerate(got):
        if isinstance(one, Failure):
            _note_failure(played, "revision", by, one)
        else:
            await _add_revision(r, state, played, by, one, asked)


async def _add_revision(
    r: Round, state: ReviseState, played: RoundSoFar, by: int, got: Answer[Revision], asked: Ledger
) -> None:
    number, seat = state.latest(by).number + 1, state.authors[by].seat
    foreign = reply_checks.foreign(asked, seat)
    known = [p.id for p in asked.points if p.id not in foreign]
    text, document = render.revision(got.value, number, known), sections.parts(got.value.document).document
    r.take_up({}, text)
    fresh = [claim for claim in r.cited(seat, r.n, document) if not claim.id]
    placed = await r.enter(f"revision@{seat}", [*revision_entries(got.value, seat, r.n, foreign), *fresh])
    await _note_checked(r, f"checked@{seat}", seat, r.n, got.value)
    entered = [entry for _, entry in placed]
    text = render.revision(got.value, number, known, entered)
    shown = render.revision(got.value, number, known, entered, shown=True)
    written = sections.signed(shown, r.stood_in(got.key))
    [path] = await r.write_files(Artifact(state.path(state.files.version(by, number)), written))
    version = DocumentVersion(number, text, path, claims=tuple(r.cited(seat, r.n, document)))
    state.versions[by].append(version)
    played.revisions[by] = Revised(got.value, version, got.complaints)


def _revision_prompt(r: Round, state: ReviseState, by: int, critique: Critiqued, required: Sequence[str]) -> str:
    labels, own = Labels(state.settings, state.files), state.latest(by)
    text = render.critique(
        critique.form, critique.weaknesses, critique.disagreements, labels.mine, r.n, critique.strengths
    )
    listed = "\n".join(sections.headings(own.text)) or "(it has none)"
    return fill(
        prompts.REVISE,
        **shared(r, checked=prompts.IN_REVISION),
        noun=labels.noun,
        round=str(r.n),
        own=_document(r, labels.mine, state, by),
        critique=r.quote(f"the critique of {labels.mine}", text),
        due=", ".join(required) or "there is none",
        headings=r.quote("headings", listed),
    )


def _note_failure(played: RoundSoFar, step: str, by: int, failure: Failure) -> None:
    played.failed[step, by] = describe(failure)
    if failure.kind == "budget":
        played.forbidden.add(by)


def _cut_short(state: ReviseState, played: RoundSoFar, step: str) -> bool:
    """Whether an author failed in this step, which ends the rounds.

    If only one author failed, its latest version is marked as stale, unless a limit forbade its critique.
    """
    failed = [by for kind, by in played.failed if kind == step]
    if not failed:
        return False
    names = " and ".join(state.files.names[by] for by in failed)
    why = "; ".join(dict.fromkeys(played.failed[step, by] for by in failed))
    state.cut_short = f"no {step} by {names} in round {played.n} ({why})"
    behind = step == "revision" or failed[0] not in played.forbidden
    if len(failed) == 1 and behind:
        state.stale[failed[0]] = f"no {step} in round {played.n}"
    return True


# from forms to entries of the ledger


def critique_entries(form: Critique, by: str, about: str, round: int, ledger: Ledger) -> list[Entry]:
    """Return a critique as entries: weaknesses, disagreements, concessions by id, dropped points, and strengths."""
    out = [_objection(w, WEAKNESS, by, about, round, ledger) for w in form.weaknesses if w.text]
    out += [_objection(d, DISAGREEMENT, by, about, round, ledger) for d in form.disagreements if d.text]
    for one in form.concessions:
        if one.id:
            known = ledger.point(one.id)
            # An author that concedes a point which it alone raised withdraws it.
            own = known is not None and known.voices == (by,)
            out.append(Move(one.id, "withdraw" if own else "concede", by, round, one.text))
    out += [Slip("dropped", id, by, round) for id in reply_checks.unnamed(ledger, by, about, form)]
    # Strengths are entered if they cite a place, so that it is checked, too.
    return out + [Claim(s.text, by, round, cited(s.evidence)) for s in form.strengths if s.text and cited(s.evidence)]


def _objection(item: Objection, kind: str, by: str, about: str, round: int, ledger: Ledger) -> Entry:
    point = item.point(kind, by, about, round)
    known = ledger.point(item.same_as)
    if ledger.version == 1 and known is not None and by in known.voices:
        return Move(known.id, "maintain", by, round, point.text, point.evidence, severity=point.severity)
    return point


def revision_entries(form: Revision, by: str, round: int, foreign: Collection[str] = ()) -> list[Entry]:
    """Return a revision as entries. Its answers to `foreign` points, about the other document, are left out."""
    out: list[Entry] = [Move(a.id, "concede", by, round, a.change) for a in form.addressed if a.id not in foreign]
    addressed = {a.id for a in form.addressed}
    # A point under both counts as addressed.
    defended = [d for d in form.defended if d.id not in addressed and d.id not in foreign]
    return out + [Move(d.id, "defend", by, round, d.reason, cited(d.evidence), check=code_of(d)) for d in defended]


# the log, and what is only done in some revisions


async def write_log(debate: Debate, state: ReviseState) -> None:
    names = [name[:1].upper() + name[1:] for name in state.files.names]
    top = f"{Path(state.settings.tracks).parents[1]}/"
    notes = [notice.replace(top, "") for notice in debate.notices if is_clamped(notice)]
    naming = log.LogNames(names, lambda path: f"{state.track}/{Path(path).name}", notes=(*notes, *debate.fallbacks))
    path = state.path(LOG)
    await debate.write_files(Artifact(path, log.document(state, naming), log.merged(state, naming)))


async def _one_sided(debate: Debate, state: ReviseState) -> Outcome:
    [missing] = state.missing
    state.cut_short = f"{state.files.names[missing]} wrote no {state.stage.name} ({state.missing[missing]})"
    state.over = True
    if state.settings.debates:
        await write_log(debate, state)
    return outcome.one_sided(state)


async def _baseline(debate: Debate, state: ReviseState, result: str) -> str:
    if not state.settings.baseline or not state.settings.debates:
        return ""
    if not any(played.critiques for played in state.rounds):
        await debate.skip("baseline", "there was no critique of the first drafts, so the result is made of these alone")
        return "the same: there was no critique"
    text = await synthesis.baseline(debate, state)
    if not text:
        return "requested, but the synthesizer did not write one"
    await debate.write_files(Artifact("baseline.md", text))
    return outcome.compared(text, result.partition(f"\n## {render.NOTES}\n")[0])


def _unread(debate: Debate) -> tuple[str, ...]:
    if debate.settings.stage != "review":
        return ()
    return tuple(f"not read: {line}" for line in fitted(debate.target)[1])
