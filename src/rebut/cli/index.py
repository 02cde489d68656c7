"""Every command with its module and its line in the help. Plain data, so that help loads no command."""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One command."""

    module: str
    help: str
    heading: str


START, DEBATE, SESSIONS = "Quick start", "Protocols", "Sessions"
MODELS, OTHER, DEVELOPERS = "Models", "No model needed", "For agents and developers"

FIRST = {
    "Start": ("demo", "check", "ask", "review", "plan"),
    "Sessions": ("list", "show", "view", "resume", "export"),
    "Models": ("init", "doctor"),
}
"""The commands of `rebut --help`, which a newcomer needs; `rebut help all` lists all of them."""

COMMANDS: dict[str, CommandEntry] = {
    "ask": CommandEntry("verbs", "Two models answer a question; they debate only if they disagree.", START),
    "review": CommandEntry("verbs", "Review a change; every citation is checked.", START),
    "plan": CommandEntry("verbs", "Review a plan or a proposal.", START),
    "more": CommandEntry("resume", "Add a round to a debate.", START),
    "duel": CommandEntry("protocols", "A proposer against a challenger, until a judge picks a side.", DEBATE),
    "cross": CommandEntry("protocols", "A critic reviews a change or a proposal, a judge rules, you decide.", DEBATE),
    "revise": CommandEntry("protocols", "Two authors write, critique and revise until they agree.", DEBATE),
    "panel": CommandEntry("protocols", "Several experts attack one position: consensus or trade-off.", DEBATE),
    "run": CommandEntry("protocols", "Run another protocol: a Python file, or an installed one by name.", DEBATE),
    "batch": CommandEntry("batch", "Run many debates from a file; a second run does what is missing.", DEBATE),
    "trial": CommandEntry("trial", "Measure whether a debate finds more planted defects than one model.", DEBATE),
    "list": CommandEntry("sessions", "List the sessions of this folder.", SESSIONS),
    "show": CommandEntry("show", "Show a session: its outcome, its points and every answer.", SESSIONS),
    "view": CommandEntry("view", "Show a session, or all of this folder, in the browser.", SESSIONS),
    "resume": CommandEntry("resume", "Resume a session; recorded answers are not asked again.", SESSIONS),
    "say": CommandEntry("say", "Add a note to a running debate; every seat gets it.", SESSIONS),
    "answer": CommandEntry("resume", "Answer for a `caller` seat and resume the session.", SESSIONS),
    "fork": CommandEntry("resume", "Copy a session with another model or setting; answers are reused.", SESSIONS),
    "replay": CommandEntry("show", "Repeat a session from its record, offline.", SESSIONS),
    "export": CommandEntry("export", "Export a session: HTML, Markdown, JSON, decision record, SARIF …", SESSIONS),
    "rerun": CommandEntry("rerun", "Run the checks of a session again, in the sandbox.", SESSIONS),
    "verify": CommandEntry("export", "Check that a session's record is complete and unaltered.", SESSIONS),
    "gate": CommandEntry("gate", "Pass or fail a recorded review by its findings, for CI.", SESSIONS),
    "apply": CommandEntry("apply", "Apply the patch of a review, or the fixes of single findings.", SESSIONS),
    "dismiss": CommandEntry("dismiss", "Hide a finding until the lines it cites change.", SESSIONS),
    "delete": CommandEntry("sessions", "Delete sessions permanently.", SESSIONS),
    "init": CommandEntry("init", "Find your models or set up a key, then have a first debate.", MODELS),
    "doctor": CommandEntry("doctor", "Test the available models: installed, logged in, answering.", MODELS),
    "models": CommandEntry("models", "List the models that can take a seat; download one that needs no key.", MODELS),
    "demo": CommandEntry("demo", "Show a complete scripted debate about a small repository.", OTHER),
    "check": CommandEntry("check", "Check every citation in a plan, a review or a message.", OTHER),
    "config": CommandEntry("config", "Show your config file and settings; print a completion script.", OTHER),
    "mcp": CommandEntry("mcp", "Serve rebut to agent hosts (claude, codex, Cursor …) as an MCP server.", DEVELOPERS),
    "skill": CommandEntry("skill", "Install the rebut skill for your coding agent.", DEVELOPERS),
    "new": CommandEntry("new", "Create a working protocol and its test, as a starting point.", DEVELOPERS),
}

FORMER: dict[str, tuple[str, ...]] = {
    "providers": ("models",),
    "comment": ("export", "--format", "comment"),
    "completion": ("config", "completion"),
}
"""Former commands and what they stand for now. They still work, but no list of commands shows them."""
