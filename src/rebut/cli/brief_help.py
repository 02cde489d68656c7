"""The help of a command with many options: `--help` shows those that matter most, `--help-all` shows all of them."""

from __future__ import annotations

import click

MAIN_OPTIONS = {
    "ask": "company context quick deep save usd deadline dry_run as_json quiet",
    "review": "company fix apply_patch interactive everything fail_on context usd dry_run as_json",
    "plan": "company rewrite everything context quick deep save usd dry_run as_json",
    "duel": "proposer challenger judge rounds effort context usd deadline dry_run as_json",
    "cross": "scope artifact_file critic judge intensity mode apply_patch fail_on dry_run as_json",
    "revise": "author synthesizer scope rounds phase strategy context usd dry_run as_json",
    "panel": "lead challenger judge rounds min_challengers effort context usd dry_run as_json",
    "run": "seat settings scope artifact_file fail_on context usd deadline dry_run as_json",
    "batch": "out each company at_once processes skip_bad usd on as_json quiet",
    "trial": "company count arms run_checks repo seed out usd dry_run as_json",
    "resume": "ask_left yes fail_on timeout minutes usd calls deadline as_json quiet",
    "more": "yes timeout minutes usd calls deadline view as_json quiet",
    "fork": "proposer challenger judge rounds seat settings again usd dry_run as_json",
}
"""Command → the names of the parameters that `--help` shows, ten at most."""
ALL_OPTIONS = "rebut.all-options"
"""The key under which a context says that its help shows all options."""


class Brief(click.Command):
    """A command with many options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params, more = [p for p in self.get_params(ctx) if isinstance(p, click.Option)], 0
        if not ctx.meta.get(ALL_OPTIONS):
            by_name = {param.name: param for param in params}
            main = [by_name[name] for name in MAIN_OPTIONS[self.name or ""].split()]
            more, params = len(params) - len(main) - 1, [*main, params[-1]]  # the last is `--help`
        rows = [record for param in params if (record := param.get_help_record(ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        if more:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"{more} more options: {ctx.command_path} --help-all")


class BriefGroup(Brief, click.Group):
    """A command with many options, and with commands of its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[ALL_OPTIONS] = True
        click.echo(ctx.get_help())
        ctx.exit()


HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show this message with all options, and exit.",
)
