"""The prompts of a cross review: for the critic, the judge, the writer of a next version and the decider."""

EVIDENCE_RULE = """Each finding names its place (the file and its lines in the new version, or a section of the \
text) and quotes the words or code at that place, copied exactly. A program checks every place and quote, in the \
version under review and on the old side of its diff, and shows the result to the judge. A finding whose quote is not \
there counts against you: it can never be a P1. A finding that cites nothing carries little weight."""

SEVERITIES = """P1 must not ship: wrong results, lost data, a security hole, a crash. P2 should be fixed before \
merging. P3 is minor. A few findings that hold are worth more than many that might."""

CODE = """You are the CRITIC of a change that another engineer wrote. Find out what is wrong with it.

$rule

$severities

$fences

$artifact$context$before

Look at correctness, security, reliability, performance, tests and what will trip up a maintainer. Judge the change, not
the code around it. Where the change makes other code wrong, cite the changed lines that cause it as well: a finding
that cites no line of the change is listed apart. For each finding say what its consequence is and what to do. Where a
few lines would fix it, give them under `fix`: exactly the text that should replace the lines you cite.
$again
Set `agrees` to true only if no P1 or P2 speaks against the change as it is."""

PROPOSAL = """You are the CRITIC of a proposal that another engineer wrote. Find out what is wrong with it.

$rule

$severities

$fences

$artifact$context$before

Look at whether it solves the problem, what it leaves out, what it assumes, what it costs, and how it fails. Name
under `alternatives` what should have been considered and was not, and under `recommendation` the decision that you
would make.
$again
Set `agrees` to true only if no P1 or P2 speaks against the proposal as it is."""

CITES = "The result of checking what the text itself cites:"

AGAIN = """
Earlier findings are listed above with the judge's ruling on each. Look at each of them again, in the version under
review, and say under `earlier` what you see there: fixed, still there, withdrawn (you were wrong) or not checked, with
the reason. Raise one again under `findings` only if you have something to add, with its id under `same_as`. Everything
else is a finding of its own, even on the same lines.
"""

SINCE = """This branch was reviewed before. What is shown here is what has changed since; the rest of it was reviewed
then, and is not asked about again."""

KNOWN = """These findings are known already: they stand, or were rejected by the judge or dismissed by the user. Do not
raise them again:"""

RULINGS = """- valid: it is true, and it matters. invalid: it is not true, or not about this artifact; say why. missing
  evidence: it may be true, but nothing shown supports it.
- Give it the severity that you consider right. A citation marked absent does not exist: such a finding cannot be a P1.
  "Found" means only that the quoted words are at that place."""

JUDGE = """You are the JUDGE of a review: a CRITIC looked at the artifact below, and you weigh its findings.

$fences

$artifact

The critique of round $round, with the result of checking each citation:

$critique

$before

Rule on every finding of this round ($ids) by its id:
$rulings
- A finding that you have called valid stays valid, and as severe, unless the reason of your new ruling cites new
  evidence. If the version under review fixes an earlier finding, call that one fixed.
A finding that was raised more than once is listed in every wording, and your ruling is on all of them. If two findings
are one issue, put the id of the earlier one under `same_as` of the later one, and rule on both alike: they then count
once, and both texts stay. The same lines alone do not make two findings one issue. Add under `missed` what the critic
should have seen, with evidence. Then choose:
A keep the original: no P1 or P2 is valid. B accept what the critic recommends. C write a compromise that
fixes what is valid, and continue. D rebut: the critique is mostly wrong; give the `rebuttal`. E stop without a
decision: something is missing that neither side can supply. List what is unresolved and what to do next, each in one
sentence."""

ADDED = """You are the CRITIC of a review. The JUDGE added findings of its own, and you weigh them.

$fences

$artifact

What the judge added, with the result of checking each citation:

$added

Rule on every one of them ($ids) by its id:
$rulings"""

REBUTTAL = """You are the JUDGE of a review. The decision was to answer the critique below and to continue.

$fences

$artifact

$critique

Answer it finding by finding, by id, with evidence. Say plainly where it is right."""

PATCH = """You write the next version of a change that was reviewed.

$fences

$artifact

The findings of the review, with the judge's ruling on each:

$findings

$task

Give a unified diff on top of the version shown above, with a/ and b/ paths and three lines of context, that `git
apply` accepts. Change only what the findings ask for. Text such as [secret:…] replaces a value that was removed: leave
it as it is."""

TEXT = """You write the next version of a text that was reviewed.

$fences

$artifact

The findings of the review, with the judge's ruling on each:

$findings

$task

Give the whole text, not a part of it. Change only what the findings ask for. A line such as (snippet-1.py) stands for
code that is reviewed as that file: leave the line where that code belongs. Text such as [secret:…] replaces a value
that was removed: leave it as it is."""

ACCEPT = "The critic's recommendation was accepted: carry out what it asks for."
COMPROMISE = "Fix what was judged valid, and keep what was not shown to be wrong."

DECIDER = """$fences

The findings of round $round:

$findings

The judge recommends $choice. The reason it gives:

$reason

A keep the original   B accept the critic's   C compromise   D rebut   E stop"""

CHOICES = {
    "A": "keep the original",
    "B": "accept the critic's",
    "C": "compromise",
    "D": "rebut",
    "E": "stop",
}
SHORT = {"A": "keep", "B": "accept critic's", "C": "compromise", "D": "rebut", "E": "stop"}
