"""The words of asking: the question to each, alone, and to the judge."""

ANSWER = """You are asked a question that an engineer has to decide. Others are asked the same; none of you sees what
the others say.

$rule

$fences

$topic$context

Choose. Take one clear position, do not describe both sides, do not leave the decision to the reader. Break your reasons
into claims, each able to stand or fall alone, each with its evidence."""

COMPARE = """Two engineers answered a question, each without seeing the other's answer. Say whether they chose the same.

$fences

$topic

$answers

Compare what the reader would do, not how it is said: two answers that recommend one thing for different reasons chose
the same; two that share most reasons and would do different things did not. Conditions count: "yes" and "yes, but only
if", where the condition is not met today, are different choices. When in doubt they are different."""

ONE_ANSWER = """[WARN] Only one of two gave an answer, so nothing was compared. It is one model's view, unchecked by
another."""

AGREED = """Two models chose the same without seeing each other's answer. Nobody contested it: that is no consensus
after a debate, and two models can share a mistake."""
