"""Runs a trial: the floor first, then every arm on every pair, then the vote, which gets the tokens of a debate.

Each review is a line of one batch, so that an interrupted trial continues and nothing on record is asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from rebut.api import Setup
from rebut.batch.batch import Batch
from rebut.batch.lines import BatchLine, refused
from rebut.batch.results import Results
from rebut.core.errors import NotSeated, RebutError, UsageError
from rebut.core.frozen import frozen
from rebut.record import sessions
from rebut.trial import arms as arm_names, pair_folders
from rebut.trial.arms import CHECKS, CROSS, DEBATES, LINT, ONE, VOTE, Models
from rebut.trial.pairs import DEFECT, SIDES, DefectPair
from rebut.trial.reviews import TrialReview, recorded_review, voted
from rebut.trial.scores import ArmScore, Comparison, JudgeScore, PairScore, arm_score, compare, judged, score

FLOOR = 6
"""Pairs of the floor: one model alone must be better than chance on them."""
SAMPLES = 3
"""Samples of a vote if the trial has no debate to compare it with."""
MOST_SAMPLES = 15
TOKENS_APART = 0.10
"""By how much the tokens of the vote may differ from those of the debate."""
TWINS = "changes"

RunBatch = Callable[[str, Batch], Awaitable[str]]
"""Runs a batch; the text says what it is. Returns why it was stopped; empty if it was not."""


@frozen
class TrialReport:
    """Everything that a trial shows."""

    pairs: tuple[DefectPair, ...]
    arms: tuple[ArmScore, ...]
    comparisons: tuple[Comparison, ...]
    judged: dict[str, JudgeScore]
    models: tuple[str, ...]
    seed: int
    source: str
    """Where the pairs come from."""
    stopped: str = ""
    """Why it ended before everything was reviewed; empty if it did not."""
    floor: str = ""
    """Why the floor was not passed; empty if it was, or was not needed."""
    reviews: int = 0
    """Reviews that the arms take in all, as far as that is known."""
    missing: int = 0
    """Reviews that have not ended."""
    failures: dict[str, int] | None = None
    """Class of a failure → how many reviews failed with it."""
    vote_tokens: float = 0.0
    """Tokens of the vote per token of the debate; 0 without a vote or a debate."""
    notes: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return not (self.stopped or self.floor or self.missing)


class TrialRun:
    """One trial: its pairs, arms and models, and the folder that has its results."""

    def __init__(
        self,
        setup: Setup,
        pairs: Sequence[DefectPair],
        arms: Sequence[str],
        models: Models | None,
        folder: Path,
        *,
        seed: int,
        source: str,
        results: Results,
        at_once: int,
    ) -> None:
        self.setup, self.pairs, self.arms, self.models = setup, pairs, arms, models
        self.folder, self.seed, self.source, self.results, self.at_once = folder, seed, source, results, at_once
        self.floor = self.stopped = ""
        self.notes: tuple[str, ...] = ()
        """What the report says about the pairs."""
        self._read: dict[tuple[str, bool], TrialReview] = {}
        self._numbers: dict[str, int] = {}

    # Its lines

    def line(self, arm: str, pair: DefectPair, side: str, sample: int = 1) -> BatchLine:
        """The review of one side of a pair. The first sample of a vote is the review of one model alone."""
        arm = ONE if arm == VOTE and sample == 1 else arm
        name = "/".join((pair.id, side, arm, *([str(sample)] if sample > 1 else [])))
        workspace = pair_folders.folder_of(self.folder / TWINS, pair, side)
        number = self._numbers.setdefault(name, len(self._numbers) + 1)
        return BatchLine.of(number, arm_names.line_fields(arm, pair, workspace, self.models, name))

    def lines(self, arm: str, pairs: Iterable[DefectPair]) -> list[BatchLine]:
        return [self.line(arm, pair, side) for pair in pairs for side in SIDES]

    @property
    def singles(self) -> tuple[str, ...]:
        """The arms that review each side once; the vote needs one model alone."""
        wanted = {*self.arms, *([ONE] if VOTE in self.arms else [])} - {VOTE}
        return tuple(arm for arm in arm_names.ARMS if arm in wanted)

    async def check(self, limits: dict[str, float]) -> None:
        """Refuse what cannot run, before any model is called: one line of each arm stands for all."""
        pair = self.pairs[0]
        await pair_folders.write(self.folder / TWINS, pair, DEFECT)
        for arm in self.singles:
            line = self.line(arm, pair, DEFECT)
            if bad := await refused([line], self.setup, limits):
                raise UsageError(f"the arm {arm} cannot run: {bad[0].why}", "No model was called.")

    # Running

    async def run(self, run_batch: RunBatch) -> TrialReport:
        """Run what is missing, and report."""
        if arm_names.needs_model(self.arms):
            await self._phase(f"floor: {self._named(FLOOR)} alone", self.lines(ONE, self.pairs[:FLOOR]), run_batch)
            if not self.stopped:
                self.floor = self._below_floor()
        if not self.stopped and not self.floor:
            lines = [line for arm in self.singles for line in self.lines(arm, self.pairs)]
            await self._phase(", ".join(self.singles), lines, run_batch)
        if VOTE in self.arms and not self.stopped and not self.floor:
            while more := self._samples_missing():
                await self._phase("vote", more, run_batch)
                if self.stopped or any(not self.results.done(line.hash) for line in more):
                    break
        return self.report()

    def _named(self, pairs: int) -> str:
        assert self.models is not None
        return f"{min(pairs, len(self.pairs))} pairs, {self.models.reviewer}"

    async def _phase(self, what: str, lines: Sequence[BatchLine], run_batch: RunBatch) -> None:
        todo = {line.hash for line in lines if not self.results.done(line.hash)}
        for pair in self.pairs if todo else ():
            for side in SIDES:
                folder = pair_folders.folder_of(self.folder / TWINS, pair, side)
                if any(line.fields.workspace == str(folder) for line in lines if line.hash in todo):
                    await pair_folders.write(self.folder / TWINS, pair, side)
        batch = Batch(lines, self.results, self.at_once)
        self.stopped = await run_batch(what, batch)

    def _below_floor(self) -> str:
        """Why this model cannot be measured by these pairs; empty if it can."""
        scores = self.scored(ONE, self.pairs[:FLOOR])
        assert self.models is not None
        model = self.models.reviewer
        if scores.pairs < min(FLOOR, len(self.pairs)):
            return "" if not scores.pairs and not self._failures() else f"{model} did not review all pairs of the floor"
        if scores.is_better_than_chance:
            return ""
        by_chance = sum(one.chance for one in scores.scores)
        return (
            f"{model} alone found {scores.found} of {scores.pairs} planted defects, and chance alone finds "
            f"{by_chance:.1f}, so this trial cannot measure the model"
        )

    # What is on record

    def review(self, line: BatchLine, *, bare: bool) -> TrialReview | None:
        """The review of a line; None if it has not ended, or its session was deleted."""
        row = self.results.rows.get(line.hash)
        if row is None or row.failure or not row.session:
            return None
        key = row.session, bare
        if key not in self._read:
            try:
                found = recorded_review(sessions.load(self.setup.find(row.session)), bare=bare)
            except RebutError:  # the user has deleted it
                return None
            if found is None:
                return None
            self._read[key] = found
        return self._read[key]

    def _side(self, arm: str, pair: DefectPair, side: str) -> TrialReview | None:
        return self.review(self.line(arm, pair, side), bare=arm == ONE)

    def _voted(self, pair: DefectPair, side: str, count: int) -> TrialReview | None:
        samples = [self._sample(pair, side, n) for n in range(1, count + 1)]
        whole = [sample for sample in samples if sample is not None]
        return voted(whole) if count and len(whole) == count else None

    def _sample(self, pair: DefectPair, side: str, number: int) -> TrialReview | None:
        return self.review(self.line(VOTE, pair, side, number), bare=True)

    @property
    def debate(self) -> str:
        """The debate of this trial that one call and the vote are compared with; empty if it has none."""
        return next((arm for arm in DEBATES if arm in self.arms), "")

    def _votes(self) -> dict[tuple[str, str], int]:
        """How many samples each side of a pair gets: as many as make the tokens equal, added up over the trial."""
        out = dict[tuple[str, str], int]()
        spent = aim = 0.0
        for pair in self.pairs:
            for side in SIDES:
                first = self._sample(pair, side, 1)
                if first is None:
                    continue
                if not self.debate or not first.tokens:
                    out[pair.id, side] = SAMPLES
                    continue
                debate = self._side(self.debate, pair, side)
                if debate is None:
                    continue
                aim += debate.tokens
                spent += first.tokens
                count = 1
                while count < MOST_SAMPLES:
                    known = self._sample(pair, side, count + 1)
                    more = known.tokens if known else first.tokens
                    if spent + more / 2 > aim:
                        break
                    spent += more
                    count += 1
                out[pair.id, side] = count
        return out

    def _samples_missing(self) -> list[BatchLine]:
        votes = self._votes()
        lines = [
            self.line(VOTE, pair, side, n)
            for pair in self.pairs
            for side in SIDES
            for n in range(2, votes.get((pair.id, side), 0) + 1)
        ]
        return lines if any(not self.results.done(line.hash) for line in lines) else []

    def scored(self, arm: str, pairs: Iterable[DefectPair]) -> ArmScore:
        """The score of an arm on the pairs of which it has reviewed both sides."""
        votes = self._votes() if arm == VOTE else {}
        scores = list[PairScore]()
        for pair in pairs:
            if arm == VOTE:
                sides = [self._voted(pair, side, votes.get((pair.id, side), 0)) for side in SIDES]
            else:
                sides = [self._side(arm, pair, side) for side in SIDES]
            defect, clean = sides
            if defect is not None and clean is not None:
                scores.append(score(pair, defect, clean))
        return arm_score(arm, scores)

    def _failures(self) -> Counter[str]:
        mine = {line.hash for arm in self.singles for line in self.lines(arm, self.pairs)}
        return Counter(row.failure for key, row in self.results.rows.items() if row.failure and key in mine)

    def report(self) -> TrialReport:
        pairs = self.pairs[:FLOOR] if self.floor else self.pairs
        arms = (ONE,) if self.floor else self.arms
        scores = [self.scored(arm, pairs) for arm in arms]
        scores = [one for one in scores if one.scores]
        by_name = {one.arm: one for one in scores}
        lines = [line for arm in ((ONE,) if self.floor else self.singles) for line in self.lines(arm, pairs)]
        lines += self._samples_missing() if VOTE in arms else []
        vote, debate = by_name.get(VOTE), by_name.get(self.debate)
        return TrialReport(
            tuple(pairs),
            tuple(scores),
            tuple(compare(by_name[a], by_name[b], self.seed) for a, b in self._compared(list(by_name))),
            {arm: judged(by_name[arm]) for arm in (CROSS, CHECKS) if arm in by_name},
            self.models.specs if self.models else (),
            self.seed,
            self.source,
            stopped=self.stopped,
            floor=self.floor,
            reviews=len(lines),
            missing=sum(1 for line in lines if not self.results.done(line.hash)),
            failures=dict(self._failures()),
            vote_tokens=vote.tokens / debate.tokens if vote and debate and debate.tokens else 0.0,
            notes=self.notes,
        )

    def _compared(self, arms: Sequence[str]) -> list[tuple[str, str]]:
        """The arms that are compared: each debate with one call and with the vote, and everything with one call."""
        bases = [arm for arm in (ONE, VOTE, LINT) if arm in arms]
        out = [(arm, base) for base in bases for arm in arms if arm in DEBATES]
        out += [pair for pair in ((VOTE, ONE), (CHECKS, CROSS)) if set(pair) <= set(arms)]
        if not out and len(arms) == 2:
            out = [(arms[1], arms[0])]
        return out


async def found_models(setup: Setup, folder: Path, pair: DefectPair) -> list[str]:
    """The models that `rebut review` would take here."""
    from rebut.setup.connect import PROGRAMS
    from rebut.setup.verbs import Verb, planned
    from rebut.workspace.targets.target import Wanted

    there = setup.at(await pair_folders.write(folder, pair, DEFECT))
    target, redaction = await there.resolve(Wanted(target="code", scope="uncommitted"))
    verb = Verb("trial", "cross", {})
    try:
        plan = planned(there, "cross", "", first_look=verb.first_look({}), target=target, redaction=redaction)
    except NotSeated as error:
        named = ",".join(error.unlisted or ("claude", "codex"))
        raise UsageError(
            "a trial measures models, and none is named",
            f"Name two, for example --with {named}, or none with `rebut trial --arms lint`. {error.why_none}",
        ) from error
    seats = {who.seat: who.spec for who in plan.seats}
    if seats["critic"].provider in PROGRAMS:
        raise UsageError(
            "no model was found, and a trial measures models",
            "Name two with --with, or see `rebut doctor`; `rebut trial --arms lint` needs none.",
        )
    return [seats[seat].written for seat in ("critic", "judge")]
