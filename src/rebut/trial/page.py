"""A trial as one HTML page: the sentence, a plot of every arm beside chance, the table and the pairs. It has no script.

Its policy allows its own style and nothing else, and everything that a model or a file wrote is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from rebut.core.text import clean
from rebut.trial.arms import ARMS
from rebut.trial.defect_kinds import KINDS
from rebut.trial.report import notes, percent, score_table, sentence
from rebut.trial.scores import ArmScore
from rebut.trial.statistics import Interval, wilson
from rebut.trial.trial import TrialReport

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --soft: #666; --line: #ddd; --found: #1a7f4b;
  --alarm: #b3541e; --chance: #888; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #161616; --soft: #a0a0a0; --line: #3a3a3a; --found: #5cc28f; --alarm: #e39a6b;
    --chance: #999; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; line-height: 1.35; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.code { font-family: ui-monospace, monospace; white-space: pre-wrap; min-width: 16rem; }
.soft, small { color: var(--soft); } svg { max-width: 100%; height: auto; }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); } svg .soft { fill: var(--soft); }
.found { stroke: var(--found); fill: var(--found); } .alarm { stroke: var(--alarm); fill: var(--alarm); }
.chance { stroke: var(--chance); stroke-dasharray: 3 2; } .grid { stroke: var(--line); }
"""
LEFT, WIDTH, ROW, TOP = 90, 560, 46, 26


def trial_page(report: TrialReport) -> str:
    style = STYLE.strip()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = [f"<h1>{_escaped(sentence(report))}</h1>", f'<p class="soft">{_escaped(_about(report))}</p>']
    if report.arms:
        body += ["<h2>Found and false alarms, with 95 % intervals</h2>", plot(report.arms)]
        body += ["<h2>Every arm</h2>", _table(score_table(report))]
    if more := notes(report):
        body += ["<ul>", *(f"<li>{_escaped(note)}</li>" for note in more), "</ul>"]
    if report.arms:
        body += ["<h2>By kind of defect</h2>", _table(_by_kind(report))]
        body += ["<h2>Every pair</h2>", _table(_by_pair(report), code=2)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n<title>rebut trial</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _escaped(text: str) -> str:
    return escape(clean(text), quote=True)


def _about(report: TrialReport) -> str:
    files = len({pair.path for pair in report.pairs})
    models = ", ".join(report.models) or "no model"
    return (
        f"{len(report.pairs)} pairs from {files} files, of {report.source}; seed {report.seed}; {models}. "
        "A pair is a small change with one planted defect, and its twin without it. Found: the right place and the "
        "right kind. Chance: what as many findings would hit if their places and kinds were drawn."
    )


def plot(arms: Sequence[ArmScore]) -> str:
    """One row per arm: the share found, the share of false alarms, and what chance finds."""
    height = TOP + ROW * len(arms) + 30
    rows = [
        f'<svg role="img" viewBox="0 0 {LEFT + WIDTH + 60} {height}" xmlns="http://www.w3.org/2000/svg">',
        f"<title>{_escaped('; '.join(_in_words(arm) for arm in arms))}</title>",
    ]
    for tick in range(0, 101, 20):
        x = _x(tick / 100)
        rows.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{height - 28}"/>')
        rows.append(f'<text class="soft" x="{x}" y="{height - 10}" text-anchor="middle">{tick} %</text>')
    for n, arm in enumerate(arms):
        y = TOP + ROW * n + 8
        rows.append(f'<text x="0" y="{y + 11}">{_escaped(arm.arm)}</text>')
        rows += _bar("found", arm.found / arm.pairs, wilson(arm.found, arm.pairs), y)
        rows += _bar("alarm", arm.alarms / arm.pairs, wilson(arm.alarms, arm.pairs), y + 16)
        x = _x(arm.chance)
        rows.append(f'<line class="chance" x1="{x}" x2="{x}" y1="{y - 8}" y2="{y + 8}" stroke-width="2"/>')
    rows.append("</svg>")
    key = "<p><small>Upper mark: found. Lower mark: false alarms on the twins. Dashed: what chance finds.</small></p>"
    return "\n".join(rows) + key


def _in_words(arm: ArmScore) -> str:
    return (
        f"{ARMS[arm.arm]}: found {percent(arm.found / arm.pairs)}, false alarms {percent(arm.alarms / arm.pairs)}, "
        f"chance {percent(arm.chance)}"
    )


def _bar(kind: str, share: float, interval: Interval, y: int) -> list[str]:
    low, high = (_x(end) for end in interval)
    return [
        f'<line class="{kind}" x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke-width="3" stroke-linecap="round"/>',
        f'<circle class="{kind}" cx="{_x(share)}" cy="{y}" r="5"/>',
    ]


def _x(share: float) -> float:
    return round(LEFT + WIDTH * share, 1)


def _table(rows: Sequence[Sequence[str]], code: int = -1) -> str:
    head, *body = rows
    made = ["<tr>" + "".join(f'<th scope="col">{_escaped(cell)}</th>' for cell in head) + "</tr>"]
    for row in body:
        cells = [
            f'<td class="code">{_escaped(cell)}</td>' if n == code else f"<td>{_escaped(cell)}</td>"
            for n, cell in enumerate(row)
        ]
        made.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table>{"".join(made)}</table></div>'


def _by_kind(report: TrialReport) -> list[list[str]]:
    rows = [["kind", *(arm.arm for arm in report.arms)]]
    for kind in KINDS:
        cells = list[str]()
        for arm in report.arms:
            mine = [one for one in arm.scores if one.pair.defect.kind == kind]
            cells.append(f"{sum(one.found for one in mine)} of {len(mine)}" if mine else "–")
        if any(cell != "–" for cell in cells):
            rows.append([kind, *cells])
    return rows


def _by_pair(report: TrialReport) -> list[list[str]]:
    by_arm = [{one.pair.id: one for one in arm.scores} for arm in report.arms]
    rows = [["place", "kind", "planted", *(arm.arm for arm in report.arms)]]
    for pair in report.pairs:
        defect = pair.defect
        place = f"{pair.path}:{defect.first}"
        planted = f"- {defect.was.strip()}\n+ {defect.now.strip()}" if defect.now else f"- {defect.was.strip()}"
        cells = list[str]()
        for scores in by_arm:
            one = scores.get(pair.id)
            said = "" if one is None else "found" if one.found else "lost" if one.lost else "missed"
            cells.append(f"{said}, false alarm" if one and one.alarm else said)
        rows.append([place, defect.kind, planted, *cells])
    return rows
