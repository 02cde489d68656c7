"""A person fills in a ballot: sees the case in short and decides by single keys; `?` shows the whole question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from rebut.backends.human.terminal import columns, drawn, printable
from rebut.core.ballot import Ballot, KeyChoice, Listed, Option, Remark, Rulings, entry, in_lists, nested, ruling
from rebut.core.json_value import Json
from rebut.core.text import wrapped

EVERYTHING, REASON, EDIT = "?", "w", "e"
TYPING = (
    "Where you type a text: ? shows everything, :e opens your editor. A place in it, such as src/app.py:12, is looked "
    "up. Ctrl-D stops here; only this answer is lost."
)
SEVERITIES = (Option("1", "P1", "P1"), Option("2", "P2", "P2"), Option("3", "P3", "P3"))
MOST_LINES = 60
"""Lines of a text that are shown before the person types `?`."""
ENTER = ("", "\r", "\n")
NO_BREAK = "\u00a0"
"""The space between words that stay on one line."""


class Decisions:
    """One ballot, filled in at the terminal."""

    def __init__(
        self,
        ballot: Ballot,
        *,
        key: Callable[[], Awaitable[str]],
        line: Callable[..., Awaitable[str]],
        write: Callable[[str], None],
        everything: str,
    ) -> None:
        self._ballot = ballot
        self._key, self._line, self._write = key, line, write
        self._everything = everything
        self._ruled: dict[str, dict[str, Json]] = {}
        self._reason = ""

    async def fill(self) -> dict[str, Json]:
        """The form, as JSON."""
        ballot = self._ballot
        self._show()
        if ballot.rulings:
            await self._walk(ballot.rulings)
        picked, first = dict[str, Json](), ""
        for remark in ballot.remarks if ballot.remarks_first else ():
            picked[remark.name] = await self._remark(remark, first)
        for number, pick in enumerate(ballot.picks):
            option = await self._pick(pick, first=number == 0)
            first = first or option.key
            picked[pick.name] = option.value
        for remark in () if ballot.remarks_first else ballot.remarks:
            picked[remark.name] = await self._remark(remark, first)
        if ballot.aside:
            picked[ballot.aside] = self._reason
        if ballot.rulings:
            picked |= in_lists(
                ballot.rulings, [self._ruled[row.id] for row in ballot.rulings.rows if row.id in self._ruled]
            )
        return nested({**ballot.rest, **picked})

    def _show(self) -> None:
        for paragraph in self._ballot.case:
            self._paragraph(paragraph)
        if self._ballot.text:
            lines = printable(self._ballot.text).splitlines()
            shown = [f"  | {line}" for line in lines[:MOST_LINES]]
            more = len(lines) - MOST_LINES
            shown += [f"  | … {more} more lines: type {EVERYTHING} to see all of it"] if more > 0 else []
            self._write("\n" + "\n".join(shown) + "\n")
        if self._ballot.remarks_first or (self._ballot.rulings and self._ballot.rulings.argued):
            self._write("\n")
            self._paragraph(TYPING)
        if self._ballot.table:
            self._write(
                "\n" + drawn([[printable(cell) for cell in row] for row in self._ballot.table], columns()) + "\n"
            )
        self._write("\n")

    def _paragraph(self, text: str, indent: str = "  ") -> None:
        for line in printable(text).splitlines() or [""]:
            lead = indent + " " * (len(line) - len(line.lstrip(" ")))
            rows = wrapped(line.strip(), columns() - 2, indent=lead, hanging=f"{lead}  ", break_words=True)
            self._write("\n".join(rows).replace(NO_BREAK, " ") + "\n")

    # Decisions by single keys.

    async def _pick(self, pick: KeyChoice, *, first: bool) -> Option:
        if offered := _side_by_side(pick.ask, *_named(pick.options)):
            self._paragraph(offered)
        rulings = self._ballot.rulings
        if first:
            hints = [f"a number changes the ruling on a {rulings.noun}"] if rulings and rulings.rows else []
            hints += [f"{REASON} adds a reason"] if self._ballot.aside else []
            self._paragraph(", ".join([*hints, f"{EVERYTHING} shows everything"]))
        while True:
            pressed = await self._pressed(pick.options)
            if option := _chosen(pick.options, pressed):
                return option
            if pressed == EVERYTHING:
                self._write(f"\n{self._everything}\n\n")
            elif first and pressed.lower() == REASON and self._ballot.aside:
                self._reason = (await self._line("  reason: ")).strip()
            elif first and rulings and (row := await self._numbered(rulings, pressed)):
                await self._rule(rulings, row)
            else:
                self._refuse(pick.options)

    async def _numbered(self, rulings: Rulings, pressed: str) -> Listed | None:
        """The row that a digit names. With ten rows or more, the number is completed and ended by Enter."""
        if not pressed.isdecimal():
            return None
        if len(rulings.rows) > 9:
            pressed += (await self._line("  number, then Enter: " + pressed)).strip()
        number = int(pressed) if pressed.isascii() and pressed.isdecimal() else 0
        return rulings.rows[number - 1] if 1 <= number <= len(rulings.rows) else None

    async def _walk(self, rulings: Rulings) -> None:
        """Ask for a ruling on every row that needs one, one after the other."""
        left = [row for row in rulings.rows if not row.stands]
        for number, row in enumerate(left, 1):
            all_of_them = "" if rulings.argued else "; a capital letter is for all that follow, too"
            more = f" ({number} of {len(left)}{all_of_them})" if len(left) > 1 else ""
            pressed = await self._rule(rulings, row, more)
            option = _chosen(rulings.options, pressed)
            if pressed.isupper() and option and not rulings.argued:
                for one in left[number:]:
                    self._enter(rulings, one, option.value, one.severity, "")
                return

    async def _rule(self, rulings: Rulings, row: Listed, more: str = "") -> str:
        """Ask for one ruling; return the key that was pressed, empty if the row stays as it is."""
        self._write("\n")
        self._paragraph(f"{row.title}{more}")
        self._paragraph(row.text, "    ")
        edit = (Option(EDIT, None, "edit its severity"),) if rulings.severity else ()
        options = (*rulings.options, *edit)
        leave = (f"[Enter] leave it: {row.stands}",) if row.stands else ()
        self._paragraph(_side_by_side(*_named(options), *leave, f"[{EVERYTHING}] show everything"))
        while True:
            pressed = await self._pressed(options)
            if pressed in ENTER and row.stands:
                return ""
            option = _chosen(options, pressed)
            if pressed == EVERYTHING:
                self._write(f"\n{self._everything}\n\n")
            elif option is None:
                self._refuse(options)
            else:
                break
        severity, value = row.severity, option.value
        if option.key == EDIT:
            value = rulings.options[0].value
            severity = str((await self._severity()).value)
        if rulings.argued:
            why = await self._text(f"  {option.words}: why? ")
        else:
            why = "" if option == rulings.options[0] else await self._line("  reason (Enter for none): ")
        self._enter(rulings, row, value, severity, why.strip())
        return pressed

    async def _severity(self) -> Option:
        self._paragraph(_side_by_side("its severity", *_named(SEVERITIES)))
        while True:
            if option := _chosen(SEVERITIES, await self._pressed(SEVERITIES)):
                return option
            self._refuse(SEVERITIES)

    def _enter(self, rulings: Rulings, row: Listed, value: Json, severity: str, why: str) -> None:
        self._ruled[row.id] = ruling(rulings, row, value, severity, why)
        self._write(f"  {row.id}: {printable(str(value))}{f', {severity}' if severity else ''}\n")

    async def _pressed(self, options: Sequence[Option]) -> str:
        self._write(f"  {'/'.join(one.key for one in options)} > ")
        return (await self._key()).strip()

    def _refuse(self, options: Sequence[Option]) -> None:
        keys = ", ".join(one.key for one in options)
        stops = "Ctrl-D stops here, and `rebut resume` asks this turn again."
        self._write(f"  Press one of {keys}; no Enter is needed. {stops}\n")

    # Texts.

    async def _lines(self, remark: Remark) -> Json:
        """Ask for a list: one entry per line, up to an empty line."""
        self._write("\n")
        needed = ", at least one" if remark.least else ""
        self._paragraph(f"{remark.ask} (one a line{needed}; an empty line ends the list)")
        out = list[Json]()
        while True:
            said = (await self._line("  > ")).strip()
            if said == EVERYTHING:
                self._write(f"\n{self._everything}\n\n")
            elif said:
                out.append(await self._entry(remark, said))
            elif len(out) >= remark.least:
                return out
            else:
                self._write("  At least one is needed.\n")

    async def _entry(self, remark: Remark, said: str) -> Json:
        picked = {pick.name: (await self._pick(pick, first=False)).value for pick in remark.each}
        return entry(remark, said, picked)

    async def _text(self, question: str) -> str:
        """Ask until a text is given."""
        while True:
            said = (await self._line(question)).strip()
            if said == EVERYTHING:
                self._write(f"\n{self._everything}\n\n")
            elif said:
                return said
            else:
                self._write("  An answer is needed.\n")

    async def _remark(self, remark: Remark, first: str) -> Json:
        if remark.many is not None:
            return await self._lines(remark)
        if remark.draft:
            return await self._edited(remark)
        usual = remark.usual.get(first, remark.usual.get("", ""))
        offer = f"Enter: {usual}" if usual else "an answer is needed"
        self._write("\n")
        self._paragraph(f"{remark.ask} ({offer})")
        if not usual:
            return await self._text("  > ")
        while (said := (await self._line("  > ")).strip()) == EVERYTHING:
            self._write(f"\n{self._everything}\n\n")
        return said or usual

    async def _edited(self, remark: Remark) -> str:
        """Offer the draft for editing; return it as the person leaves it."""
        self._write("\n")
        self._paragraph(f"{remark.ask} (:e edits it; Enter: as it is)")
        while (said := (await self._line("  > ", remark.draft)).strip()) == EVERYTHING:
            self._write(f"\n{self._everything}\n\n")
        return said or remark.draft


def _named(options: Sequence[Option]) -> list[str]:
    return [f"[{one.key}] {one.words}" for one in options if one.words]


def _side_by_side(*parts: str) -> str:
    """Join the parts into one row, which is not wrapped inside a part that begins with a bracket."""
    return "   ".join(part.replace(" ", NO_BREAK) if part.startswith("[") else part for part in parts if part)


def _chosen(options: Sequence[Option], pressed: str) -> Option | None:
    return next((one for one in options if pressed and one.key.lower() == pressed.lower()), None)
