"""Messages for a wrong command line: what the command takes, and an example."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Sequence

import click

from rebut.cli.examples import EXAMPLES
from rebut.core.text import cut

LIKE = {
    "rounds": ("max-rounds", "deep"),
    "max-rounds": ("rounds", "deep"),
    "model": ("with", "seat"),
    "models": ("with", "seat"),
    "author": ("with",),
    "critic": ("with",),
    "judge": ("with",),
    "proposer": ("with",),
    "challenger": ("with",),
    "cost": ("max-usd",),
    "budget": ("max-usd",),
    "output": ("save", "out"),
    "dir": ("save",),
    "file": ("artifact-file",),
    "fast": ("quick",),
    "force": ("yes", "again"),
    "no-color": ("plain",),
}
"""Flags of other programs or commands, and ours with the same meaning."""


def message(error: click.UsageError, words: Sequence[str]) -> tuple[str, str]:
    """What is wrong, and what to do."""
    command, name = _command(error, words)
    see = f"See `rebut {name} --help`." if name else "See `rebut --help`."
    match error:
        case click.NoSuchOption():
            flag = error.option_name
            if flag == "--with" and (seats := _seats(command)):
                return f"no such option '--with'; name each seat: {' '.join(seats)}", see
            near = _near(flag, set(_flags(command)) if command else set())
            return f"no such option '{flag}'" + (f"; did you mean {near}?" if near else ""), see
        case click.MissingParameter() if isinstance(error.param, click.Argument):
            return f"`rebut {name}` needs {_wanted(error.param)}", f"{_example(name)}{see}"
        case click.BadOptionUsage() if "requires an argument" in error.message and command:
            flag = error.option_name
            given = next((p for p in command.params if flag in p.opts), None)
            return f"{flag} needs a value" + (f": {flag} {_metavar(given)}" if given else ""), see
        case click.BadParameter() if error.param is not None and (said := _taken(error, error.param)):
            return said, see
    if "unexpected extra argument" in error.message and command and (line := _unquoted(command, name, words)):
        return f"put a question in quotes:   {line}", see
    return _lower(error.format_message()), see


def unknown(word: str, words: Sequence[str], known: Collection[str]) -> click.UsageError:
    """The error for a first word that is not a command. Several words are probably a question without quotes."""
    near = difflib.get_close_matches(word, known, n=1)
    shown = cut(word, 40)
    guess = f"; did you mean {near[0]}?" if near else ""
    said = list(_until_flag(words))
    line = " ".join(["rebut", _quoted(said), *words[len(said) :]])
    if len(said) > 1 and not near:
        return click.UsageError(f"no command {shown!r}; put a question in quotes:   {line}")
    if len(said) > 2 and not any(
        " " in one for one in said
    ):  # `redis or postgres` is close to `revise`, but a question
        guess += f" Put a question in quotes:   {line}"
    if near or len(said) > 1:
        return click.UsageError(f"no command {shown!r}{guess}")
    if re.search(r"[./\\]", word):
        return click.UsageError(f"no file or command {shown!r}")
    return click.UsageError(f"no file or command {shown!r}; to ask a question:   rebut ask {_quoted([shown])}")


def unknown_topic(word: str, known: Collection[str]) -> click.UsageError:
    """The error of `rebut help WORD` where that is not a command."""
    near = difflib.get_close_matches(word, known, n=1)
    return click.UsageError(f"there is no command {cut(word, 40)!r}" + (f"; did you mean {near[0]}?" if near else ""))


def _unquoted(command: click.Command, name: str, words: Sequence[str]) -> str:
    """The command line with quotes around its question; empty if the extra words are not a question."""
    takes = [p.name for p in command.params if isinstance(p, click.Argument)]
    at = next((n for n, taken in enumerate(takes, 1) if taken in ("topic", "question")), 0)
    said = list(_until_flag(words[1:]))
    if not at or len(said) <= at:
        return ""
    return " ".join(["rebut", name, *said[: at - 1], _quoted(said[at - 1 :]), *words[1 + len(said) :]])


def _quoted(words: Sequence[str]) -> str:
    return '"' + re.sub(r'(["\\$`])', r"\\\1", " ".join(words)) + '"'


def _until_flag(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("-"):
            return
        yield word


def _command(error: click.UsageError, words: Sequence[str]) -> tuple[click.Command | None, str]:
    from rebut.cli.app import app
    from rebut.cli.index import COMMANDS

    if error.ctx is not None and error.ctx.parent is not None:
        return error.ctx.command, error.ctx.command_path.partition(" ")[2]
    if words and words[0] in COMMANDS:
        return app.get_command(click.Context(app), words[0]), words[0]
    return None, ""


def _flags(command: click.Command) -> Iterator[str]:
    for param in command.params:
        yield from (opt for opt in param.opts if opt.startswith("--"))


def _seats(command: click.Command | None) -> list[str]:
    """The options of a command that take a model."""
    params = command.params if command else []
    return [
        f"{param.opts[0]} SPEC" for param in params if isinstance(param, click.Option) and param.type.name == "spec"
    ]


def _near(flag: str, flags: Collection[str]) -> str:
    """The flag of this command with a similar name or the same meaning; empty if there is none."""
    for other in LIKE.get(flag.lstrip("-"), ()):
        if f"--{other}" in flags:
            return f"--{other}"
    bare = {name.lstrip("-"): name for name in flags}
    close = difflib.get_close_matches(flag.lstrip("-"), bare, n=1, cutoff=0.72)
    return bare[close[0]] if close else ""


def _wanted(param: click.Parameter) -> str:
    if isinstance(param.type, click.Choice):
        return _or(param.type.choices)
    name = _metavar(param).strip("[]").rstrip("….")
    return f"{'an' if name[:1] in 'AEIO' else 'a'} {name}"


def _taken(error: click.BadParameter, param: click.Parameter) -> str:
    """`--max-usd takes a number, got 'abc'`; empty if click's message is as good."""
    if file := re.fullmatch(r"Directory '(.*)' is a file\.?", error.message, re.S):
        return f"{file[1]} is a file, not a folder"
    value = re.match(r"(?:Value )?('.*?'|\S+) is not", error.message, re.S)
    got = f", got {value[1]}" if value else ""
    name = next((opt for opt in param.opts if opt.startswith("--")), "") if isinstance(param, click.Option) else ""
    kind = param.type
    name = name or f"`rebut {error.ctx.info_name}`" if error.ctx else name or "this"
    if isinstance(kind, click.Choice):
        return f"{name} takes {_or(kind.choices)}{got}"
    if isinstance(kind, click.IntRange | click.FloatRange) and "range" in error.message:
        low, high = kind.min, kind.max
        span = f"{low:g} to {high:g}" if low is not None and high is not None else f"{low:g} or more"
        return f"{name} must be {span}{got}"
    number = {"integer": "a whole number", "float": "a number"}.get(kind.name.split(" ")[0], "")
    return f"{name} takes {number}{got}" if number else ""


def _metavar(param: click.Parameter) -> str:
    return param.make_metavar(click.Context(click.Command("")))


def _example(name: str) -> str:
    rows = EXAMPLES.get(name, ())
    return f"For example:   rebut {rows[0][0]}\n  " if rows else ""


def _or(choices: Sequence[object]) -> str:
    *first, last = map(str, choices)
    return f"{', '.join(first)} or {last}" if first else last


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")
