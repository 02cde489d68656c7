"""Secrets in a workspace, as the command sees it: none is in what a model gets or in what is printed."""

from __future__ import annotations

from pathlib import Path

import duels
from console import piped

from rebut.record import sessions

TOKEN, PASSWORD = "q8Wd3nXv2LmP9sKzR4tY", "gr4nite-Moon7"
PADDED = "Hgs8kApDvWDODX4Tsk8q2Rb7LmP9sKzR4tYq8Wd3nXv="
FILES = {
    "main.go": 'var apiKey string = "{token}"\n',
    "lib.rs": 'let secret: &str = "{token}";\nlet password = String::from("{password}");\n',
    "app.h": '#define DB_PASSWORD "{password}"\n',
    "Dockerfile": "FROM scratch\nENV API_TOKEN {token}\n",
    "pod.json": '{{"name": "DB_PASSWORD", "value": "{password}"}}\n',
    "schema.sql": "CREATE USER ann IDENTIFIED BY '{password}';\n",
    "settings.py": 'PASSWORD = (\n    "{password}"\n)\nKEY = os.getenv("API_KEY", default="{token}")\n',
    "clone.sh": "git clone https://{token}@git.example.org/a/b.git\ncurl -u ann:{password} https://example.org\n",
    "db.config": "Server=db;User Id=sa;Password={password};\n",
    "secret.yaml": "kind: Secret\ndata:\n  db-password: {padded}\n",
    "dump-{token}x.md": "the password is not in here\n",
    ".docker/config.json": '{{"note": "{password}"}}\n',
    ".bash_history": "echo {password}\n",
}


def test_no_secret_of_the_workspace_gets_into_a_prompt_or_the_record(workspace: Path, tmp_path: Path) -> None:  # C8 C16
    for name, text in FILES.items():
        path = workspace / "deploy" / name.format(token="gh" + "p_" + TOKEN * 2)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(token=TOKEN, password=PASSWORD, padded=PADDED))
    seats = duels.seats(tmp_path)
    words = [word for role, spec in seats.items() for word in (f"--{role}", spec)]
    done = piped("duel", "Is it safe?", *words, "--context", "deploy", cwd=workspace)
    assert done.returncode == 0, done.stderr
    journals = list(sessions.home().rglob("journal.jsonl"))
    assert journals
    prompts = [line for journal in journals for line in journal.read_text().splitlines() if '"asked"' in line]
    assert any("identified by" in prompt.lower() for prompt in prompts), "the files were served"
    for text in (*prompts, done.stdout, done.stderr):
        assert PASSWORD not in text and TOKEN not in text and PADDED not in text
    for journal in journals:  # also where the record lists the names of files
        assert TOKEN not in journal.read_text() and "dump-[secret:" in journal.read_text()
