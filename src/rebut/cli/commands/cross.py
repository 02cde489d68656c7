"""`rebut cross`: a critic of another family, a judge, and a choice from A to E."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rebut.cli.options import SCOPES, Many, common, gate_options, given_scope, scope_options, shown


@click.command("cross", cls=Many)
@click.argument("content", required=False, default="")
@click.option("--target", metavar="KIND", default="auto", help="auto, code, proposal or mixed. [auto]")
@click.option("--scope", metavar="SCOPE", default="", help=f"{SCOPES}. [uncommitted]")
@scope_options
@click.option("--artifact-file", metavar="FILE", default="", help="A file that holds what to review.")
@click.option("--context-file", metavar="FILE", default="", help="A file that holds the last message.")
@click.option("--from-transcript", is_flag=True, help="The last answer of your coding tool in this folder.")
@click.option("--author", metavar="SPEC", help="The model that wrote it; it is not asked. [the judge's, or you]")
@click.option("--critic", metavar="SPEC", help="The model that reviews it; another one than the author.")
@click.option("--judge", metavar="SPEC", help="The model that weighs the findings. [the author's]")
@click.option("--intensity", metavar="LEVEL", help="quick, standard or extensive: rounds, minutes and time a call.")
@click.option("--max-rounds", "rounds", type=int, metavar="1–5", help="Rounds at most. [1, 3 or 5]")
@click.option("--mode", metavar="MODE", help="auto: the judge's choice is taken; manual: you are asked. [auto]")
@click.option("--backend-timeout-seconds", type=float, metavar="S", help="The same as --timeout. [180, 600 or 900]")
@click.option("--skip-materialize-opposite", is_flag=True, help="On B, do not have the final artifact written.")
@click.option("--effort", metavar="LEVEL", help="Thinking effort of every seat: low, medium, high, max.")
@click.option("--state-dir", metavar="DIR", help="The folder that holds session folders. [in git's own folder]")
@click.option("--apply", "apply_patch", is_flag=True, help="Apply the final patch, if the tree is as it was reviewed.")
@click.option("--all", "everything", is_flag=True, help="Show every finding, also P3, struck and invalid ones.")
@gate_options
@click.option("--again", is_flag=True, help="Review it anew, even if the same review is on record.")
@click.option(
    "--sarif", type=click.Path(dir_okay=False, path_type=Path), help="Also write the findings there, as SARIF."
)
@click.option("--github", is_flag=True, help="Also print them as annotations of a GitHub workflow.")
@common
def cross_command(
    content: str,
    backend_timeout_seconds: float | None,
    apply_patch: bool,
    everything: bool,
    fail_on: str | None,
    on_inconclusive: str | None,
    again: bool,
    sarif: Path | None,
    github: bool,
    **named: Any,
) -> int:
    """A critic of another family reviews a change or a proposal, a judge weighs its findings, and you decide.

    CONTENT is the text to review; - reads it from standard input. Without it: a file, standard input, a transcript, or
    the changed working tree.
    """
    from rebut.cli.gate_flags import Gating
    from rebut.cli.launch import launch
    from rebut.domain.gate_policy import Wish

    if github and named["as_json"]:
        raise click.UsageError("--github and --json both write to standard output; give one")
    wanted = _wanted(content, named)
    if backend_timeout_seconds is not None:
        if named.get("timeout") is not None:
            raise click.UsageError("--timeout and --backend-timeout-seconds are the same; give one")
        named["timeout"] = backend_timeout_seconds
    how = shown(named)
    named["skip_materialize_opposite"] = named["skip_materialize_opposite"] or None
    return launch(
        "cross",
        "",
        named,
        **how,
        wanted=wanted,
        everything=everything,
        gating=Gating(
            Wish(fail_on, on_inconclusive), sarif, github, again, apply_patch, quiet=how["quiet"] or how["as_json"]
        ),
    )


def _wanted(content: str, named: dict[str, Any]) -> Any:
    from rebut.cli.piped import everything, waiting
    from rebut.workspace.targets import Wanted

    scope = given_scope(named)
    texts = {name: named.pop(name) for name in ("artifact_file", "context_file", "from_transcript")}
    stdin = ""
    if content == "-":
        content, stdin = "", everything()
    elif not (content or any(texts.values())) and (not scope or named["target"] == "mixed"):
        stdin = waiting()
    return Wanted(named.pop("target"), scope, content, stdin=stdin, **texts)
