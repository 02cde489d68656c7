"""The prompts of a revision, and the material that every prompt contains."""

from __future__ import annotations

from rebut.core.frozen import frozen
from rebut.domain.checks import may_add
from rebut.domain.prompts import CONTEXT, FENCES
from rebut.engine.debate import Debate
from rebut.protocols.revise.settings import Settings
from rebut.protocols.revise.state import Files
from rebut.workspace.diff import sections
from rebut.workspace.targets.target import Target, whole_files

EVIDENCE_RULE = """Name the evidence for what you say: a section of a document ("§ Rollout"), a place in a file \
(path:line), a commit, a benchmark, documented behaviour. Copy quotes exactly: a program checks every place and \
quote and shows the result to both authors. Never invent a place. A citation that does not exist counts against you; a \
missing citation only leaves a claim unsupported."""

NO_CONTEXT = """No files were given. If you must see a part of the workspace before you can answer, list it under \
`need`."""

LOOKED_UP = """The program has checked the places that it cites. "Found" means only that the quoted words are at that \
place, not that they prove anything; a place that is absent proves nothing."""

CHANGE = """This is what is under review, as a diff, and below it the changed files in their new version."""

DRAFT_PLAN = """You are one of two engineers who each write a plan for the same task, without seeing the other's.

$rule

$fences

$topic$material

Write the plan so that another engineer could carry it out: the goal, the approach, the steps, what can go wrong, and
how to tell that it is done. Name files, interfaces and checks. Decide: where there are two ways, choose one and say
why. Use Markdown with a heading for every section."""

DRAFT_REVIEW = """You are one of two engineers who each review the same change, without seeing the other's review.

$rule

$fences

$topic$material

Write the review: what the change does, what is wrong with it or missing, and whether it should be merged. Give each
finding a severity (high, medium, low), the place (path:line), the quoted line and its consequence. Do not report what
you cannot show. Use Markdown with a heading for every section: a summary, the findings, your assessment."""

CRITIQUE = """You are one of two engineers who each wrote a $noun. Now, in round $round, you examine $theirs.

$rule

$fences

$topic$material

$own

$other
$before
Say what you think of $theirs. The aim is to find out what is right, not to be agreeable:
- Question what it takes for granted. Object to a choice of pattern, library or order that gives no reason.
- Ask for proof. "Simpler" or "faster" means nothing without a measurement or a piece of code that shows it.
- Look for gaps: errors that are not handled, edge cases, security, criteria that cannot be checked.
- Be exact. Each weakness and each disagreement names a section, a file and line, a step or a criterion.
- Say what is good. Invent no weakness; if there is none, leave the list empty. A weakness is a flaw of that $noun. A
  disagreement is a choice that you would make differently: say why yours is better. Severity is high, medium or low;
  the impact is correctness, security or completeness, and none only for style, naming and order. A concession is a
  point on which that $noun is better than yours: it is final, so concede only what you mean."""

BEFORE = """
The points raised so far, each with its status:

$points

Raise a point of yours that still holds again, with its id under `same_as`. A point about your own document is never the
same as one about the other's. Put a point that is settled for you under `concessions`, with its id.
Do one of the two for each of: $due.
"""

REVISE = """You are one of two engineers who each wrote a $noun. In round $round the other has examined yours, and you
write its next version.

$rule

$fences

$topic$material

$own

$critique

Answer every weakness by its id ($due): put it under `addressed` if it holds, under `defended` if it does not.
Disagreements can be answered in the same way.
- Do not give in to everything. Keep a choice that you made on purpose and can justify; show the evidence.
- Give in honestly. Close a real gap in the document itself, do not argue it away.
- Use what the other concedes to you: keep it, and build on it where that helps.
- Show your work: say for each point what changed, and summarize all changes in one sentence.
- Keep the form. Your answer replaces the previous version: the whole document, with exactly these headings in this
  order, and no others:
$headings
The program itself adds the revision comment and the Defense section at the top."""

SYNTHESIZE_PLAN = """You combine two plans for the same task into one$argued.

$fences

$topic$material

$versions$record

Write the plan that should be carried out, complete and consistent, not a list of both. Length and tone decide nothing;
a citation marked absent counts against the statement that it should support, and "found" means only that the quoted
words are at that place.
$rulings"""

SYNTHESIZE_REVIEW = """You combine two reviews of the same change into one verdict$argued.

$fences

$topic$material

$versions$record

Decide which findings hold. List each finding once with one severity, and say which review holds it: what both reviews
report independently is the stronger signal. Name what they agree on. Where they differ, decide and give the reason for
the tie-break, by the point's id where it has one. A citation marked absent counts against the finding that rests on it,
and "found" means only that the quoted words are at that place.$rulings"""

RULINGS_PLAN = """Account for every point by its id ($points), each in one list only: `adopted` if the plan follows it,
`overruled` with the reason if it does not, `unresolved` with the tie-break if the two still differ on it."""

RULINGS_REVIEW = """ Say under `disagreement` what decided each point that is still open ($open)."""

NO_RULINGS = """No points were raised, so there is nothing to account for."""

IN_DOCUMENT = "statement of your document, under `checked`"
IN_CRITIQUE = "weakness or a disagreement"
IN_REVISION = "point that you defend, or under `checked` to a statement of your document"
"""What an author may add a check to, in each step."""

STALE = """STALE: its author did not answer in round $round, so this version is older than the other author's."""


# the material of every prompt: the task, the files, the change, and the names of the authors

DIFF_BUDGET = 120_000


def shared(debate: Debate, *, rule: bool = True, checked: str = "") -> dict[str, str]:
    """The values of the slots that all templates have. `checked` says what a check may be added to."""
    parts = []
    if debate.settings.stage == "review":
        parts.append(_change(debate))
    parts.append(f"{CONTEXT}\n\n{debate.quote('files', debate.context)}" if debate.context else "")
    if not any(parts):
        parts = [NO_CONTEXT if rule else ""]
    out = {
        "fences": FENCES,
        "topic": debate.quote("task", debate.topic),
        "material": "".join(f"\n\n{part}" for part in parts if part),
    }
    if not rule:
        return out
    return {**out, "rule": EVIDENCE_RULE + may_add(checked, debate.runners, both_sides=debate.has_old_side)}


def _change(debate: Debate) -> str:
    target = debate.target
    diff, missing = fitted(target)
    parts = [CHANGE]
    if diff:
        parts.append(debate.quote("the change", diff))
    if target.text:
        parts.append(debate.quote("the text under review", target.text))
    if files := whole_files(target).text:
        parts.append(debate.quote("changed files", files))
    left_out = [*missing, *target.left_out]
    if left_out:
        parts.append(debate.quote("not shown", "\n".join(left_out)))
    return "\n\n".join(parts)


def fitted(target: Target) -> tuple[str, list[str]]:
    """As many whole files of the diff as fit a prompt, and a line for each that does not fit."""
    kept, missing, left = list[str](), list[str](), DIFF_BUDGET
    for piece in sections(target.diff):
        size = len(piece.encode(errors="replace"))
        if size <= left:
            kept.append(piece)
            left -= size
        else:
            missing.append(f"{piece.partition(chr(10))[0].removeprefix('diff --git ')}: {size:,} bytes of diff")
    return "".join(kept), missing


@frozen
class Labels:
    """How prompts name authors and documents. Names bias models, so they are left out unless requested."""

    settings: Settings
    files: Files

    @property
    def noun(self) -> str:
        return self.settings.stage

    def theirs(self, author: int) -> str:
        """The name of a document in the prompt of its critic."""
        return (
            f"the {self.noun} of {self.files.names[author]}" if self.settings.show_names else f"the other {self.noun}"
        )

    @property
    def mine(self) -> str:
        return f"your {self.noun}"

    def neutral(self, author: int) -> str:
        """The name of an author in the prompt of the synthesizer."""
        if self.settings.show_names:
            return self.files.names[author]
        return ("first", "second")[author]

    def ordinal(self, author: int) -> str:
        name = f" of {self.files.names[author]}" if self.settings.show_names else ""
        return f"the {('first', 'second')[author]} {self.noun}{name}"

    def neutral_files(self) -> Files:
        return Files(self.files.stage, tuple(self.neutral(n) for n in range(len(self.files.names))))
