"""The commands, where each lives, and its line in the help: plain data, so that nothing is loaded to show it."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command."""

    module: str
    help: str
    heading: str


DEBATE, SESSIONS, OTHER = "Debate", "Sessions", "Without a model"

COMMANDS: dict[str, Entry] = {
    "duel": Entry("duel", "Proposer against challenger, until a judge picks a side.", DEBATE),
    "run": Entry("run", "Run a protocol of your own from its Python file.", DEBATE),
    "list": Entry("listing", "List the sessions of this folder.", SESSIONS),
    "show": Entry("reading", "Show a session: who said what, the points, the outcome.", SESSIONS),
    "resume": Entry("going_on", "Go on with a session; nothing on record is asked again.", SESSIONS),
    "fork": Entry("going_on", "Branch a session with another seat; what fits is reused.", SESSIONS),
    "replay": Entry("reading", "Run a session again from its record, offline.", SESSIONS),
    "export": Entry("keeping", "Write a session as Markdown or JSON.", SESSIONS),
    "verify": Entry("keeping", "Check that a session's record is whole and unaltered.", SESSIONS),
    "check": Entry("check", "Look up every citation in a plan, a review, a message.", OTHER),
    "config": Entry("config", "Tell where your config file is and what it says.", OTHER),
}
