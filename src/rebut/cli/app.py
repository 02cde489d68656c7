"""The command group: a command is loaded when it is called; an error is one message and an exit code."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from rebut.cli import deadline
from rebut.cli.brief_help import HELP_ALL, MAIN_OPTIONS
from rebut.cli.examples import EXAMPLES
from rebut.cli.index import COMMANDS, FIRST, FORMER, SESSIONS
from rebut.core.errors import ODD_VALUE, RebutError, UsageError

EXITS = """\
Exit codes: 0 success; 1 findings at or above --fail-on, or an absent citation
in `check`; 2 wrong usage or configuration, no model was called; 3 inconclusive
(a seat failed, a limit was reached, files were not read, or a session record is
damaged); 4 waiting for a person or the caller; 5 partial result at --deadline;
130 interrupted."""


class Group(click.Group):
    """Loads commands from the index. An unknown word is an error, never a question that costs money."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"rebut.cli.commands.{COMMANDS[name].module}")
        command: click.Command = getattr(module, f"{name}_command")
        return _with_common_help(command, name, examples=not ctx.resilient_parsing)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The commands from the index: click would load every command to get its help."""
        named = [CompletionItem(name, help=e.help) for name, e in COMMANDS.items() if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            from rebut.cli.usage_errors import unknown

            raise unknown(args[0], args, COMMANDS)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(help_page())


@click.command(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
def app() -> None:
    """Make AI models argue, check what they cite, record everything."""


def _set_plain(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta["rebut.plain"] = True


PLAIN = click.Option(
    ["--plain"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_set_plain,
    help="Plain lines for screen readers: no live view, no columns. [REBUT_PLAIN]",
)


def _with_common_help(command: click.Command, name: str, *, examples: bool) -> click.Command:
    """Add what every command has: `--plain`, examples below its help, and `--help-all` if it has many options."""
    if PLAIN not in command.params:
        command.params += [PLAIN, HELP_ALL] if name in MAIN_OPTIONS else [PLAIN]
        for one in (command, *(command.commands.values() if isinstance(command, click.Group) else ())):
            _refuse_empty_values(one)
    if examples and not command.epilog:
        from rebut.cli.output import folded

        rows = [f"  rebut {line}\n      {what}" for line, what in EXAMPLES.get(name, ())]
        rows += ["", "Exit codes and all commands: rebut help all"]
        command.epilog = "\b\n" + folded("\n".join(["Examples:", *rows]), sys.stdout, 8, less=2)
    return command


def _refuse_empty_values(command: click.Command) -> None:
    """Refuse options with an empty value: it comes from an unset variable, as in `--base "$BASE"`."""
    for param in command.params:
        if isinstance(param, click.Option) and not param.is_flag and param.callback is None:
            param.callback = _not_empty


def _not_empty(ctx: click.Context, param: click.Parameter, value: object) -> object:
    given = ctx.get_parameter_source(param.name or "") == click.core.ParameterSource.COMMANDLINE
    if given and (value == "" or (isinstance(value, tuple) and "" in value)):
        raise click.UsageError(
            f"{max(param.opts, key=len)} was given an empty value: give it one, or leave it out", ctx
        )
    return value


TITLE = "rebut: make AI models argue, check what they cite, record everything."


def help_page() -> str:
    """The page of `rebut --help`, the text of `cli/help.txt`: the commands that a newcomer needs."""
    rows = [TITLE, "", 'Usage: rebut COMMAND …    rebut "QUESTION"    rebut FILE    git diff | rebut']
    for heading, names in FIRST.items():
        rows += ["", f"{heading}:"]
        rows += [f"  {name:<10} {COMMANDS[name].help}" for name in names]
    rows += ["", "Options of a command:   rebut COMMAND --help"]
    rows += ["All commands:           rebut help all"]
    return "\n".join(rows) + "\n"


def whole_page() -> str:
    """The page of `rebut help all`, the text of `cli/help_all.txt`."""
    rows = [TITLE, "", "Usage: rebut COMMAND …        Options of a command: rebut COMMAND --help"]
    rows += ['       rebut "QUESTION"       rebut FILE       git diff | rebut']
    heading = ""
    for name, entry in COMMANDS.items():
        if entry.heading != heading:
            heading = entry.heading
            rows += ["", f"{heading}:"]
        rows.append(f"  {name:<10} {entry.help}")
    rows += ["", "A seat is a role in a debate. A SPEC says which model takes it:"]
    rows += ["  PROVIDER[:MODEL][@EFFORT], such as claude, openai:gpt-5@high or human;"]
    rows += ["  NAME=SPEC gives it a name. `rebut models` lists them.", "", EXITS]
    return "\n".join(rows) + "\n"


def enter(words: list[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        return _run(words)
    finally:
        deadline.switch_off()


def _run(words: list[str]) -> int:
    try:
        words = _expanded(words)
        if not words:
            from rebut.cli.overview import show

            return show()
        with app.make_context("rebut", list(words)) as here:
            code = app.invoke(here)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        from rebut.cli.usage_errors import message

        return _fail(UsageError(*message(error, words)), words)
    except click.ClickException as error:
        return _fail(UsageError(error.format_message()), words)
    except (click.Abort, KeyboardInterrupt):
        if sys.stderr.isatty():
            print(file=sys.stderr)  # ends the line of the prompt
        return 130
    except RebutError as error:
        return _fail(error, words)
    except BrokenPipeError:
        # The reader has closed the pipe (`rebut show … | head`), so no error can be shown either.
        sys.stdout = None
        return 0
    except OSError as error:
        if is_gone := _folder_is_gone():
            return _fail(is_gone, words)
        if error.filename:
            return _fail(UsageError(f"{error.filename}: {error.strerror}"), words)
        sys.stdout = None  # what could not be written now cannot be flushed at exit either
        return _fail(UsageError(f"the output could not be written: {error.strerror}"), [])
    except ODD_VALUE as error:
        if misread := _misread(words, error):
            return _fail(misread, words)
        raise


def _misread(words: list[str], error: Exception) -> RebutError | None:
    """The error of a command that reads a recorded session, if the record is to blame; None for other commands.

    Nothing was called then, and exit code 1, which Python gives for any error, would mean that findings stand.
    """
    from rebut.record import sessions

    entry = COMMANDS.get(words[0]) if words else None
    if not entry or (entry.heading != SESSIONS and words[0] != "more"):
        return None
    return sessions.not_understood(next((word for word in words[1:] if word[:1] != "-"), "last"), error)


def _folder_is_gone() -> UsageError | None:
    try:
        os.getcwd()  # noqa: PTH109  a Path of it would be no cheaper
    except OSError:
        return UsageError("the current folder no longer exists", "Change to another folder and try again.")
    return None


def _expanded(words: list[str]) -> list[str]:
    for at in (0, 1) if words[:1] == ["help"] else (0,):
        if words[at : at + 1] and words[at] in FORMER:
            words = [*words[:at], *FORMER[words[at]], *words[at + 1 :]]
    if words and words[0] in COMMANDS and words[0] not in MAIN_OPTIONS:
        return ["--help" if word == "--help-all" else word for word in words]  # their --help shows all options anyway
    if words and (words[0] in COMMANDS or words[0] in ("-h", "--help", "--version")):
        return words
    if words[:1] == ["help"] and (len(words) == 2 or not COMMANDS.keys().isdisjoint(words[1:2])):
        if words[1] not in COMMANDS and not words[1].startswith("-"):
            from rebut.cli.usage_errors import unknown_topic

            raise unknown_topic(words[1], COMMANDS)
        return [words[1], "--help"]  # `rebut help duel`; with more words it is a question
    from rebut.cli.shorthand import meant, of_pipe

    if not words or words[0].startswith("--"):  # `git diff | rebut --with claude,codex`
        _check_flags(words)
        piped = of_pipe()
        return [*piped, *words] if piped else words
    return meant(words)


def _check_flags(words: list[str]) -> None:
    """Report an unknown flag at once, before waiting for standard input."""
    wrong: click.UsageError | None = None
    for command in map(_command, ("review", "plan")):
        try:
            here = click.Context(command, parent=click.Context(app, info_name="rebut"), info_name=command.name)
            command.make_parser(here).parse_args(list(words))
            return
        except click.NoSuchOption as error:
            wrong = click.NoSuchOption(error.option_name)  # without its context, since no command was named
        except click.UsageError as error:
            wrong, error.ctx = error, here
    assert wrong is not None
    raise wrong


def _command(name: str) -> click.Command:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    return command


def _fail(error: RebutError, words: list[str]) -> int:
    if "--json" in words:
        print(json.dumps({"error": error.message, "hint": error.hint, "exit": error.exit_code}, indent=2))
    else:
        from rebut.cli.output import folded

        print(folded(f"rebut: {error}", sys.stderr), file=sys.stderr)
    return error.exit_code
