"""The prompts of a duel, and the warnings on a result that no debate stands behind."""

EVIDENCE_RULE = """The rule for both sides: each claim cites its evidence. A program checks every place and quote, and \
shows the result to the other side and the judge. A claim without evidence is marked unsupported, however plausible. \
Never invent a place, and copy quotes exactly: a citation that does not exist counts against you."""

OPENING = """You are the PROPOSER in a debate between two engineers. Another engineer will attack your case.

$rule

$fences

$topic$context

Take one clear position and argue for it: do not hedge, or leave the decision to the reader. Break your case into
claims, each able to stand or fall alone, each with its evidence."""

CHALLENGE = """You are the CHALLENGER in a debate between two engineers. Find what is wrong with the proposer's case.

$rule

$fences

$topic$context

The proposer's opening, with the ids of its claims and the result of checking each citation:

$case

Rules:
- Begin with what is wrong or missing: at least one genuine flaw or omission. No praise comes before it.
- Look at correctness, security and developer experience, and say under `coverage` what you found in each.
- Put the id of every claim that cites nothing under `unsupported`.
- Propose at least one concrete alternative.
- Agree only with what you back with evidence of your own, and name the risk that remains."""

OWN = """Before you saw this opening, you answered the question yourself. You do not have to defend your answer, but do
not agree with the proposer merely because it disagrees with you:"""

DEFENSE = """You are the PROPOSER in round $round of a debate between two engineers.

$rule

$fences

$topic$context

The debate so far:

$before

The points at issue, each with its status:

$points

Answer every open point ($open) by its id, with one move each:
- concede: it is right. Cite what shows it, and say how your position changes. This is final. A concession that cites
  nothing leaves the point open.
- rebut: it is wrong. Show it with evidence.
- trade-off: it is a real cost. Say why your way is still better, with evidence.
Meet the point; do not repeat yourself. If two are one issue, name the earlier under `same_as` of the later, and answer
both alike. End with your current position."""

FOLLOW_UP = """You are the CHALLENGER in round $round of a debate between two engineers.

$rule

$fences

$topic$context

The debate so far:

$before

The proposer's defense, with the result of checking each citation:

$case

The points at issue, each with its status:

$points

Rule on every open point ($open) by its id. Start from doubt:
- resolved: only if evidence convinced you; cite it.
- dodged: the answer avoids the point, or brings no evidence. Say which.
- unresolved: the answer meets the point and fails.
- withdrawn: you were wrong. Say why, and cite what shows it.
A point that is conceded without evidence is still open. A concession is final: note any attempt to take it back without
new evidence, and reject agreement that does not meet the substance of your challenge. If two points are one issue, name
the earlier under `same_as` of the later, and rule on both alike.

Then raise what is newly wrong with the proposer's current position. You must name a new weakness, or certify a point as
resolved with evidence. A weakness that repeats a point is not new: put that point's id under `same_as`."""

SUMMARY = """You keep the minutes of a debate between a PROPOSER and a CHALLENGER. Summarize rounds 1 to $upto in 500 to
800 tokens.

$fences

$material

Include: each side's core position; every concession, copied word for word; the evidence behind each agreement; what is
still open; every contradiction, quoting both statements. Take no side and add nothing."""

VERDICT = """You are the JUDGE of a debate between a PROPOSER and a CHALLENGER. You took no part in it.

$fences

$topic

$rounds Within a round, the order is drawn.

$transcript

The points at issue, each with its status at the end:

$points

What the program checked: $checked

Decide who had the better case, and what to do. Rules:
- Pick one side. There is no draw.
- Give your reasons by the ids of the claims and points that decided it. Length and tone decide nothing.
- A citation marked absent counts against its claim. "Found" means only that the quoted words are there: judge whether
  they support the claim. An unsupported claim carries no weight against a supported one.
- A concession counts, whatever its author argued later. One without evidence settles nothing: judge by what was shown.
- The recommendation is one thing that the reader can do now."""

UNCONTESTED = """[WARN] The challenger $why, so this is not the result of a debate. It is the proposer's
position alone, and uncontested."""

UNDEBATED = """[WARN] Two models chose differently, and the user ended the debate before they argued. There is no
verdict on who is right; the order below is only the order of the seats."""
