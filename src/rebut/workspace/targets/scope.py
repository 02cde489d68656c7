"""The scope of a change as a person types it: `uncommitted`, `commit:SHA`, `base:BRANCH`, `range:A..B`, `file:P`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rebut.core.errors import UsageError

FORMS = "Scopes are uncommitted, commit:SHA, base:BRANCH, range:A..B, range:A...B and file:PATH."
REF = re.compile(r"[^\s\x00-\x1f\x7f:?*\[\\-][^\s\x00-\x1f\x7f:?*\[\\]{0,254}")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which change is meant. `first` is the commit, branch, path or left end of a range."""

    kind: Literal["uncommitted", "commit", "base", "range", "file"]
    first: str = ""
    second: str = ""
    from_merge_base: bool = False

    @classmethod
    def parse(cls, text: str) -> Scope:
        kind, colon, rest = text.strip().partition(":")
        match kind, rest:
            case "uncommitted", "" if not colon:
                return cls("uncommitted")
            case "commit", rest if rest:
                return cls("commit", _ref(rest, text))
            case "base", rest if rest:
                return cls("base", _ref(rest, text))
            case "range", rest if ".." in rest:
                dots = "..." if "..." in rest else ".."
                first, _, second = rest.partition(dots)
                if first or second:
                    ends = (_ref(first or "HEAD", text), _ref(second or "HEAD", text))
                    return cls("range", *ends, from_merge_base=dots == "...")
            case "file", rest if rest:
                if "\0" not in rest:
                    return cls("file", rest)
        raise UsageError(f"{text!r} is no scope", FORMS)


def _ref(ref: str, text: str) -> str:
    # A leading dash would be an option to git; the other characters are in no name, but in a search or a pattern.
    if not REF.fullmatch(ref) or ".." in ref or "^{/" in ref:
        raise UsageError(f"{ref!r} in the scope {text!r} names no commit", "Give a commit id, a branch or a tag.")
    return ref
