"""The commands, where each lives, and its line in the help: plain data, so that nothing is loaded to show it."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command."""

    module: str
    help: str
    heading: str


DEBATE, SESSIONS, MODELS, OTHER = "Debate", "Sessions", "Models", "Without a model"
BUILDING = "For agents and for builders"

COMMANDS: dict[str, Entry] = {
    "duel": Entry("duel", "Proposer against challenger, until a judge picks a side.", DEBATE),
    "cross": Entry("cross", "A critic reviews a change or a proposal, a judge weighs, you decide.", DEBATE),
    "run": Entry("run", "Run a protocol of your own: its Python file or its name.", DEBATE),
    "list": Entry("listing", "List the sessions of this folder.", SESSIONS),
    "show": Entry("reading", "Show a session: who said what, the points, the outcome.", SESSIONS),
    "resume": Entry("going_on", "Go on with a session; nothing on record is asked again.", SESSIONS),
    "answer": Entry("answer", "Answer for a `caller` seat, and go on.", SESSIONS),
    "fork": Entry("going_on", "Branch a session with another seat; what fits is reused.", SESSIONS),
    "replay": Entry("reading", "Run a session again from its record, offline.", SESSIONS),
    "export": Entry("keeping", "Write a session as Markdown or JSON.", SESSIONS),
    "verify": Entry("keeping", "Check that a session's record is whole and unaltered.", SESSIONS),
    "delete": Entry("deleting", "Delete sessions for good.", SESSIONS),
    "providers": Entry("providers", "List what could fill a seat, and what is here.", MODELS),
    "doctor": Entry("doctor", "Try what is here: installed, logged in, a real round trip.", MODELS),
    "models": Entry("models", "Get the embedded model that `local` seats.", MODELS),
    "demo": Entry("demo", "Watch a whole debate, scripted, on a little repository.", OTHER),
    "check": Entry("check", "Look up every citation in a plan, a review, a message.", OTHER),
    "config": Entry("config", "Tell where your config file is and what it says.", OTHER),
    "completion": Entry("completion", "Print the completion for bash, zsh or fish.", OTHER),
    "skill": Entry("skill", "Lay rebut's skill where your coding agent looks for it.", BUILDING),
    "new": Entry("new", "Write a protocol and its test, both working, to begin from.", BUILDING),
}
