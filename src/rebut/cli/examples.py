"""Examples for the help of each command: plain data, each tried by a test."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "ask": (
        ('ask "Redis or Postgres for the queue?"', "whoever is found answers; the same as a bare question"),
        ('ask "Which cache?" --with claude,codex --context src', "these two, and what they may cite"),
        ('ask "Split the monolith?" --deep', "a panel instead of two answers"),
    ),
    "review": (
        ("review", "what has changed here, or this branch"),
        ("review HEAD~3..HEAD --with claude,codex", "a range; claude reviews, codex judges"),
        ("review --with lint,rules", "analysers and a rubric: no model, no key"),
        ("review --fix -i", "with a patch, and you choose"),
    ),
    "plan": (
        ("plan PLAN.md", "a plan reviewed; the same as a bare file name"),
        ("plan PLAN.md --rewrite", "two authors revise it until they converge"),
    ),
    "more": (("more", "one more round of the last debate"), ("more k7m2 --max-usd 2", "of this one, for two dollars")),
    "duel": (
        ('duel "Redis or Memcached?" --proposer claude --challenger codex', "two command-line tools argue"),
        ('duel "Is this retry safe?" --context src/http --rounds 3', "they may read and cite src/http"),
        ("duel - --judge human --max-usd 1 < question.txt", "you decide, for a dollar at most"),
        ('duel "Which cache?" --json --deadline 100', "the best result within 100 s, as JSON"),
        ('duel "Which cache?" --repeat 10 --seed 1 --out runs.jsonl', "ten runs to compare"),
    ),
    "cross": (
        ("cross --scope uncommitted --author claude --critic codex", "what you have changed and not committed"),
        ("cross --scope base:main --mode manual", "this branch; you choose A to E each round"),
        ("cross --target proposal --artifact-file PLAN.md", "a plan instead of code"),
    ),
    "revise": (
        ('revise plan "Move sessions to signed cookies" --rounds 2', "two plans, critiques, revisions, one PLAN.md"),
    ),
    "panel": (('panel "Should we split the monolith?" --lead claude', "one position against several challengers"),),
    "run": (
        ('run ./steelman.py "Drop it?" --seat owner=claude --seat skeptic=codex', "a file of your own"),
        ('run steelman "Drop Python 3.10?" --set tries=3', "an installed protocol, by its name"),
    ),
    "list": (("list", "the sessions of this folder"), ("list --all --json", "every session, for a program")),
    "show": (
        ("show last", "the newest session of this folder"),
        ("show k7m2 --prompts", "with every question as it was asked"),
        ("show k7m2 --all --no-pager", "hidden findings and raw replies too, printed at once"),
        ("show k7m2 --failures", "only what failed, and why"),
    ),
    "resume": (
        ("resume last", "go on where it stopped"),
        ("resume k7m2 --max-usd 3 --deadline 100", "with another limit, within 100 s"),
    ),
    "answer": (
        ("answer k7m2 --key r1/opening@proposer --file -", "your turn's answer, from standard input"),
        ("answer k7m2 --file answer.json --json", "from a file; what comes next as JSON"),
    ),
    "fork": (
        ("fork k7m2 --challenger gemini", "the same debate with another challenger"),
        ("fork k7m2 --rounds 3 --dry-run", "only say how much would be asked anew"),
        ("fork k7m2 --again", "the same debate once more, nothing reused"),
    ),
    "replay": (("replay last", "offline, free; says whether it comes to the same end"),),
    "export": (
        ("export last", "as Markdown, on the screen"),
        ("export k7m2 --format json -o debate.json", "every event, into a file"),
    ),
    "gate": (
        ("gate", "does the last review pass?"),
        ("gate k7m2 --fail-on P2", "this one, more strictly; nothing is called"),
    ),
    "dismiss": (
        ('dismiss F3 --reason "charge() is idempotent"', "hidden until its lines change"),
        ("dismiss --list", "what is dismissed here"),
    ),
    "delete": (("delete k7m2", "this session, and nothing else"),),
    "verify": (("verify k7m2", "is the record whole and unaltered?"),),
    "providers": (
        ("providers", "who could sit, and who is here"),
        ("providers check mytool.toml", "is this table of a tool or a provider right?"),
    ),
    "doctor": (
        ("doctor", "try everything that is here"),
        ("doctor claude codex@high --deep", "these two, thoroughly"),
        ("doctor --offline", "without any call"),
    ),
    "models": (("models get", "98 MB, once"), ("models get --from smollm2.gguf", "from a file that you have")),
    "demo": (
        ("demo", "a whole debate, at a readable pace"),
        ("demo --fast --folder shop", "no pauses; the little repository in ./shop"),
    ),
    "check": (
        ("check PLAN.md", "which of its citations do not stand there?"),
        ("check - --json < message.txt", "a message, before it is sent"),
        ("check REVIEW.md --all --root ../app", "every citation, looked up in ../app"),
    ),
    "config": (("config path", "where your config file is"), ("config show", "what it comes to")),
    "skill": (
        ("skill install", "for every host that is found here"),
        ("skill install --host claude --project", "into .claude/ of this repository"),
        ("skill advice", "lines for the AGENTS.md of your repository"),
    ),
    "new": (("new protocol steelman", "steelman.py and test_steelman.py, both working"),),
    "completion": (
        ("completion bash >> ~/.bash_completion", "bash"),
        ("completion zsh > ~/.zfunc/_rebut", "zsh, with ~/.zfunc in fpath"),
        ("completion fish > ~/.config/fish/completions/rebut.fish", "fish"),
    ),
}
