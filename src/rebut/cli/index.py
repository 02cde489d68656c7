"""The commands, where each lives, and its line in the help: plain data, so that nothing is loaded to show it."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command."""

    module: str
    help: str
    heading: str


VERBS, DEBATE, SESSIONS = "To begin with", "Protocols", "Sessions"
MODELS, OTHER = "Models", "Without a model"
BUILDING = "For agents and for builders"

COMMANDS: dict[str, Entry] = {
    "ask": Entry("quick", "Two models answer blind; they debate only if they differ.", VERBS),
    "review": Entry("quick", "Have a change reviewed, its findings held to evidence.", VERBS),
    "plan": Entry("quick", "Have a plan or a proposal reviewed.", VERBS),
    "more": Entry("quick", "One more round of the same debate.", VERBS),
    "duel": Entry("protocols", "Proposer against challenger, until a judge picks a side.", DEBATE),
    "cross": Entry("protocols", "A critic reviews a change or a proposal, a judge weighs, you decide.", DEBATE),
    "revise": Entry("protocols", "Two authors critique, revise and converge on one plan or review.", DEBATE),
    "panel": Entry("protocols", "One position against several experts at once, to consensus or trade-off.", DEBATE),
    "run": Entry("protocols", "Run a protocol of your own: its Python file or its name.", DEBATE),
    "list": Entry("sessions", "List the sessions of this folder.", SESSIONS),
    "show": Entry("show", "Show a session: the outcome, the points, who said what.", SESSIONS),
    "resume": Entry("resume", "Go on with a session; nothing on record is asked again.", SESSIONS),
    "answer": Entry("resume", "Answer for a `caller` seat, and go on.", SESSIONS),
    "fork": Entry("resume", "Branch a session with another seat; what fits is reused.", SESSIONS),
    "replay": Entry("show", "Run a session again from its record, offline.", SESSIONS),
    "export": Entry("export", "Write a session as Markdown, JSON, a decision record, SARIF …", SESSIONS),
    "verify": Entry("export", "Check that a session's record is whole and unaltered.", SESSIONS),
    "gate": Entry("gate", "Judge a review by a threshold, from its record.", SESSIONS),
    "dismiss": Entry("gate", "Hide a finding until the lines that it cites change.", SESSIONS),
    "delete": Entry("sessions", "Delete sessions for good.", SESSIONS),
    "providers": Entry("models", "List what could fill a seat, and what is here.", MODELS),
    "doctor": Entry("doctor", "Try what is here: installed, logged in, a real round trip.", MODELS),
    "models": Entry("models", "Get the embedded model that `local` seats.", MODELS),
    "demo": Entry("demo", "Watch a whole debate, scripted, on a little repository.", OTHER),
    "check": Entry("check", "Look up every citation in a plan, a review, a message.", OTHER),
    "config": Entry("config", "Tell where your config file is and what it says.", OTHER),
    "completion": Entry("completion", "Print the completion for bash, zsh or fish.", OTHER),
    "skill": Entry("skill", "Lay rebut's skill where your coding agent looks for it.", BUILDING),
    "new": Entry("new", "Write a protocol and its test, both working, to begin from.", BUILDING),
}
