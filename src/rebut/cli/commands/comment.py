"""`rebut comment` writes the comment on a pull request from a review; it posts nothing."""

from __future__ import annotations

import json
from pathlib import Path

import click

from rebut.cli.commands.show import folder_of


@click.command("comment")
@click.argument("what", default="last", metavar="[ID|FILE]")
@click.option("--repository", metavar="OWNER/NAME", default="", help="Link to the lines in this repository.")
@click.option("--commit", metavar="SHA", default="", help="The commit that was reviewed. [the one of the review]")
@click.option("--site", metavar="URL", default="https://github.com", show_default=True, help="Where the repository is.")
@click.option(
    "--previous",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The earlier comment, to say what was fixed since.",
)
def comment_command(what: str, repository: str, commit: str, site: str, previous: Path | None) -> int:
    """Write the comment on a pull request: findings with their code, what was fixed since, and the gate.

    ID is a session, FILE a SARIF file that rebut wrote. Prints nothing if there is nothing to say. Posts nothing; see
    docs/pull-requests.md for a workflow that keeps one comment up to date.
    """
    from rebut.ci.comment import body, read_report
    from rebut.cli.output import say

    if not site.startswith(("https://", "http://")) or any(c in site for c in " \n\t()<>[]\"'"):
        raise click.UsageError(f"--site {site!r} is not an address")
    file = Path(what)
    is_file = file.suffix in (".sarif", ".json") or file.is_file()
    text = _read(file) if is_file else json.dumps(_of_session(what))
    old = _read(previous) if previous else ""
    made = body(read_report(text, what), site=site, repository=repository, commit=commit, previous=old)
    if made:
        say(made.rstrip("\n"))
    return 0


def _read(file: Path) -> str:
    from rebut.core.errors import UsageError

    try:
        return file.read_text("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


def _of_session(id: str) -> object:
    from rebut.ci.gate import stand, with_threshold
    from rebut.ci.output_formats import log
    from rebut.ci.recorded_reviews import Review
    from rebut.cli.commands.gate import USUAL, grounds_of, is_final_version_there
    from rebut.domain.gate_policy import Wish
    from rebut.record import sessions

    record = sessions.load(folder_of(id))
    review = Review.of(record)
    held = with_threshold(grounds_of(record, Wish()), USUAL)
    return log(stand(review, held, applied=is_final_version_there(record, review.outcome)))
