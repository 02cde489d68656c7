"""Targets: what a debate is about. A text, a file, a change in git, or several of these."""

from __future__ import annotations

from rebut.workspace.diff import Sides, written
from rebut.workspace.parted import Part, meets, parts
from rebut.workspace.splitting import split, told
from rebut.workspace.targets.mixed import split_mixed
from rebut.workspace.targets.own import is_own
from rebut.workspace.targets.question import Question, question, unanswerable
from rebut.workspace.targets.resolve import resolve
from rebut.workspace.targets.showing import whole_files
from rebut.workspace.targets.target import Target, Wanted

__all__ = [
    "Part",
    "Question",
    "Sides",
    "Target",
    "Wanted",
    "is_own",
    "meets",
    "parts",
    "question",
    "resolve",
    "split",
    "split_mixed",
    "told",
    "unanswerable",
    "whole_files",
    "written",
]
