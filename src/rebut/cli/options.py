"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from rebut.cli.brief_help import Brief
from rebut.cli.completion import LEVEL, PATH, SPEC

if TYPE_CHECKING:
    from rebut.cli.gate_flags import Gating
    from rebut.workspace.targets.target import Wanted

F = TypeVar("F", bound=Callable[..., Any])


VIEW, NO_OPEN = "rebut.view", "rebut.no_open"
"""Keys of a command's context: whether the user gave `--view` and `--no-open`."""


SCOPES = "uncommitted, staged, commit:SHA, base:BRANCH, range:A..B or file:PATH"
json_flag = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")


class Many(Brief):
    """A command whose `--context` takes several paths in a row."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        out: list[str] = []
        taking = False
        for word in args:
            if word == "--context":
                taking = True
                out.append(word)
            elif taking and not word.startswith("-"):
                out += [word] if out[-1] == "--context" else ["--context", word]
            else:
                taking = False
                out.append(word)
        try:
            return super().parse_args(ctx, out)
        except click.MissingParameter as error:
            if "--context" in args:
                name = (error.param.name if error.param else None) or "topic"
                raise click.UsageError(
                    f"missing argument '{name.upper()}': put it before --context, which takes all paths that follow",
                    ctx,
                ) from error
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        files = ctx.params.get("context") and not incomplete.startswith("-")
        return [CompletionItem(incomplete, type="file")] if files else super().shell_complete(ctx, incomplete)


def _start_deadline(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Start the alarm while options are read: waiting for standard input or for the user counts, too."""
    if value is not None and 0 < value <= LONGEST:
        from rebut.cli.deadline import set_alarm

        set_alarm(value, lambda: _print_nothing_yet(value, bool(ctx.params.get("as_json"))))
    return value


def _print_nothing_yet(deadline: float, as_json: bool) -> None:
    from rebut.cli.json_result import brief
    from rebut.cli.output import say, say_json
    from rebut.domain.outcome import nothing_yet

    outcome = nothing_yet(f"the deadline of {deadline:g} s was reached")
    if as_json:
        say_json(brief(outcome))
    else:
        say(f"  {outcome.heading}\n    {outcome.stopped}")


LONGEST = 86_400
"""Seconds of the longest --deadline: a day."""
deadline_option = click.option(
    "--deadline",
    type=float,
    metavar="S",
    is_eager=True,
    callback=_start_deadline,
    help="Print the best result so far after S seconds at most.",
)


def with_options(f: F, *options: Callable[[F], F]) -> F:
    """A command with these options, which its help lists in this order."""
    for option in reversed(options):
        f = option(f)
    return f


def limits(f: F) -> F:
    """The limits of a debate."""
    return with_options(
        f,
        deadline_option,
        click.option("--timeout", type=float, metavar="S", help="Seconds per call, retries included. [240]"),
        click.option(
            "--budget-minutes",
            "minutes",
            type=float,
            metavar="M",
            help="Minutes in total; waiting for a person does not count.",
        ),
        click.option("--max-usd", "usd", type=float, metavar="USD", help="Dollars in total."),
        click.option("--max-tokens", "tokens", type=int, metavar="N", help="Tokens in total, input and output."),
        click.option("--max-calls", "calls", type=int, metavar="N", help="Calls in total."),
    )


def view_options(f: F) -> F:
    """`--view` and `--no-open`, kept in the context, so that the commands need not pass them on."""

    def keep(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            ctx.meta[VIEW] = True
            if param.name == "no_open":
                ctx.meta[NO_OPEN] = True

    f = click.option(
        "--no-open", is_flag=True, expose_value=False, callback=keep, help="Like --view, but print the address only."
    )(f)
    return click.option(
        "--view", is_flag=True, expose_value=False, callback=keep, help="Show the debate in the browser while it runs."
    )(f)


def wants_page() -> bool:
    """Whether the command that runs was given `--view`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(VIEW))


def output(f: F) -> F:
    f = click.option("--quiet", "-q", is_flag=True, help="Print only the result, no progress.")(view_options(f))
    return json_flag(f)


def common(f: F) -> F:
    """The options of every command that starts a debate."""
    f = with_options(
        limits(f),
        click.option(
            "--context",
            type=PATH,
            multiple=True,
            metavar="PATH…",
            help="Files and folders that the models may read and cite.",
        ),
        click.option(
            "--run-checks/--no-run-checks",
            default=None,
            help="Run the code that models add to show a point, in a sandbox. [off]",
        ),
        click.option("--dry-run", is_flag=True, help="Show what each provider would get, and the cost; call no model."),
        click.option(
            "--fallback", multiple=True, metavar="SEAT=SPEC", help="The model that takes over if a seat fails."
        ),
        click.option("--allow-same-model", is_flag=True, help="Allow the same model in two seats (a self-debate)."),
        click.option(
            "--temperature", type=float, metavar="0–2", help="Sampling temperature (if the provider supports it)."
        ),
        click.option("--seed", type=int, metavar="N", help="Sampling seed (if the provider supports it)."),
        click.option("--repeat", type=int, metavar="N", help="Run the same debate N times; one line of JSON each."),
        click.option("--out", type=PATH, metavar="FILE", help="With --repeat: write the lines to FILE. [stdout]"),
    )
    return output(f)


def inconclusive_option(f: F) -> F:
    ends = click.Choice(["fail", "pass"])
    return click.option("--on-inconclusive", type=ends, help="Result of an inconclusive review. [fail]")(f)


def gate_options(f: F) -> F:
    """The options of a gate."""
    from rebut.domain.gate_policy import THRESHOLDS

    help = "Exit with 1 on an open finding of this severity or above; with :shown, only if a check shows it."
    return click.option("--fail-on", type=click.Choice(THRESHOLDS), help=help)(inconclusive_option(f))


def review_options(f: F) -> F:
    """Add the options for the result of a review: show it, judge it, write it, apply it."""
    return with_options(
        f,
        click.option(
            "--apply",
            "apply_patch",
            is_flag=True,
            help="Apply the final patch if no reviewed file has changed since.",
        ),
        click.option(
            "--apply-also", multiple=True, metavar="PATH", help="With --apply: the patch may change this file, too."
        ),
        click.option("--force", is_flag=True, help="With --apply: also if the review is inconclusive."),
        click.option("--all", "everything", is_flag=True, help="Show every finding, also P3, struck and invalid ones."),
        gate_options,
        click.option("--again", is_flag=True, help="Review again, even if the same review is on record."),
        click.option("--sarif", type=PATH, metavar="FILE", help="Also write the findings to this file, as SARIF."),
        click.option("--github", is_flag=True, help="Also print the findings as GitHub annotations."),
        click.option(
            "--format",
            "form",
            type=click.Choice(["text", "json", "md", "sarif", "github"]),
            help="Print the result in this format. [text]",
        ),
    )


def gating_of(named: dict[str, Any], how: Mapping[str, Any], verb: str = "") -> Gating:
    """Take the options of `review_options` out of a command's values."""
    from rebut.cli.gate_flags import Gating
    from rebut.domain.gate_policy import Wish

    taken = {name: named.pop(name) for name in REVIEW_NAMES}
    form = taken["form"] if taken["form"] not in (None, "text", "json") else ""
    if how["as_json"] and (taken["github"] or form):
        flag = "--github" if taken["github"] else f"--format {form}"
        raise click.UsageError(f"{flag} and --json both write to standard output; give one")
    if taken["github"] and form:
        raise click.UsageError(f"--github and --format {form} both write to standard output; give one")
    return Gating(
        Wish(taken["fail_on"], taken["on_inconclusive"]),
        Path(taken["sarif"]) if taken["sarif"] else None,
        taken["github"],
        taken["again"],
        taken["apply_patch"],
        taken["force"],
        taken["apply_also"],
        form=form,
        verb=verb,
    )


REVIEW_NAMES = ("fail_on", "on_inconclusive", "sarif", "github", "form", "again", "apply_patch", "force", "apply_also")


EFFORT = click.option("--effort", type=LEVEL, help="Reasoning effort of all seats: low, medium, high, max.")


def judge_options(f: F) -> F:
    """Add the options that choose who decides between two sides, and how often each judge is asked."""
    return with_options(
        f,
        click.option(
            "--judge",
            type=SPEC,
            multiple=True,
            help="The model that decides; repeat for several. [a third family, else the proposer's]",
        ),
        click.option("--judges", type=int, metavar="1–9", help="This many judges decide by majority. [1]"),
        click.option(
            "--both-orders", is_flag=True, help="Ask each judge in both orders of the sides. [one order, at random]"
        ),
    )


def models_of(given: str | None) -> list[str]:
    """The models of `--with`."""
    who = [name.strip() for name in given.split(",")] if given else []
    if given is not None and not all(who):
        raise click.UsageError(f"--with takes models joined by commas, got {given!r}")
    return who


def several_judges(named: dict[str, Any]) -> None:
    """Turn the values of `judge_options` into seats and settings."""
    judges = named.pop("judge")
    named["judge"] = list(judges) or None
    if named["judges"] is None and len(judges) > 1:
        named["judges"] = len(judges)
    named["both_orders"] = named["both_orders"] or None


def target_options(f: F) -> F:
    """Add the options that choose what is reviewed."""
    return with_options(
        f,
        click.option(
            "--target", metavar="KIND", default="auto", help="What is reviewed: auto, code, proposal or mixed. [auto]"
        ),
        click.option("--scope", metavar="SCOPE", default="", help=f"Which change: {SCOPES}. [uncommitted]"),
        scope_options,
        click.option(
            "--artifact-file", type=PATH, metavar="FILE", default="", help="The file with the text to review."
        ),
        click.option(
            "--context-file",
            type=PATH,
            metavar="FILE",
            default="",
            help="A file with the last message of your agent, to review.",
        ),
        click.option(
            "--from-transcript", is_flag=True, help="Review the last answer of your coding agent in this folder."
        ),
    )


AUTHOR = click.option("--author", type=SPEC, help="The model that wrote it; it is not called. [the judge's, or you]")


def cross_options(f: F, author: Callable[[F], F] = AUTHOR) -> F:
    """Add the options that choose who reviews, and how."""
    return with_options(
        f,
        author,
        click.option("--critic", type=SPEC, help="The model that reviews it; not the author's model."),
        click.option("--judge", type=SPEC, help="The model that judges the findings. [the author's]"),
        click.option("--intensity", metavar="LEVEL", help="quick, standard or extensive: sets rounds and time limits."),
        click.option(
            "--max-rounds",
            "--rounds",
            "rounds",
            type=int,
            metavar="1–5",
            help="Maximum number of rounds. [by --intensity: 1, 3 or 5]",
        ),
        click.option("--mode", metavar="MODE", help="auto: the judge decides; manual: you decide. [auto]"),
        click.option(
            "--backend-timeout-seconds",
            type=float,
            metavar="S",
            help="Same as --timeout. [by --intensity: 180, 600, 900]",
        ),
        click.option(
            "--skip-materialize-opposite", is_flag=True, help="If the critic wins (choice B), write no final version."
        ),
        EFFORT,
        click.option("--state-dir", type=PATH, metavar="DIR", help="The parent of the session folders. [in .git]"),
    )


def call_limit(named: dict[str, Any]) -> None:
    """Take the other name of --timeout out of a command's values."""
    seconds = named.pop("backend_timeout_seconds")
    if seconds is None:
        return
    if named.get("timeout") is not None:
        raise click.UsageError("--timeout and --backend-timeout-seconds are the same; give one")
    within("timeout", seconds, "--backend-timeout-seconds")
    named["timeout"] = seconds


def wanted_by(content: str, named: dict[str, Any]) -> Wanted:
    """Take the options of `target_options` out of a command's values."""
    from rebut.cli.shorthand import waiting_stdin, whole_stdin
    from rebut.workspace.targets.target import Wanted

    scope = given_scope(named)
    texts = {name: named.pop(name) for name in ("artifact_file", "context_file", "from_transcript")}
    stdin = ""
    if content == "-":
        content, stdin = "", whole_stdin()
    elif not (content or texts["artifact_file"]) and (not scope or named["target"] == "mixed"):
        stdin = waiting_stdin()
    return Wanted(named.pop("target"), scope, content, stdin=stdin, **texts)


def scope_options(f: F) -> F:
    """Short forms of --scope."""
    f = click.option("--uncommitted", is_flag=True, help="Same as --scope uncommitted.")(f)
    f = click.option("--staged", is_flag=True, help="Same as --scope staged.")(f)
    f = click.option("--commit", metavar="SHA", help="Same as --scope commit:SHA.")(f)
    return click.option("--base", metavar="BRANCH", help="Same as --scope base:BRANCH.")(f)


def collect_limits(named: dict[str, Any]) -> dict[str, Any]:
    """Collect limits and fallbacks in `named`; take --json, --quiet, --dry-run and --deadline out and return them."""
    named["limits"] = given_limits(named)
    named["fallbacks"] = fallbacks(named.pop("fallback"))
    how = {name: named.pop(name) for name in ("as_json", "quiet", "dry_run", "deadline")}
    how["as_json"] |= named.get("form") == "json"
    return how


def given_limits(values: dict[str, Any]) -> dict[str, float]:
    """Take the limits that were given out of a command's values."""
    found = {name: values.pop(name) for name in ("timeout", "minutes", "usd", "tokens", "calls")}
    given = {name: value for name, value in found.items() if value is not None}
    for name, value in given.items():
        within(name, value)
    return given


def within(name: str, value: float, called: str = "", *, whole_batch: bool = False) -> None:
    """Refuse a limit out of its range; `called` is the flag that it was given with, if that is not its usual one."""
    from rebut.domain.limits import OF_BATCH, RANGES, flag, span

    low, high = found = (OF_BATCH if whole_batch else RANGES)[name]
    if not low <= value <= high:
        raise click.UsageError(f"{called or flag(name)} must be {span(*found)}, got {value:,g}")


def given_scope(named: dict[str, Any]) -> str:
    """The one scope that was given, in any of its forms."""
    scopes = [named.pop("scope")]
    for kind in ("base", "commit"):
        value = named.pop(kind)
        scopes.append(f"{kind}:{value}" if value else "")
    scopes += [kind if named.pop(kind) else "" for kind in ("uncommitted", "staged")]
    given = [scope for scope in scopes if scope]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} are two scopes; give only one")
    return given[0] if given else ""


def topic_of(text: str) -> str:
    """The topic as given, or standard input for `-`."""
    if text != "-":
        return text
    from rebut.cli.shorthand import whole_stdin

    return whole_stdin()


def fallbacks(given: tuple[str, ...]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for seat, spec in pairs(given, "--fallback", "SEAT=SPEC"):
        out.setdefault(seat, []).append(spec)
    return out


def pairs(given: tuple[str, ...], flag: str, form: str) -> list[tuple[str, str]]:
    """An option that takes NAME=VALUE, as pairs."""
    out = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise click.UsageError(f"{flag} takes {form}, got {text!r}")
        out.append((name, value))
    return out
