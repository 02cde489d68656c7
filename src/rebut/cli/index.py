"""The commands, where each lives, and its line in the help: plain data, so that nothing is loaded to show it."""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One command."""

    module: str
    help: str
    heading: str


VERBS, DEBATE, SESSIONS = "To begin with", "Protocols", "Sessions"
MODELS, OTHER = "Models", "Without a model"
BUILDING = "For agents and for builders"

COMMANDS: dict[str, CommandEntry] = {
    "ask": CommandEntry("quick", "Two models answer blind; they debate only if they differ.", VERBS),
    "review": CommandEntry("quick", "Have a change reviewed, its findings held to evidence.", VERBS),
    "plan": CommandEntry("quick", "Have a plan or a proposal reviewed.", VERBS),
    "more": CommandEntry("resume", "One more round of the same debate.", VERBS),
    "duel": CommandEntry("protocols", "Proposer against challenger, until a judge picks a side.", DEBATE),
    "cross": CommandEntry("protocols", "A critic reviews a change or a proposal, a judge weighs, you decide.", DEBATE),
    "revise": CommandEntry("protocols", "Two authors critique, revise and converge on one plan or review.", DEBATE),
    "panel": CommandEntry(
        "protocols", "One position against several experts at once, to consensus or trade-off.", DEBATE
    ),
    "run": CommandEntry("protocols", "Run a protocol of your own: its Python file or its name.", DEBATE),
    "list": CommandEntry("sessions", "List the sessions of this folder.", SESSIONS),
    "show": CommandEntry("show", "Show a session: the outcome, the points, who said what.", SESSIONS),
    "resume": CommandEntry("resume", "Go on with a session; nothing on record is asked again.", SESSIONS),
    "answer": CommandEntry("resume", "Answer for a `caller` seat, and go on.", SESSIONS),
    "fork": CommandEntry("resume", "Branch a session with another seat; what fits is reused.", SESSIONS),
    "replay": CommandEntry("show", "Run a session again from its record, offline.", SESSIONS),
    "export": CommandEntry("export", "Write a session as Markdown, JSON, a decision record, SARIF …", SESSIONS),
    "verify": CommandEntry("export", "Check that a session's record is whole and unaltered.", SESSIONS),
    "gate": CommandEntry("gate", "Judge a review by a threshold, from its record.", SESSIONS),
    "dismiss": CommandEntry("gate", "Hide a finding until the lines that it cites change.", SESSIONS),
    "delete": CommandEntry("sessions", "Delete sessions for good.", SESSIONS),
    "providers": CommandEntry("models", "List what could fill a seat, and what is here.", MODELS),
    "doctor": CommandEntry("doctor", "Try what is here: installed, logged in, a real round trip.", MODELS),
    "models": CommandEntry("models", "Get the embedded model that `local` seats.", MODELS),
    "demo": CommandEntry("demo", "Watch a whole debate, scripted, on a little repository.", OTHER),
    "check": CommandEntry("check", "Look up every citation in a plan, a review, a message.", OTHER),
    "config": CommandEntry("config", "Tell where your config file is and what it says.", OTHER),
    "completion": CommandEntry("completion", "Print the completion for bash, zsh or fish.", OTHER),
    "skill": CommandEntry("skill", "Lay rebut's skill where your coding agent looks for it.", BUILDING),
    "new": CommandEntry("new", "Write a protocol and its test, both working, to begin from.", BUILDING),
}
