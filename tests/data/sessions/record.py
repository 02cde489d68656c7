"""Records the sessions of this folder again, with the `rebut` of this checkout:

    .venv/bin/python tests/data/sessions/record.py [NAME…]

Every sample is recorded at the same neutral place, /tmp/rebut-sample, because a journal holds the absolute path of its
workspace. The program is started as a user starts it, with an environment of its own, and is killed with SIGKILL or
interrupted with SIGINT where the sample says so. README.md explains the folders that it writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = Path("/tmp/rebut-sample")
WORK, HOME, SEATS = ROOT / "work", ROOT / "home", ROOT / "seats"

Answers = dict[str, Any]
Event = dict[str, Any]

# the workspace ------------------------------------------------------

FILES = {
    "src/session.py": "import redis\nttl = 3600\nport = 6379\nnodes = 1\n",
    "api/orders.py": "import os\n\n\ndef pay(order):\n    charge(order)\n    commit(order)\n",
    "PLAN.md": '# Sessions\n\n## Goal\n\nKeep sessions in Redis, src/session.py:2 "ttl = 3600".\n\n'
    "## Cost\n\nA replica is not needed.\n",
}
CHANGED = "import os\n\n\ndef pay(order):\n    commit(order)\n    charge(order)\n    return None\n"
PATCH = (
    "--- a/api/orders.py\n+++ b/api/orders.py\n@@ -2,6 +2,6 @@\n \n \n def pay(order):\n"
    "-    commit(order)\n     charge(order)\n+    commit(order)\n     return None\n"
)


def workspace(folder: Path, *, changed: bool) -> None:
    """A repository with one commit, which has the same id wherever and whenever it is made."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    who = {"NAME": "Sample", "EMAIL": "sample@example.invalid", "DATE": "2026-01-01T00:00:00 +0000"}
    env = {f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in who.items()}
    env |= {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    plain = ["git", "-c", "core.autocrlf=false", "-c", "core.fileMode=false", "-c", "commit.gpgSign=false"]
    for words in (
        ["init", "-q", "-b", "main", "--template=", "--object-format=sha1"],
        ["add", "-A"],
        ["commit", "-q", "-m", "The first version"],
    ):
        subprocess.run([*plain, *words], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    if changed:
        (folder / "api/orders.py").write_text(CHANGED)


# what the seats say -------------------------------------------------


def cite(place: str, quote: str = "") -> dict[str, str]:
    return {"place": place, "quote": quote}


def opening(position: str = "Use Redis.", **changes: Any) -> Answers:
    claims = [
        {"text": "Sessions last an hour.", "evidence": [cite("src/session.py:2", "ttl = 3600")]},
        {"text": "Redis is fast.", "evidence": []},
    ]
    return {"position": position, "claims": claims, "need": []} | changes


def flaw(text: str, line: int, category: str = "correctness") -> Answers:
    evidence = [cite(f"src/session.py:{line}")]
    return {"text": text, "severity": "P1", "category": category, "evidence": evidence, "about": "C1"}


CHALLENGE: Answers = {
    "flaws": [flaw("One node: a failover loses every session.", 4), flaw("The port is open.", 3, "security")],
    "unsupported": ["C2"],
    "alternatives": ["Sign cookies."],
    "coverage": {"correctness": "failover", "security": "the port", "developer_experience": "nothing found"},
    "agreements": [],
    "need": [],
}


def defense(moves: dict[str, str]) -> Answers:
    evidence = [cite("src/session.py:4", "nodes = 1")]
    responses = [{"id": k, "move": v, "argument": f"To {k}: {v}.", "evidence": evidence} for k, v in moves.items()]
    return {"responses": responses, "position": "Redis with a replica.", "claims": [], "need": []}


def follow_up(rulings: dict[str, str], *flaws: Answers) -> Answers:
    evidence = [cite("src/session.py:3", "port = 6379")]
    rows = [
        {"id": k, "ruling": v, "reason": "The port is in the file.", "evidence": evidence} for k, v in rulings.items()
    ]
    return {"rulings": rows, "flaws": list(flaws), "need": []}


def verdict(winner: str = "challenger") -> Answers:
    return {
        "winner": winner,
        "reasoning": "D1 was conceded.",
        "genuine_disagreement": "high",
        "evidence_quality": "medium",
        "challenge_depth": "high",
        "agreements": [{"text": "a replica is needed", "evidence": [cite("src/session.py:4")], "risk": "cost"}],
        "disagreements": [{"point": "the port", "proposer": "it is closed", "challenger": "it is open"}],
        "unresolved": ["What does a replica cost?"],
        "recommendation": "Sign cookies.",
    }


DUEL: Answers = {
    "r1/opening@proposer": opening(),
    "r1/challenge@challenger": CHALLENGE,
    "r2/defense@proposer": defense({"D1": "concede", "D2": "rebut"}),
    "r2/follow-up@challenger": follow_up({"D2": "unresolved"}, flaw("Nothing is logged.", 1)),
    "r3/defense@proposer": defense({"D2": "rebut", "D3": "concede"}),
    "r3/follow-up@challenger": follow_up({"D2": "resolved"}),
    "r3/summary@judge": {
        "proposer": "Redis.",
        "challenger": "No Redis.",
        "concessions": [],
        "agreements": [],
        "disagreements": ["the port"],
        "contradictions": [],
    },
    "verdict@judge": verdict(),
}
# The first reply of the proposer is no JSON; the challenge forgets a category, and is sent back.
CLUMSY = DUEL | {
    "r1/opening@proposer": [{"text": "Use Redis, I would say."}, {"json": opening()}],
    "r1/challenge@challenger": [{"json": CHALLENGE | {"alternatives": []}}, {"json": CHALLENGE}],
    # It wants to see a file before it answers.
    "r2/defense@proposer": [
        {"json": defense({"D1": "concede", "D2": "rebut"}) | {"need": ["src/session.py"]}},
        {"json": defense({"D1": "concede", "D2": "rebut"})},
    ],
}


def compared(same: bool) -> Answers:
    second = "Keep Redis." if same else "Sign cookies."
    reason = "They would do the same." if same else "One keeps the store."
    wanted = "Keep Redis." if same else ""
    return {"first": "Keep Redis.", "second": second, "same": same, "reason": reason, "recommendation": wanted}


def blind(same: bool) -> Answers:
    return {
        "answer@proposer": opening(),
        "answer@challenger": opening() if same else opening("Sign cookies."),
        "comparison@judge": compared(same),
        "r1/challenge@challenger": CHALLENGE,
        "verdict@judge": verdict("proposer"),
    }


def found(text: str, place: str, quote: str, severity: str = "P1") -> Answers:
    fields = {"category": "correctness", "evidence": [cite(place, quote)], "action": "charge first", "fix": ""}
    return {"text": text, "severity": severity, **fields, "same_as": ""}


def critique(*findings: Answers, **changes: Any) -> Answers:
    said = {"findings": list(findings), "agrees": not findings, "agreements": ["The name is good."]}
    return said | {"suggestions": ["Say why."], "need": []} | changes


def judgement(choice: str, **rulings: str) -> Answers:
    rows = [{"id": k, "ruling": v[:-3], "severity": v[-2:], "reason": f"{k} is so."} for k, v in rulings.items()]
    rest = {"rebuttal": "", "unresolved": [], "next_actions": ["Ask the payments team."]}
    return {"findings": rows, "missed": [], "choice": choice, "reason": f"Because of {choice}.", **rest}


FIRST = found("It commits before it charges.", "api/orders.py:5", "commit(order)")
SECOND = found("It returns nothing.", "api/orders.py:7", "return 1", "P2")
CROSS: Answers = {
    "r1/critique@critic": critique(FIRST, SECOND),
    "r1/judgement@judge": judgement("C", F1="valid P1", F2="invalid P2"),
    "r1/decision@decider": {"choice": "A"},  # for a fork in which a script decides
    "r1/version.code@judge": {"json": {"patch": PATCH, "changes": ["F1: charge first"]}},
    "r2/critique@critic": critique(),
    "r2/judgement@judge": judgement("A"),
}
REVIEW: Answers = {
    "r1/critique@critic": critique(FIRST),
    "r1/judgement@judge": judgement("A", F1="valid P1"),
}
COST = found("A restart loses every session.", "§ Cost", "not needed")
PROPOSAL: Answers = {
    "r1/critique@critic": critique(COST, alternatives=["signed cookies"], recommendation="Use cookies."),
    "r1/judgement@judge": judgement("B", F1="valid P1"),
}


def document(who: str, more: str = "") -> str:
    return f"# Sessions\n\n## Goal\n\nKeep them, as {who} would.\n\n## Steps\n\n1. Change src/session.py. {more}\n"


def weakness(text: str, place: str) -> Answers:
    fields = {"severity": "high", "impact": "correctness", "evidence": [cite(place)], "same_as": ""}
    said = {
        "strengths": [{"text": "It is short.", "evidence": [cite("§ Goal")]}],
        "disagreements": [],
        "concessions": [],
    }
    return {"weaknesses": [{"text": text, **fields}], "need": [], **said}


def revision(who: str, id: str, defend: bool = False) -> Answers:
    reason = {"id": id, "reason": "It is meant so.", "evidence": [cite("src/session.py:2", "ttl = 3600")]}
    return {
        "document": document(who, "" if defend else "And test it."),
        "addressed": [] if defend else [{"id": id, "change": "A step was added."}],
        "defended": [reason] if defend else [],
        "summary": "The steps say more.",
        "need": [],
    }


REVIEWED: Answers = {
    "r0/draft@author.1": {"document": document("the first"), "need": []},
    "r0/draft@author.2": {"document": document("the second"), "need": []},
    "r1/critique@author.1": weakness("No test.", "§ Steps"),
    "r1/critique@author.2": weakness("No reason.", "§ Goal"),
    "r1/revision@author.1": revision("the first", "W2"),
    "r1/revision@author.2": revision("the second", "W1"),
    "synthesis@synthesizer": {
        "decision": "approve with changes",
        "summary": "Charge first.",
        "first": "It can go in.",
        "second": "It can go in with a change.",
        "findings": [
            {
                "text": "It commits before it charges.",
                "severity": "medium",
                "held_by": "both",
                "evidence": [cite("api/orders.py:5", "commit(order)")],
                "why": "One said high, one said low.",
            }
        ],
        "agreement": ["It commits before it charges."],
        "disagreement": [],
    },
}
REVISED = REVIEWED | {
    "r1/revision@author.2": revision("the second", "W1", defend=True),
    "synthesis@synthesizer": {
        "document": document("both"),
        "summary": "Sign cookies.",
        "adopted": [{"id": "W2", "how": "step 1"}],
        "overruled": [{"id": "W1", "why": "it costs too much"}],
        "unresolved": [],
    },
}


def persona(lens: str) -> Answers:
    looks = [f"{lens.lower()} matter {n}" for n in ("one", "two", "three")]
    background = f"Ten years as {lens.lower()}."
    return {"lens": lens, "name": lens.lower(), "background": background, "looks_for": looks, "questions": ["Why?"]}


def personas(*lenses: str) -> Answers:
    return {"domain": "web", "personas": [persona(lens) for lens in lenses]}


def challenge(lens: str, *points: tuple[str, str, int]) -> Answers:
    made = [
        {"text": text, "strength": s, "category": "design", "evidence": [cite(f"src/session.py:{n}")], "about": ""}
        for text, s, n in points
    ]
    strength = points[0][1] if points else "minor"
    return {
        "verdict": ("partial" if strength == "minor" else "disagree") if points else "agree",
        "objection_strength": strength,
        "points": made,
        "examined": [{"angle": f"{lens.lower()} matter one", "what": "the session file", "found": "nothing else"}],
        "summary": f"The {lens.lower()} has looked.",
        "need": [],
    }


def confront(moves: dict[str, str], position: str) -> Answers:
    evidence = [cite("src/session.py:4", "nodes = 1")]
    given = [id for id, move in moves.items() if move != "reject"]
    return {
        "responses": [{"id": k, "move": v, "reason": f"I {v} {k}.", "evidence": evidence} for k, v in moves.items()],
        "position": position,
        "changes": [{"what": "a replica", "because": [id]} for id in given],
        "confidence": "medium",
        "need": [],
    }


def rebuttal(**rulings: str) -> Answers:
    reason = "The replica that was added takes over within a minute."
    rows = [{"id": k, "ruling": v, "reason": reason, "evidence": []} for k, v in rulings.items()]
    own = "accept" if set(rulings.values()) == {"accept"} else "maintain"
    return {"answer": own, "rulings": rows, "points": [], "examined": [], "summary": f"I {own}.", "need": []}


def grounds(party: str) -> Answers:
    return {
        "why": f"The {party} weighs failure differently.",
        "other_right": "if outages were rare",
        "assumptions": ["outages happen monthly"],
        "cruxes": [{"question": f"How many outages did the {party} count?", "how": "read the incident log"}],
    }


PANEL: Answers = {
    "opening/personas@judge": personas("Architect", "Operator", "Adversary"),
    "opening/position@lead": {
        "position": "Use Redis.",
        "reasoning": [{"text": "Sessions last an hour.", "evidence": [cite("src/session.py:2", "ttl = 3600")]}],
        "confidence": "high",
        "weaknesses": ["one node"],
        "assumptions": ["one region is enough"],
        "need": [],
    },
    "r1/challenge@challenger.1": challenge("Architect", ("One node may fail.", "strong", 4)),
    "r1/challenge@challenger.2": challenge("Operator"),
    "r1/challenge@challenger.3": challenge("Adversary", ("The port is known.", "minor", 3)),
    "r2/confront@lead": confront({"B1": "accept", "B2": "partial"}, "Use Redis with a replica."),
    "r2/rebuttal@challenger.1": rebuttal(B1="accept"),
}
# One of two challengers cannot be reached, and the other never gives in.
TRADEOFF = PANEL | {
    "opening/personas@judge": personas("Architect", "Operator"),
    "r1/challenge@challenger.2": {"fail": "rate limit", "message": "too many requests"},
    "r2/confront@lead": confront({"B1": "reject"}, "Use Redis."),
    "r2/rebuttal@challenger.1": rebuttal(B1="maintain"),
    "assumptions/grounds@lead": grounds("lead"),
    "assumptions/grounds@challenger.1": grounds("architect"),
    "map@judge": {
        "core_disagreement": "How often a node is lost.",
        "assumptions": [{"text": "nodes are lost monthly", "held_by": ["Architect"], "denied_by": ["Lead"]}],
    },
}
# Points on the same lines: version 1 of the ledger made one of them, and the replies cite its id.
DUEL_JOINED = DUEL | {
    "r2/defense@proposer": defense({"D1": "rebut", "D2": "rebut"}),
    "r2/follow-up@challenger": follow_up({"D1": "unresolved", "D2": "unresolved"}, flaw("No backup of the node.", 4)),
    "r3/defense@proposer": defense({"D1": "concede", "D2": "rebut"}),
    "r3/follow-up@challenger": follow_up({"D2": "resolved"}),
}
CROSS_JOINED: Answers = {
    "r1/critique@critic": critique(FIRST),
    "r1/judgement@judge": judgement("D", F1="invalid P1") | {"rebuttal": "charge() is called again if it fails."},
    "r2/critique@critic": critique(found("The order may be empty.", "api/orders.py:4-6", "commit(order)")),
    "r2/judgement@judge": judgement("D", F1="invalid P1") | {"rebuttal": "The caller checks the order."},
}
REVISE_JOINED = REVISED | {
    "r1/critique@author.1": weakness("The ttl is fixed.", "src/session.py:2"),
    "r1/critique@author.2": weakness("The ttl is too long.", "src/session.py:1-2"),
    "r1/revision@author.1": revision("the first", "W1"),
    "r1/revision@author.2": revision("the second", "W1", defend=True),
    "synthesis@synthesizer": {
        "document": document("both"),
        "summary": "Sign cookies.",
        "adopted": [{"id": "W1", "how": "step 1"}],
        "overruled": [],
        "unresolved": [],
    },
}
PANEL_JOINED = PANEL | {
    "r1/challenge@challenger.2": challenge("Operator", ("No alarm rings.", "strong", 4)),
    "r1/challenge@challenger.3": challenge("Adversary", ("The node trusts anyone.", "strong", 4)),
    "r2/confront@lead": confront({"B1": "accept"}, "Use Redis with a replica."),
    "r2/rebuttal@challenger.2": rebuttal(B1="maintain"),
    "r2/rebuttal@challenger.3": rebuttal(B1="accept"),
    "r3/confront@lead": confront({"B1": "accept"}, "Use Redis with a replica and alarms."),
    "r3/rebuttal@challenger.2": rebuttal(B1="accept"),
}
STEELMAN: Answers = {
    "r1/case@skeptic": {"case": "Old servers need it.", "evidence": [cite("src/session.py:1", "import redis")]},
    "r1/reply@owner": {"fair": False, "choice": "keep", "reason": "That is not the best case."},
    "r2/case@skeptic": {"case": "A customer has one.", "evidence": []},
    "r2/reply@owner": {"fair": True, "choice": "change", "reason": "We cannot drop it yet."},
}

# the samples --------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """One folder of this one: a command line, what its seats say, and how the program ends."""

    words: tuple[str, ...]
    says: Answers
    code: int = 0
    """The exit code; of a killed program the signal, negative."""
    hangs: tuple[str, ...] = ()
    """The questions that are in flight when the process ends: their seats never answer."""
    signals: tuple[signal.Signals, ...] = ()
    """Sent one after the other once every question of `hangs` is asked and all others of that step are answered."""
    after: str = ""
    """Instead of `hangs`: the question after whose answer it is killed, before the next one is asked."""
    changed: bool = False
    """Whether the workspace has an uncommitted change."""
    fork: tuple[str, ...] = ()
    """Words of a fork of the session that came of the first command; the rest then holds for the fork."""


TOPIC = "Should sessions live in Redis?"
NAMES = ("one", "two", "three", "four", "five")
ONE, TWO, THREE, FOUR, FIVE = (f"scripted:../seats/{name}.json" for name in NAMES)
KILL = (signal.SIGKILL,)
KILLED = -signal.SIGKILL
DUELLISTS = ("--proposer", ONE, "--challenger", TWO, "--judge", THREE)
PANELLISTS = ("--lead", ONE, *(w for s in (TWO, THREE, FOUR) for w in ("--challenger", s)), "--judge", FIVE)
AUTHORS = ("--author", f"ada={ONE}", "--author", f"bob={TWO}", "--synthesizer", THREE, "--rounds", "1")
REVIEWERS = ("--critic", ONE, "--judge", TWO)
STEEL = ("run", "../steelman.py", "Should we drop Python 3.10?", "--seat", f"owner={ONE}", "--seat", f"skeptic={TWO}")

SAMPLES = {
    # duel
    "duel-finished": Sample(("duel", TOPIC, *DUELLISTS, "--context", "src", "--state-dir", "state"), CLUMSY),
    "duel-killed": Sample(
        ("duel", TOPIC, *DUELLISTS, "--rounds", "3"), DUEL, KILLED, ("r2/follow-up@challenger",), KILL
    ),
    "duel-killed-between-calls": Sample(("duel", TOPIC, *DUELLISTS), DUEL, KILLED, after="r1/challenge@challenger"),
    "duel-interrupted": Sample(
        ("duel", TOPIC, *DUELLISTS), DUEL, 130, ("r2/defense@proposer",), (signal.SIGINT, signal.SIGINT)
    ),
    "duel-deadline": Sample(
        ("duel", TOPIC, *DUELLISTS, "--rounds", "1", "--deadline", "6"), DUEL, 5, ("verdict@judge",)
    ),
    "duel-caller": Sample(("duel", TOPIC, *DUELLISTS[:4], "--judge", "caller", "--rounds", "1"), DUEL, 4),
    "duel-human": Sample(("duel", TOPIC, *DUELLISTS[:4], "--judge", "human", "--rounds", "1"), DUEL, 4),
    "duel-fork": Sample(("duel", TOPIC, *DUELLISTS, "--rounds", "1"), DUEL, fork=("--judge", FOUR)),
    "duel-fork-killed": Sample(
        ("duel", TOPIC, *DUELLISTS, "--rounds", "1"),
        DUEL,
        KILLED,
        ("r2/defense@proposer",),
        KILL,
        fork=("--rounds", "2"),
    ),
    # ask: a bare question
    "ask-agreed": Sample((TOPIC, "--with", f"{ONE},{TWO},{THREE}"), blind(True)),
    "ask-differed": Sample((TOPIC, "--with", f"{ONE},{TWO},{THREE}"), blind(False)),
    "ask-killed": Sample((TOPIC, "--with", f"{ONE},{TWO},{THREE}"), blind(False), KILLED, ("answer@challenger",), KILL),
    "ask-deep-killed": Sample(
        ("ask", TOPIC, "--deep", "--with", f"{ONE},{TWO},{THREE},{FOUR}"),
        PANEL,
        KILLED,
        ("opening/position@lead",),
        KILL,
    ),
    # cross, and the verbs review and plan
    "cross-finished": Sample(("cross", *REVIEWERS, "--max-rounds", "2", "--fail-on", "P2"), CROSS, 1, changed=True),
    "cross-killed": Sample(
        ("cross", *REVIEWERS, "--max-rounds", "2", "--fail-on", "P2"),
        CROSS,
        KILLED,
        ("r1/version.code@judge",),
        KILL,
        changed=True,
    ),
    "cross-manual": Sample(("cross", *REVIEWERS, "--max-rounds", "1", "--mode", "manual"), CROSS, 4, changed=True),
    "review-finished": Sample(("review", "--with", f"{ONE},{TWO}", "--fail-on", "P1"), REVIEW, 1, changed=True),
    "review-killed": Sample(
        ("review", "--with", f"{ONE},{TWO}"), REVIEW, KILLED, ("r1/judgement@judge",), KILL, changed=True
    ),
    "plan-finished": Sample(("plan", "PLAN.md", "--with", f"{ONE},{TWO}"), PROPOSAL),
    "plan-killed": Sample(
        ("plan", "PLAN.md", "--with", f"{ONE},{TWO}"), PROPOSAL, KILLED, ("r1/judgement@judge",), KILL
    ),
    # revise
    "revise-plan-finished": Sample(("revise", "plan", "Where to keep sessions?", *AUTHORS), REVISED),
    "revise-plan-killed": Sample(
        ("revise", "plan", "Where to keep sessions?", *AUTHORS), REVISED, KILLED, ("r1/revision@author.2",), KILL
    ),
    "revise-review-finished": Sample(("revise", "review", *AUTHORS), REVIEWED, changed=True),
    "revise-review-killed": Sample(
        ("revise", "review", *AUTHORS),
        REVIEWED,
        KILLED,
        ("r1/critique@author.1", "r1/critique@author.2"),
        KILL,
        changed=True,
    ),
    "plan-rewrite-killed": Sample(
        ("plan", "PLAN.md", "--rewrite", "--with", f"ada={ONE},bob={TWO},{THREE}"),
        REVISED,
        KILLED,
        ("r1/critique@author.1",),
        KILL,
    ),
    # panel
    "panel-finished": Sample(("panel", TOPIC, *PANELLISTS[:6], *PANELLISTS[8:], "--max-rounds", "2"), TRADEOFF, 3),
    "panel-killed": Sample(
        ("panel", TOPIC, *PANELLISTS),
        PANEL,
        KILLED,
        ("r1/challenge@challenger.1", "r1/challenge@challenger.3"),
        KILL,
    ),
    # points on the same lines, which version 1 of the ledger made one
    "duel-joined-killed": Sample(
        ("duel", TOPIC, *DUELLISTS, "--rounds", "3"), DUEL_JOINED, KILLED, ("r3/follow-up@challenger",), KILL
    ),
    "cross-joined-finished": Sample(("cross", *REVIEWERS, "--fail-on", "P2"), CROSS_JOINED, changed=True),
    "revise-joined-killed": Sample(
        ("revise", "plan", "Where to keep sessions?", *AUTHORS),
        REVISE_JOINED,
        KILLED,
        ("synthesis@synthesizer",),
        KILL,
    ),
    "panel-joined-killed": Sample(
        ("panel", TOPIC, *PANELLISTS), PANEL_JOINED, KILLED, ("r2/rebuttal@challenger.3",), KILL
    ),
    # a protocol in a file of the user's own
    "steelman-finished": Sample(STEEL, STEELMAN),
    "steelman-killed": Sample(STEEL, STEELMAN, KILLED, ("r2/reply@owner",), KILL),
}

# recording ----------------------------------------------------------


def seats(folder: Path, says: Answers, hangs: tuple[str, ...] = ()) -> None:
    """Write one script for each seat: the same answers, another model and family."""
    folder.mkdir(exist_ok=True)
    answers = says | {key: {"hang": True} for key in hangs}
    for name in NAMES:
        script = {"model": f"model {name}", "family": f"family {name}", "answers": scripted(answers)}
        (folder / f"{name}.json").write_text(json.dumps(script, indent=1) + "\n")


def scripted(says: Answers) -> Answers:
    """Answers as a script has them, each with the tokens that it used."""

    def one(said: Any) -> Any:
        if isinstance(said, list):
            return [one(each) for each in said]
        said = said if {"text", "json", "fail", "hang"} & set(said) else {"json": said}
        return said if "fail" in said or "hang" in said else {**said, "usage": {"input": 100, "output": 50}}

    return {key: one(said) for key, said in says.items()}


def environment() -> dict[str, str]:
    """Without the variables of the user and of coding tools, which decide where files are written."""
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    return {**kept, "HOME": str(ROOT), "REBUT_HOME": str(HOME), "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "80"}


def start(words: tuple[str, ...]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rebut", *words, "--json"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=WORK, env=environment(), text=True, **pipes)  # type: ignore[call-overload]


def rebut(*words: str, codes: tuple[int, ...] = (0,)) -> Any:
    """Run a command to its end; its JSON."""
    process = start(words)
    out, err = process.communicate(timeout=60)
    if process.returncode not in codes:
        raise SystemExit(f"{words} ended with {process.returncode}:\n{out}\n{err}")
    return json.loads(out)


def ids() -> list[str]:
    """The sessions that there are, the oldest first."""
    opened = [(events(path.name)[:1], path.name) for path in (HOME / "sessions").glob("*")]
    return [id for first, id in sorted(opened, key=lambda pair: pair[0][0]["at"] if pair[0] else "~")]


def events(id: str) -> list[Event]:
    """The whole lines of a journal."""
    whole, _, _ = (HOME / "sessions" / id / "journal.jsonl").read_bytes().rpartition(b"\n")
    return [json.loads(line) for line in whole.split(b"\n")] if whole else []


def keys(id: str, kind: str) -> set[str]:
    return {event["key"] for event in events(id) if event["kind"] == kind}


def record(name: str, sample: Sample) -> None:
    print(f"{name} …", flush=True)
    for attempt in range(1, 40):
        shutil.rmtree(ROOT, ignore_errors=True)
        WORK.mkdir(parents=True)
        shutil.copy(HERE / "steelman.py", ROOT / "steelman.py")
        workspace(WORK, changed=sample.changed)
        begun(sample)
        id = ids()[-1]
        if not sample.after or after_an_answer(id):
            break
        print(f"  attempt {attempt}: killed too late", flush=True)
    keep(HERE / name, id, sample)


def begun(sample: Sample) -> None:
    words, before = sample.words, 0
    if sample.fork:
        seats(SEATS, sample.says)
        parent = rebut(*words)["session"]
        words, before = ("fork", parent, *sample.fork), 1
    seats(SEATS, sample.says, sample.hangs)
    process = start(words)

    def here() -> str:
        return next(iter(ids()[before:]), "") if (HOME / "sessions").is_dir() else ""

    if sample.after:
        # Polled without a pause: the next question follows within milliseconds.
        wanted = b'"kind":"answered","key":"' + sample.after.encode()
        until(process, lambda: bool(id := here()) and wanted in journal(id), 0)
        process.kill()
    for number in sample.signals:
        until(process, lambda: bool(id := here()) and keys(id, "asked") >= set(sample.hangs) and settled(id, sample))
        time.sleep(0.3)  # facts and files that follow from the answers are on disk by then
        process.send_signal(number)
    out, err = process.communicate(timeout=60)
    if process.returncode != sample.code:
        raise SystemExit(f"{words} ended with {process.returncode}, not {sample.code}:\n{out}\n{err}")


def journal(id: str) -> bytes:
    return (HOME / "sessions" / id / "journal.jsonl").read_bytes()


def settled(id: str, sample: Sample) -> bool:
    return keys(id, "asked") - set(sample.hangs) == keys(id, "answered") - copied(id)


def copied(id: str) -> set[str]:
    return {event["key"] for event in events(id) if event["kind"] == "answered" and event.get("copied_from")}


def after_an_answer(id: str) -> bool:
    return keys(id, "asked") == keys(id, "answered")


def until(process: subprocess.Popen[str], holds: Callable[[], bool], pause: float = 0.01) -> None:
    ends = time.monotonic() + 30
    while not holds():
        if process.poll() is not None or time.monotonic() > ends:
            process.kill()
            raise SystemExit(
                "the process ended too soon, or did not get so far in 30 s:\n{}\n{}".format(*process.communicate())
            )
        time.sleep(pause)


def keep(folder: Path, id: str, sample: Sample) -> None:
    """Copy the sessions and their files to the sample's folder, then resume them here, for `expected.json`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    # Without the lock: it holds a process id of this machine, and resume takes a new one.
    for path in (HOME / "sessions").rglob("*"):
        if path.is_file() and path.name != "lock":
            copy(path, folder / "sessions" / visible(path.relative_to(HOME / "sessions").as_posix()))
    for path, held in claims().items():
        target = folder / "claims" / visible(path)
        target.mkdir(parents=True)
        for purpose, holder in held.items():
            (target / purpose).write_text(holder)
    for path in left():
        copy(WORK / path, folder / "left" / visible(path))
    expected = {"id": id, **came_of_it(id, sample)}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def visible(path: str) -> str:
    """Git tracks no folder named `.git`, and would apply a file named `.gitignore`."""
    return path.replace(".git", "dot-git")


def left() -> list[str]:
    """The files that the session wrote into its workspace."""
    every = {path.relative_to(WORK).as_posix() for path in WORK.rglob("*") if path.is_file()}
    own = {name for name in every if name.startswith(".git/") and not name.startswith(".git/review-loop/")}
    return sorted(every - own - set(FILES))


def claims() -> dict[str, dict[str, str]]:
    """Folder → purpose → the session that holds it. They are kept by a hash of the folder's path."""
    out = {}
    places = [WORK, *(path for path in ROOT.rglob("*") if path.is_dir())]
    for place in places:
        kept = HOME / "claims" / hashlib.sha256(os.fsencode(place)).hexdigest()[:24]
        if held := {path.name: path.read_text() for path in kept.glob("[!.]*")}:
            out[place.relative_to(ROOT).as_posix()] = held
    return out


def came_of_it(id: str, sample: Sample) -> dict[str, Any]:
    """What later versions must agree with: what is on record, and how it ends."""
    seats(SEATS, sample.says)
    out: dict[str, Any] = {"answered": sorted(keys(id, "answered")), "reused": rebut("fork", id, "--dry-run")["reused"]}
    shown = rebut("export", id)
    out["ended"] = shown["outcome"] is not None
    if sample.code == 4:  # it waits for a person or the caller
        return out
    if not out["ended"]:
        seen = len(events(id))
        out["exit"] = rebut("resume", id, codes=(0, 1, 3))["exit"]
        out["asked"] = sorted({event["key"] for event in events(id)[seen:] if event["kind"] == "asked"})
        shown = rebut("export", id)
    return {**out, "outcome": essence(shown)}


def essence(shown: Any) -> dict[str, Any]:
    """The part of an outcome that stays the same when texts are reworded."""
    outcome = shown["outcome"]
    return {
        "kind": outcome["kind"],
        "conclusive": outcome["conclusive"],
        "winner": outcome["verdict"]["winner"] if outcome.get("verdict") else None,
        "claims": [claim["id"] for claim in shown["ledger"]["claims"]],
        "points": {point["id"]: point["status"] for point in shown["ledger"]["points"]},
    }


if __name__ == "__main__":
    for chosen in sys.argv[1:] or SAMPLES:
        record(chosen, SAMPLES[chosen])
    shutil.rmtree(ROOT, ignore_errors=True)
