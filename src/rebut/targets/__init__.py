"""Targets: what a debate is about. A text, a file, a change in git, or several of these."""

from __future__ import annotations

from rebut.targets.mixed import split_mixed
from rebut.targets.own import is_own
from rebut.targets.parted import Part, meets, parts
from rebut.targets.patch import Sides, written
from rebut.targets.question import Question, question, unanswerable
from rebut.targets.resolving import resolve
from rebut.targets.showing import whole_files
from rebut.targets.splitting import split, told
from rebut.targets.target import Target, Wanted

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
