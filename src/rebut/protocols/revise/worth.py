"""Was it worth it: what a debate changed between the first drafts and its end. Counted by the program, not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebut.domain.ledger import Ledger
from rebut.domain.worth import Worth
from rebut.protocols.revise import headings
from rebut.protocols.revise.state import Course

DRAFTS = ("r0/draft*",)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures on one debate."""

    raised: int
    conceded: int
    defended: int
    withdrawn: int
    open: int
    changed: tuple[tuple[str, int, int], ...]
    """Author, sections of its first draft that changed or went, sections it had."""
    baseline: str = ""
    """How the result differs from a synthesis of the first drafts alone, where that was asked for."""

    @property
    def points(self) -> str:
        said = [f"{count} {name}" for name, count in self._fates() if count]
        return f"{self.raised} point{'' if self.raised == 1 else 's'} raised" + (f": {', '.join(said)}" if said else "")

    def _fates(self) -> list[tuple[str, int]]:
        return [
            ("conceded", self.conceded),
            ("defended", self.defended),
            ("withdrawn", self.withdrawn),
            ("open", self.open),
        ]

    @property
    def sections(self) -> str:
        return "; ".join(f"{name}: {n} of {of} section{'' if of == 1 else 's'} changed" for name, n, of in self.changed)

    def rows(self) -> tuple[tuple[str, str], ...]:
        return (("baseline", self.baseline),) if self.baseline else ()

    def worth(self, names: Sequence[str], caveat: str = "") -> Worth:
        """The same in the shape that every protocol's account has."""
        moved, of = sum(n for _, n, _ in self.changed), sum(of for *_, of in self.changed)
        sections = [f"{moved} of {of} section{'' if of == 1 else 's'} of the drafts changed"] if moved else []
        return Worth(
            first=f"two unargued drafts, of {' and '.join(names)}",
            points=tuple((name, count) for name, count in self._fates() if count),
            changed=tuple(sections),
            same=not sections,
            caveat=caveat,
            keys=DRAFTS,
        )

    def markdown(self) -> str:
        body = [f"- Points: {self.points}", f"- Sections: {self.sections or 'nothing changed'}"]
        body += [f"- Baseline: {self.baseline}"] if self.baseline else []
        return "## Was It Worth It\n\n" + "\n".join(body) + "\n"


def counted(ledger: Ledger, course: Course, baseline: str = "") -> Figures:
    conceded, defended = ledger.having("conceded", "partly accepted", "resolved"), ledger.having("defended")
    withdrawn = ledger.having("withdrawn")
    changed = []
    for author, versions in enumerate(course.versions):
        if len(versions) > 1:
            changed.append((course.files.names[author], *headings.changed(versions[0].text, versions[-1].text)))
    rest = len(ledger.points) - len(conceded) - len(defended) - len(withdrawn)
    return Figures(len(ledger.points), len(conceded), len(defended), len(withdrawn), rest, tuple(changed), baseline)


def compared(baseline: str, result: str) -> str:
    """One line on two documents: the synthesis of the first drafts alone, and the one that was argued out."""
    changed, of = headings.changed(baseline, result)
    new, among = headings.changed(result, baseline)
    words = len(result.split()) - len(baseline.split())
    return (
        f"against a synthesis of the first drafts alone, {changed} of its {of} sections read differently or are gone, "
        f"{new} of {among} here are not in it, {words:+} words"
    )
