"""Amounts as people read them: seconds, sizes, money, and what a debate cost."""

from __future__ import annotations

from rebut.core.text import counted
from rebut.record.record import Spent


def duration(seconds: float) -> str:
    whole = round(seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"


def size(count: float, unit: str = "") -> str:
    gap = " " if unit else ""
    if count >= 999_500:
        return f"{count / 1e6:.1f}{gap}M{unit}"
    return f"{count / 1000:.1f}{gap}k{unit}" if count >= 1000 else f"{count:.0f}{gap}{unit}"


def money(usd: float | None) -> str:
    return "price unknown" if usd is None else f"${usd:.2f}" if usd >= 0.005 or usd == 0 else "under $0.01"


def spent(total: Spent) -> str:
    rest = f", {total.in_doubt} cut off" if total.in_doubt else ""
    rest += f", {total.unmetered} without a token count" if total.unmetered else ""
    calls = counted(total.calls, "call")
    return f"{calls}, {duration(total.seconds)}, {size(total.tokens)} tokens, {money(total.usd)}{rest}"
