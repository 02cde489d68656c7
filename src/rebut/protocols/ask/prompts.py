"""The prompts of a question, and the notices on a result that was not debated."""

ANSWER = """You are asked a question that an engineer has to decide. Another model is asked the same question; neither
of you sees the other's answer.

$rule

$fences

$topic$context

Choose. Take one clear position, do not describe both sides, do not leave the decision to the reader. Break your reasons
into claims, each able to stand or fall alone, each with its evidence."""

COMPARE = """Two engineers answered a question, each without seeing the other's answer. Say whether they made the same
choice.

$fences

$topic

$answers

Compare what the reader would do, not how it is said: two answers that recommend the same thing for different reasons
made the same choice; two that share most reasons and would do different things did not. Conditions count: "yes" and
"yes, but only if", where the condition is not met today, are different choices. When in doubt they are different."""

CHALLENGE = """You and another engineer answered a question, neither seeing the other's answer, and the two answers
differ. Find out what is wrong with the other answer. Its author does the same with yours.

$rule

$fences

$topic$context

The other answer, with the ids of its claims and the result of checking each citation:

$case

Your own answer. You do not have to defend it here:

$own

Rules for your reply:
- Begin with what is wrong or missing. No praise and no approval comes before it.
- Name at least one genuine flaw or omission, each with severity, category and evidence.
- Look at correctness, security and developer experience, and say under `coverage` what you found in each.
- Put the id of every claim that cites nothing under `unsupported`.
- Propose at least one concrete alternative.
- Agree with nothing that you cannot back with evidence of your own; where you do agree, name the risk that remains.
  Do not agree merely because the other engineer disagrees with you."""

DEFENSE = """You and another engineer answered a question, and the two answers differ. The other engineer challenged
your answer.

$rule

$fences

$topic$context

Your answer:

$own

The challenge, with the result of checking each citation:

$case

The points against your answer, each with its status:

$points

The other answer:

$other

Answer every open point ($open) by its id, with one of three moves:
- concede: the other engineer is right. Say so plainly, cite what shows it, and say how your answer changes. You cannot
  take it back later. A concession that cites nothing leaves the point open.
- rebut: the other engineer is wrong. Show it with evidence.
- trade-off: it is a real cost. Say why your answer is still better, with evidence.
Repeating yourself is not an answer: each argument must meet the point that it answers. If two points are one issue, put
the id of the earlier one under `same_as` of the later one, and answer both alike: they then count once. End with your
position as it is now. If the other answer has convinced you, say what you would do instead."""

FOLLOW_UP = """You and another engineer answered a question, and the two answers differ. This is round $round of the
debate. You challenged the other answer, and its author defended it.

$rule

$fences

$topic$context

The other answer and what was said about it lately, with the result of checking each citation:

$case

Your points against it, each with its status:

$points

Rule on every open point ($open) by its id. Start from doubt:
- resolved: only if evidence convinced you; cite it. "I agree now" is not a reason.
- dodged: the defense avoids the point, or brings no evidence. Say which.
- unresolved: the defense meets the point and fails.
- withdrawn: you were wrong. Say why, and cite what shows it.
A point that is conceded without evidence is still open. If two points are one issue, put the id of the earlier one
under `same_as` of the later one, and rule on both alike: they then count once.

Then look at the other answer as it is now and raise what is newly wrong with it. You must do at least one of two
things: name a new weakness, or certify an earlier point as resolved with the evidence for it. A weakness that repeats
an earlier point is not new: put the id of that point under `same_as`. Points on the same lines can still be
different."""

VERDICT = """You decide between two answers to a question. Two engineers wrote them, neither seeing the other's. Then
each challenged the other answer and defended its own. You took no part in it. The numbers 1 and 2 only tell the answers
apart, and the order in which they stand here is drawn.

$fences

$topic

$rounds

$transcript

The points at issue, each with the answer that it is about and its status at the end:

$points

What the program checked: $checked

Decide which answer is better as it is now, and what the reader should do. Rules:
- Pick one. There is no draw, and no praise for both.
- Give your reasons by the ids of the claims and points that decided it. Length and tone decide nothing, and neither
  does the number of an answer.
- A citation marked absent counts against the claim that makes it. "Found" means only that the quoted words are at that
  place: judge for yourself whether they support the claim. An unsupported claim carries no weight against a supported
  one.
- A concession counts, even if its author later argued as if it had not been made. A point that is conceded without
  evidence is not settled by that: judge it by what was shown.
- `answer` is what the reader came for: the better answer, with what its author conceded taken in, as one thing to do
  now. It does not mention the two answers or the debate."""

ONE_ANSWER = """[WARN] Only one of two models answered, so there was nothing to compare. This is one model's view, not
checked by another."""

AGREED = """Two models made the same choice without seeing each other's answer. It was not contested: this is not a
consensus after a debate, and two models can share a mistake."""

UNDEBATED = """[WARN] Two models chose differently, and the answers were not argued out. There is no verdict on which is
right; the order below is only the order of the seats."""
