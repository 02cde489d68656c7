"""The course of a revision: drafts, then rounds of critique and revision until they converge, then a synthesis."""

from __future__ import annotations

from rebut.core.errors import Aborted
from rebut.domain.outcome import Outcome
from rebut.engine.debate import Debate
from rebut.engine.protocol import Artifact
from rebut.protocols.revise import drafts, ending as synthesis, folders as phases, log, rounds, worth
from rebut.protocols.revise.endings import ended, no_synthesis, one_sided, single
from rebut.protocols.revise.files import LOG, of_names
from rebut.protocols.revise.material import fitted
from rebut.protocols.revise.settings import Settings
from rebut.protocols.revise.stages import STAGES
from rebut.protocols.revise.state import Course
from rebut.workspace.targets import is_own


async def run(debate: Debate) -> Outcome:
    course = await begun(debate)
    await drafts.written(debate, course)
    if course.settings.strategy == "single":
        return single(course, _unread(debate))
    if course.missing:
        return await _one_sided(debate, course)
    debate.keep_for_closing(course.size())
    if course.settings.debates:
        await _argued(debate, course)
    try:
        text, decision = await synthesis.synthesized(debate, course)
    except synthesis.NoMoney as error:
        return no_synthesis(course, str(error))
    except Aborted:
        await _logged(debate, course)
        raise
    [course.result_path] = await debate.leave(Artifact(course.path(course.files.result), text))
    figures = worth.counted(debate.ledger, course, await _baseline(debate, course, text))
    return ended(debate, course, text, decision, figures, _unread(debate))


async def begun(debate: Debate) -> Course:
    """Who writes into which files of which phase: all that can be refused is, before anybody is asked."""
    settings: Settings = debate.settings
    stage, authors = STAGES[settings.stage], debate.seats("author")
    names = [who.spec.name or who.spec.provider for who in authors]
    files = of_names(stage, names, settings.rounds if settings.debates else 0)
    if stage.name == "review":
        assert debate.target is not None  # says so itself where there is none
    return Course(settings, stage, files, await phases.taken(debate), authors)


async def _argued(debate: Debate, course: Course) -> None:
    for r in debate.rounds(course.settings.rounds, least=0):
        await rounds.play(r, course)
        debate.keep_for_closing(course.size())
        course.added = debate.planned(0)
        if course.cut_short or course.converged or debate.stopped or r.n == course.planned:
            break
        await _logged(debate, course)
    course.added = debate.planned(0)
    course.cut_short = course.cut_short or debate.stopped
    course.settled = debate.settled
    course.over = True
    await _logged(debate, course)


async def _one_sided(debate: Debate, course: Course) -> Outcome:
    [missing] = course.missing
    course.cut_short = f"{course.files.names[missing]} wrote no {course.stage.name} ({course.missing[missing]})"
    course.over = True
    if course.settings.debates:
        await _logged(debate, course)
    return one_sided(course)


async def _baseline(debate: Debate, course: Course, result: str) -> str:
    if not course.settings.baseline or not course.settings.debates:
        return ""
    if not any(played.critiques for played in course.rounds):
        await debate.spare("baseline", "nobody criticized the first drafts, so they alone gave this result")
        return "the same: no critique came between"
    text = await synthesis.baseline(debate, course)
    if not text:
        return "asked for, but the synthesizer did not write one"
    await debate.leave(Artifact("baseline.md", text))
    return worth.compared(text, result.partition("\n## Synthesis Notes\n")[0])


async def _logged(debate: Debate, course: Course) -> None:
    names = [name[:1].upper() + name[1:] for name in course.files.names]
    naming = log.Naming(names, lambda path: _short(path, course))
    path = course.path(LOG)
    await debate.leave(Artifact(path, log.document(course, naming), log.merged(course, naming)))


def _short(path: str, course: Course) -> str:
    """From the folder that holds `.kiln`: what the log says must be true on every machine."""
    name = "/".join(course.folder.parts[-3:])
    return f"{name}/{path.rpartition('/')[2]}"


def _unread(debate: Debate) -> tuple[str, ...]:
    if debate.settings.stage != "review":
        return ()
    missing = [*fitted(debate.target)[1], *debate.target.left_out]
    # What debates left behind is no part of the change.
    return tuple(f"not read: {line}" for line in missing if not is_own(line))


def partial(debate: Debate) -> Outcome:
    """The best that can be said at a deadline: how far it came, and what is open."""
    settings: Settings = debate.settings
    done = sum(
        1
        for n in range(1, debate.planned(settings.rounds) + 1)
        if {f"r{n}/revision@author.1", f"r{n}/revision@author.2"}
        <= {key.replace(".again@", "@") for key in debate.answers}
    )
    drafted = sum(1 for key in debate.answers if key.startswith("r0/draft"))
    basis = f"round {done}" if done else f"{drafted} draft{'' if drafted == 1 else 's'}" if drafted else "nothing yet"
    still = [f"- {p.id}: {p.text}" for p in debate.ledger.open]
    return Outcome(
        kind="partial",
        heading=f"NO {settings.stage.upper()} YET, {done} OF {debate.planned(settings.rounds)} ROUNDS",
        basis=basis,
        final="\n".join(["### Points at issue", "", *(still or ["- none"])]) + "\n",
        data={"stage": settings.stage, "strategy": settings.strategy, "rounds_completed": done},
    )
