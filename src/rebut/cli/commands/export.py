"""`rebut export` writes a session as a document; `rebut verify` checks its record."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from rebut.cli.commands.show import folder_of, review_folder
from rebut.cli.completion import SESSION
from rebut.cli.options import json_flag

if TYPE_CHECKING:
    from rebut.record.record import Record


OF_A_REVIEW = ("sarif", "github")
"""Formats that only a review has; with these, `last` is the last review."""


@click.command("export")
@click.argument("id", type=SESSION, default="last", metavar="[ID]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["md", "html", "json", "adr", "sarif", "github", "comment", "tests"]),
    default="md",
    help="What to write. [md]",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Write to this file; tests: into this folder. [the terminal; html: rebut-ID.html]",
)
@click.option("--with-prompts", is_flag=True, help="With html: include every prompt, and all that was reviewed.")
@click.option("--repository", metavar="OWNER/NAME", default="", help="With comment: link to its lines.")
@click.option("--commit", metavar="SHA", default="", help="With comment: the commit of the links. [the one reviewed]")
@click.option("--site", metavar="URL", default="", help="With comment: where the repository is. [https://github.com]")
@click.option(
    "--previous",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With comment: the earlier comment, to say what was fixed since.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_flag
def export_command(
    id: str,
    form: str,
    output: Path | None,
    with_prompts: bool,
    force: bool,
    as_json: bool,
    **links: Any,
) -> int:
    """Export a session: as HTML, Markdown or JSON, its decision as an ADR, a review as SARIF or annotations.

    Without ID, the last session of this folder; for sarif, github and comment, the last review.

    `comment` is a comment for a pull request: findings with their code, what was fixed since, and the gate. It is empty
    if there is nothing to say. ID may then be a SARIF file that rebut wrote. rebut does not post the comment:
    docs/pull-requests.md has a workflow that does, and keeps it up to date.

    `tests` makes a test file of each check that showed its point.

    HTML is one file that shows the debate in any browser, without a network. It has what was said and the lines that
    were cited; it leaves out prompts and files that no citation names, unless you add --with-prompts.
    """
    from rebut.cli.output import say
    from rebut.core import files
    from rebut.core.errors import UsageError
    from rebut.domain.amounts import size
    from rebut.record import sessions
    from rebut.reports import adr, export

    if form != "comment" and (odd := next((name for name, value in links.items() if value), "")):
        raise click.UsageError(f"--{odd} is only for --format comment")
    if form == "comment":
        text = _comment(id, **{**links, "site": links["site"] or "https://github.com"})
        if not text and output is None:
            return 0
    else:
        record = sessions.load(review_folder(id) if form in OF_A_REVIEW else folder_of(id))
        if form == "tests":
            return _tests(record, output, force)
        if form in OF_A_REVIEW:
            text = _findings(record, form)
        elif form == "html":
            text = _page(folder_of(id), with_prompts)
        elif as_json or form == "json":
            text = json.dumps(export.as_json(record), ensure_ascii=False, indent=2) + "\n"
        else:
            text = adr.adr(record) if form == "adr" else export.markdown(record)
        if output is None and form == "html" and sys.stdout.isatty():
            output = Path(f"rebut-{record.opened.id}.html")
    if output is None:
        # Annotations are workflow commands with their text escaped, so they are printed unchanged.
        print(text.rstrip("\n"), flush=True) if form == "github" else say(text.rstrip("\n"), verbatim=True)
        return 0
    if output.is_dir():
        raise UsageError(f"{output} is a folder", "Name a file.")
    files.refuse_link(output)
    if output.exists() and not force:
        raise UsageError(f"{output} already exists", "Use --force to replace it.")
    try:
        # Without O_NONBLOCK, opening a named pipe without a reader would wait for ever.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(output, flags, 0o666), "wb") as file:
            os.set_blocking(file.fileno(), True)
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from error
    if form == "html":
        say(
            f"  {output}: {size(len(text.encode('utf-8', 'replace')), 'B')}, one file that any browser shows",
            sys.stderr,
        )
    return 0


def _tests(record: Record, folder: Path | None, force: bool) -> int:
    """Write the checks with the mark `shown`, one file each, or print them."""
    from rebut.cli.output import say
    from rebut.core import files
    from rebut.core.errors import UsageError
    from rebut.domain.session_status import counted_ledger
    from rebut.reports.check_files import check_files

    found = check_files(counted_ledger(record), record.opened.id, _within(record, folder or Path()))
    if not found:
        id = record.opened.id
        if not counted_ledger(record).checks:
            raise UsageError(f"session {id} has no checks", "Models may add checks in a debate with `--run-checks`.")
        raise UsageError(f"no check of session {id} was shown", f"`rebut rerun {id}` runs them again.")
    if folder is None:
        for name, text in found.items():
            say(f"# ---- {name}\n{text.rstrip()}\n", verbatim=True)
        return 0
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", "Name a folder for the test files.")
    files.refuse_link(folder)
    taken = [name for name in found if (folder / name).exists() or (folder / name).is_symlink()]
    if taken and not force:
        raise UsageError(f"{folder / taken[0]} already exists", "Use --force to replace it.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in found.items():
            (folder / name).parent.mkdir(exist_ok=True)
            files.write(folder / name, text.encode("utf-8", "replace"), 0o777 if name.endswith(".sh") else 0o666)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    say("\n".join(f"  {folder / name}" for name in found))
    return 0


def _within(record: Record, folder: Path) -> PurePosixPath:
    """A folder relative to the repository of a session; `.` for a folder outside that repository."""
    from rebut.core.files import real, repository

    top, here = repository(real(Path(record.opened.workspace))), real(folder)
    return PurePosixPath(here.relative_to(top) if here.is_relative_to(top) else ".")


def _page(folder: Path, with_prompts: bool) -> str:
    import asyncio

    from rebut.cli.debated_versions import debated_versions
    from rebut.web.document import document

    return asyncio.run(document(folder, debated_versions, prompts=with_prompts))


def _findings(record: Record, form: str) -> str:
    import asyncio

    from rebut.ci.gate import grounds_of, stand
    from rebut.ci.output_formats import commands, log
    from rebut.ci.recorded_reviews import Review

    found = stand(Review.of(record), asyncio.run(grounds_of(record)))
    return commands(found) if form == "github" else json.dumps(log(found), ensure_ascii=False, indent=2) + "\n"


def _comment(what: str, *, repository: str, commit: str, site: str, previous: Path | None) -> str:
    """The comment on a session or a SARIF file, with links to a commit; empty if there is nothing to say."""
    from rebut.ci.comment import body, read_report
    from rebut.ci.output_formats import log
    from rebut.cli.commands.gate import gated
    from rebut.record import sessions

    if not site.startswith(("https://", "http://")) or any(c in site for c in " \n\t()<>[]\"'"):
        raise click.UsageError(f"--site {site!r} is not an address")
    file = Path(what)
    is_file = file.suffix in (".sarif", ".json") or file.is_file()
    text = _read(file) if is_file else json.dumps(log(gated(sessions.load(review_folder(what)))))
    old = _read(previous) if previous else ""
    return body(read_report(text, what), site=site, repository=repository, commit=commit, previous=old)


def _read(file: Path) -> str:
    from rebut.core import files
    from rebut.core.errors import UsageError

    try:
        return files.read(file, pipes=True).decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


@click.command("verify")
@click.argument("id", type=SESSION)
@json_flag
def verify_command(id: str, as_json: bool) -> int:
    """Check that a session's record is complete and unaltered, and that the files it wrote have not changed.

    Exit code 0 if everything is correct, else 3. The printed hash covers the whole record: keep it elsewhere to detect
    a record that is cut short later.
    """
    from rebut.cli.output import say, say_json
    from rebut.domain import session_status
    from rebut.record import journal, sessions
    from rebut.record.record import Record

    folder = folder_of(id)
    found = journal.read(folder)
    record = Record(found.lines)
    problems = [] if found.lines else ["the journal is empty"]
    if found.torn:
        problems.append(f"{len(found.torn)} bytes of an incomplete last line, which `rebut resume` sets aside")
    wrote = {path: event.sha for path, event in record.wrote.items()}
    changed = sessions.changed_files(folder, wrote)
    problems += [f"changed or deleted since it was written: {path}" for path in changed]
    problems += [f"missing from the snapshot: {name}" for name in _missing(record, folder)]
    shown = {
        "id": folder.name,
        "ok": not problems,
        "events": len(found.lines),
        "last_hash": found.last_hash,
        "status": session_status.status(record) if found.lines else "empty",
        "problems": problems,
    }
    if as_json:
        say_json(shown)
        return 3 if problems else 0
    if found.lines:
        say(f"  {folder.name}: {len(found.lines)} events, the hash of each matches; {shown['status']}")
        say(f"  the last hash is {found.last_hash}")
    say("\n".join(f"  {problem}" for problem in problems) or "  ok")
    return 3 if problems else 0


def _missing(record: Record, folder: Path) -> list[str]:
    fact = record.facts.get("snapshot")
    copies = fact.value.get("copies") if fact and isinstance(fact.value, dict) else None
    from rebut.record import sessions

    names = {str(name): path for path, name in copies.items()} if isinstance(copies, dict) else {}
    return [names[name] for name in sessions.without_copy(folder, names)]
