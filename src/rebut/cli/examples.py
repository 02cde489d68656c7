"""Examples for the help of each command. Plain data; a test parses each of them."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "ask": (
        ('ask "Redis or Postgres for the queue?"', 'with the models found here; `rebut "…"` is the same'),
        ('ask "Which cache?" --with claude,codex --context src', "these two models; they may read and cite src"),
        ('ask "Split the monolith?" --deep', "up to three rounds, and the judge asked in both orders"),
    ),
    "review": (
        ("review", "your uncommitted change, or this branch"),
        ("review HEAD~3..HEAD --with claude,codex", "a range of commits; claude reviews, codex judges"),
        ("review --with lint,rules", "static analysers and fixed rules: no model, no key"),
        ("review --fix -i", "also write a patch; you decide, not the judge"),
    ),
    "plan": (
        ("plan PLAN.md", "review a plan; `rebut PLAN.md` is the same"),
        ("plan PLAN.md --rewrite", "two authors revise it until they agree"),
    ),
    "more": (
        ("more", "one more round of the last debate"),
        ("more k7m2 --max-usd 2", "of this one, for two dollars at most"),
    ),
    "say": (
        ('say last "We cannot add a second node this year."', "every seat gets it from the next round on"),
        ("say k7m2 - < note.txt", "a note from a file"),
    ),
    "duel": (
        ('duel "Redis or Memcached?" --proposer claude --challenger codex', "two command-line tools argue"),
        ('duel "Is this retry safe?" --context src/http --rounds 3', "the models may read and cite src/http"),
        ("duel - --judge human --max-usd 1 < question.txt", "you are the judge; one dollar at most"),
        ('duel "Which cache?" --json --deadline 100', "the best result after 100 s at most, as JSON"),
        ('duel "Which cache?" --repeat 10 --seed 1 --out runs.jsonl', "ten runs to compare"),
    ),
    "cross": (
        ("cross --scope uncommitted --author claude --critic codex", "your uncommitted changes"),
        ("cross --scope base:main --mode manual", "this branch; you choose A to E in each round"),
        ("cross --target proposal --artifact-file PLAN.md", "a plan instead of code"),
    ),
    "revise": (
        (
            'revise plan "Move sessions to signed cookies" --rounds 2',
            "two plans, critiques, revisions, then one PLAN.md",
        ),
    ),
    "panel": (('panel "Should we split the monolith?" --lead claude', "one position against several challengers"),),
    "run": (
        ('run ./steelman.py "Drop it?" --seat owner=claude --seat skeptic=codex', "your own protocol file"),
        ('run steelman "Drop Python 3.10?" --set tries=3', "an installed protocol by name"),
    ),
    "trial": (
        ("trial --with claude,codex --max-usd 20", "60 pairs; claude reviews, codex judges"),
        ("trial --with claude,codex --arms one,cross --pairs 20", "fewer pairs, two arms"),
        ("trial --arms lint", "static analysers alone: no model, no key"),
        ("trial scorecard", "what is on record about each model"),
    ),
    "init": (("init", "find what is here, or set up a key; then a first debate"),),
    "list": (("list", "the sessions of this folder"), ("list --all --json", "all sessions, as JSON")),
    "show": (
        ("show last", "the newest session of this folder"),
        ("show k7m2 --prompts", "with every prompt as it was sent"),
        ("show k7m2 --all --no-pager", "with hidden findings and raw replies, without a pager"),
        ("show k7m2 --failures", "only what failed, and why"),
    ),
    "resume": (
        ("resume last", "continue where it stopped"),
        ("resume k7m2 --max-usd 3 --deadline 100", "with a new limit, for 100 s at most"),
    ),
    "answer": (
        ("answer k7m2 --key r1/opening@proposer --file -", "answer this question from standard input"),
        ("answer k7m2 --file answer.json --json", "from a file; print the next step as JSON"),
    ),
    "fork": (
        ("fork k7m2 --challenger gemini", "the same debate with another challenger"),
        ("fork k7m2 --rounds 3 --dry-run", "only show how many answers would be reused"),
        ("fork k7m2 --again", "the same debate again, without reuse"),
    ),
    "replay": (("replay last", "offline, free; shows whether the outcome is the same"),),
    "export": (
        ("export last", "as Markdown, to the terminal"),
        ("export k7m2 --format html", "as one file for the browser, to send to a colleague"),
        ("export k7m2 --format json -o debate.json", "all events, to a file"),
        ("export --format comment --repository me/shop", "the last review as a comment on a pull request"),
    ),
    "batch": (
        ("batch questions.jsonl --out results.jsonl", "every line is a debate; 20 run at once"),
        ("batch questions.jsonl --out results.jsonl --max-usd 5", "the limit holds for all of them together"),
    ),
    "view": (
        ("view last", "the last session of this folder in the browser"),
        ("view", "all sessions of this folder"),
    ),
    "gate": (
        ("gate", "does the last review pass?"),
        ("gate k7m2 --fail-on P2", "this one, with a stricter threshold; no model is called"),
    ),
    "rerun": (
        ("rerun last", "run every check of the last debate again"),
        ("rerun k7m2 F2", "only the check of this finding"),
    ),
    "apply": (
        ("apply", "the final patch of the last review"),
        ("apply last F1 F3 --check", "would the fixes of these two findings apply?"),
    ),
    "dismiss": (
        ('dismiss F3 --reason "charge() is idempotent"', "hide it until its lines change"),
        ("dismiss --list", "list the dismissals of this repository"),
    ),
    "delete": (("delete k7m2", "delete one session"),),
    "verify": (("verify k7m2", "is the record complete and unaltered?"),),
    "doctor": (
        ("doctor", "test every model that is available"),
        ("doctor claude codex@high --deep", "test these two in depth"),
        ("doctor --offline", "call no model"),
    ),
    "models": (
        ("models", "all providers, and which are available"),
        ("models get qwen2.5-coder-1.5b", "download a model that can argue (1.1 GB)"),
        ("models get --from smollm2.gguf", "use a file that you already have"),
        ("models check mytool.toml", "check a file that adds a tool or a provider"),
    ),
    "demo": (
        ("demo", "a complete debate at reading speed"),
        ("demo --fast --folder shop", "without pauses; its files go to ./shop"),
    ),
    "check": (
        ("check PLAN.md", "which citations are wrong?"),
        ("check - --json < message.txt", "a message, before it is sent"),
        ("check REVIEW.md --all --root ../app", "every citation, checked in ../app"),
    ),
    "config": (
        ("config path", "where your config file is"),
        ("config show", "the settings in effect"),
        ("config completion bash >> ~/.bash_completion", "complete commands with Tab, in bash"),
        ("config completion zsh > ~/.zfunc/_rebut", "in zsh, with ~/.zfunc in fpath"),
        ("config completion fish > ~/.config/fish/completions/rebut.fish", "in fish"),
    ),
    "mcp": (
        ("mcp", "what a host starts, in the folder of the project"),
        ("mcp install", "add it to every agent host that is found here"),
        ("mcp install --host codex --print", "only show the entry"),
        ("mcp uninstall --host cursor", "take it out again"),
    ),
    "skill": (
        ("skill install", "for every coding agent found on this machine"),
        ("skill install --host claude --project", "into .claude/ of this repository"),
        ("skill advice", "print lines for your repository's AGENTS.md"),
    ),
    "new": (("new protocol steelman", "creates steelman.py and test_steelman.py"),),
}
