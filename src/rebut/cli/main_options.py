"""The options that `--help` shows of a command with many of them; `--help-all` shows all. Plain data."""

from __future__ import annotations

MOST = 10
MAIN_OPTIONS: dict[str, tuple[str, ...]] = {
    "ask": ("company", "context", "quick", "deep", "save", "usd", "deadline", "dry_run", "as_json", "quiet"),
    "review": (
        *("company", "fix", "apply_patch", "interactive", "everything", "fail_on", "context", "usd", "dry_run"),
        "as_json",
    ),
    "plan": ("company", "rewrite", "everything", "context", "quick", "deep", "save", "usd", "dry_run", "as_json"),
    "duel": (
        *("proposer", "challenger", "judge", "rounds", "effort", "context", "usd", "deadline", "dry_run", "as_json"),
    ),
    "cross": (
        *("scope", "artifact_file", "critic", "judge", "intensity", "mode", "apply_patch", "fail_on"),
        *("dry_run", "as_json"),
    ),
    "revise": ("author", "synthesizer", "scope", "rounds", "phase", "strategy", "context", "usd", "dry_run", "as_json"),
    "panel": (
        *("lead", "challenger", "judge", "rounds", "min_challengers", "effort", "context", "usd", "dry_run", "as_json"),
    ),
    "run": (
        "seat",
        "settings",
        "scope",
        "artifact_file",
        "fail_on",
        "context",
        "usd",
        "deadline",
        "dry_run",
        "as_json",
    ),
    "batch": ("out", "each", "company", "at_once", "processes", "skip_bad", "usd", "on", "as_json", "quiet"),
    "trial": ("company", "count", "arms", "run_checks", "repo", "seed", "out", "usd", "dry_run", "as_json"),
    "resume": ("ask_left", "yes", "fail_on", "timeout", "minutes", "usd", "calls", "deadline", "as_json", "quiet"),
    "more": ("yes", "timeout", "minutes", "usd", "calls", "deadline", "view", "as_json", "quiet"),
    "fork": ("proposer", "challenger", "judge", "rounds", "seat", "settings", "again", "usd", "dry_run", "as_json"),
}
"""Command → the names of its parameters."""
