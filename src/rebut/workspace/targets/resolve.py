"""From the user's input to a target: which source counts, what kind it is, and how certain that is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from rebut.core.errors import NothingRead, UsageError
from rebut.core.files import repository
from rebut.core.frozen import frozen
from rebut.core.text import plural
from rebut.core.types import Changed
from rebut.workspace.context import printable_name
from rebut.workspace.diff import BothTexts, added, all_new, find_sections, section
from rebut.workspace.file_reader import clean_name, is_never_sent, why_never
from rebut.workspace.git import Git, refusal
from rebut.workspace.snapshot import Redact
from rebut.workspace.targets import text as messages
from rebut.workspace.targets.git_change import draw
from rebut.workspace.targets.pasted_diff import rebuild
from rebut.workspace.targets.scope import FORMS, Scope, compared
from rebut.workspace.targets.target import KINDS, Kind, Target, Wanted
from rebut.workspace.targets.text import Block, Guess, Message, detect, prose_of, rejoined, snippets, split_mixed
from rebut.workspace.targets.unread import unread_files

DIFFS = (".diff", ".patch")
GIVE = "Give a text as an argument, --artifact-file, standard input, --context-file or --from-transcript"


async def resolve(root: Path, wanted: Wanted, redact: Redact, never: Sequence[str] = ()) -> Target:
    """Read what is to be debated, once. Everything in the target has passed `redact`.

    A target of low confidence is a guess: ask `question`, then resolve again with the answer as `wanted.target`.
    """
    if wanted.target not in ("auto", *KINDS):
        raise UsageError(f"there is no target {wanted.target!r}", f"Targets are auto, {', '.join(KINDS)}.")
    if wanted.scope and wanted.target == "proposal":
        raise UsageError(
            f"--scope {wanted.scope} selects code, and --target is proposal", "Leave out one, or say --target mixed."
        )
    scope = Scope.parse(wanted.scope) if wanted.scope else None
    # A hook feeds its own lines to standard input: with a scope they are not the text to debate.
    given = replace(wanted, stdin="") if scope and wanted.target != "mixed" else wanted
    message = await asyncio.to_thread(messages.find_text, root, given, never)
    raw = message.text if message else ""
    if message is not None:
        message = replace(message, text=redact(raw))
    if scope is not None:
        return await _scoped(root, scope, wanted, message, redact, never)
    if message is None:
        return await _found(root, wanted, redact, never)
    target = _written(message, wanted)
    if target.given:
        target = replace(target, file=await asyncio.to_thread(_inside, root, message.name))
    if target.kind == "code" and any(c.path.endswith(DIFFS) for c in target.changes):
        target = await _placed(root, target, raw, redact, never)
    if target.kind == "mixed" and not target.changes:
        code = await _change(root, Scope("uncommitted"), redact, never, wanted.instead)
        notes = (*target.notes, "the text contains no code, so the uncommitted changes were used")
        return replace(code, kind="mixed", confidence="high", why=target.why, text=target.text, notes=notes)
    return target


async def _scoped(
    root: Path, scope: Scope, wanted: Wanted, message: Message | None, redact: Redact, never: Sequence[str]
) -> Target:
    target = await _change(root, scope, redact, never, wanted.instead)
    target = replace(target, scope=wanted.scope.strip())
    if wanted.target == "mixed":
        file = await asyncio.to_thread(_inside, root, message.name) if message else ""
        return _both(target, scope, message, file)
    if message is None:
        return target
    if wanted.target == "code":
        return replace(target, notes=(*target.notes, f"{message.origin} is not used: --target is code"))
    why = f"--scope {wanted.scope} selects code, and {message.origin} gives a text"
    return replace(target, confidence="low", why=why)


def _both(target: Target, scope: Scope, message: Message | None, file: str) -> Target:
    """A change and a text; `file` is the one in the workspace that the text was read from."""
    target = replace(target, kind="mixed", why="--target mixed")
    if message is None and scope.kind == "file":
        given, path = target.changes[0].after or "", target.changes[0].path
        blocks, rest = split_mixed(given)
        return replace(_coded(target, blocks), text=rest, given=given, file=path)
    if message is None:
        raise UsageError("--target mixed needs a text besides the scope", f"{GIVE}.")
    blocks, rest = split_mixed(message.text)
    extra = _coded(Target("mixed", "high", ""), blocks)
    return replace(
        target,
        text=rest,
        given=message.text if blocks else "",
        file=file if blocks and file not in {change.path for change in target.changes} else "",
        diff=target.diff + extra.diff,
        changes=target.changes + extra.changes,
        notes=(*target.notes, *_unused(message)),
    )


async def _found(root: Path, wanted: Wanted, redact: Redact, never: Sequence[str]) -> Target:
    """The target if nothing was given: the changes in the working tree."""
    if wanted.target in ("proposal", "mixed"):
        raise UsageError(f"--target {wanted.target} needs a text, and none was given", f"{wanted.instead or GIVE}.")
    target = await _change(root, Scope("uncommitted"), redact, never, wanted.instead)
    if wanted.target == "code":
        return replace(target, why="--target code, and no text was given")
    why = "nothing was given, and the working tree has changes"
    return replace(target, confidence="medium", why=why)


def _written(message: Message, wanted: Wanted) -> Target:
    text = message.text
    if wanted.target == "auto":
        guess = detect(text, message.name)
    else:
        kind: Kind = next(kind for kind in KINDS if kind == wanted.target)
        guess = Guess(kind, "high", "asked for")
    why = guess.why if wanted.target != "auto" else f"{message.origin}: {guess.why}"
    target = Target(
        guess.kind, guess.confidence, why, notes=_unused(message), origin=_origin(message), wrote=message.wrote
    )
    if guess.kind == "proposal":
        return replace(target, text=text)
    target = replace(target, given=text)
    blocks, rest = split_mixed(text)
    name = PurePath(message.name).name
    if guess.kind == "code" and (not blocks or _is_code_file(name)):
        return _coded(target, [Block(name or "snippet-1.txt", text)])
    target = _coded(target, blocks)
    if guess.kind == "mixed":
        return replace(target, text=rest)
    left = prose_of(blocks, rest)
    note = f"{len(left):,} characters of words around the code are not part of the target; --target mixed takes them in"
    return replace(target, notes=(*target.notes, note)) if left else target


def _origin(message: Message) -> str:
    what = "a diff" if any(block.is_diff for block in split_mixed(message.text)[0]) else "code"
    where = message.name or message.origin
    return f"{what} {'on' if where == 'standard input' else 'in'} {where}"


def _inside(root: Path, name: str) -> str:
    """The path of a file below the top of the workspace; empty for a file elsewhere, and for no file."""
    top, place = repository(root.resolve()), messages.confined(root, name) if name else None
    return clean_name(place.relative_to(top).as_posix()) if place and place.is_relative_to(top) else ""


def whole(target: Target, files: Mapping[str, str | None], prose: str) -> str:
    """The text that was given, with `files` in place of its code and `prose` around it; empty if no text was given.

    Also empty if its code was only diffs and these were rebuilt from files here: then those files are reviewed.
    """
    code = {change.path: change.after for change in target.changes}
    if not target.given or not code:
        return ""
    if list(code.values()) == [target.given]:  # all of it is code
        return files.get(target.changes[0].path, target.given) or ""
    blocks = split_mixed(target.given)[0]
    rebuilt = [block for block in blocks if code.get(block.name) != block.text]
    if len(rebuilt) == len(blocks) or not all(block.is_diff for block in rebuilt):
        return ""
    now = {block.name: files.get(block.name, block.text) or "" for block in blocks}
    now |= {block.name: _redrawn(block.text, target.changes, files) for block in rebuilt}
    return rejoined(target.given, now, prose if target.text and prose != target.text else None)


def _redrawn(diff: str, changes: Sequence[Changed], files: Mapping[str, str | None]) -> str:
    """A diff within a text, with the sections of changed files drawn again; the others stay as they were written."""
    for one in find_sections(diff):
        change = next((c for c in changes if f"/{c.path}".endswith(f"/{one.name}")), None)
        now = files.get(change.path, change.after) if change else None
        if change and now != change.after:
            sides = BothTexts(change.before, now)
            spans = sides.differences()
            drawn = section(change.path, change.before, now, spans, old_path=change.old_path, sides=sides)
            diff = diff.replace(one.text, drawn)
    return diff


def _is_code_file(name: str) -> bool:
    return bool(name) and detect("", name).confidence == "high"


def _unused(message: Message) -> tuple[str, ...]:
    return tuple(f"{origin} is not used, since {message.origin} comes first" for origin in message.unused)


def _coded(target: Target, blocks: Sequence[Block]) -> Target:
    """The target with these blocks as its code. A diff is in `diff` as it was written, other code as new files."""
    diff = "".join(
        block.text if block.is_diff else section(block.name, None, block.text, all_new(block.text)) for block in blocks
    )
    return replace(target, diff=diff, changes=snippets(blocks))


async def _placed(root: Path, target: Target, raw: str, redact: Redact, never: Sequence[str]) -> Target:
    """The target with its diff matched to the files here: only files that match can be read in full."""
    done = await rebuild(root, raw, redact, never)
    if not (done.changes or done.loose or done.left_out):
        return target
    if not (done.changes or done.loose):
        raise UsageError(f"there is nothing to read in {target.origin}", f"Left out: {'; '.join(done.left_out[:5])}")
    kept = [c for c in target.changes if not c.path.endswith(DIFFS)]
    notes = list(target.notes)
    loose: tuple[Changed, ...] = ()
    if done.loose:
        name = next(c.path for c in target.changes if c.path.endswith(DIFFS))
        loose = snippets([Block(name, done.loose)])
        more = f" and {len(done.strays) - 5} more" if len(done.strays) > 5 else ""
        paths = plural(len(done.strays), "this path", "these paths")
        notes.append(
            f"for {paths} the diff matches no file here, neither before nor after its change: "
            f"{', '.join(done.strays[:5])}{more}"
        )
    written = "".join(section(c.path, None, c.after, all_new(c.after or "")) for c in kept)
    return replace(
        target,
        diff=written + done.diff + done.loose,
        changes=(*kept, *done.changes, *loose),
        left_out=(*target.left_out, *done.left_out),
        notes=tuple(notes),
        loose=done.strays,
    )


def _nothing_read(left_out: Sequence[str], base: str) -> NothingRead | None:
    """Why nothing of a change was read; None if no more than rebut's own files and removed submodules were left out.

    Pictures, fonts, sound and film need no review, so the exit code is 0; for other unread files it is not.
    """
    unread = unread_files(left_out)
    if unread.doubtful:
        # Pictures, rebut's own files and the like may be in the change as well.
        others = len(left_out) > len(unread.doubtful)
        needs = plural(len(unread.doubtful), " that needs", " that need") + " a review" if others else ""
        none = f"none of the {len(unread.doubtful)} files of the change{needs} was read"
        hint = f"Not read: {'; '.join(unread.doubtful[:5])}{' …' if len(unread.doubtful) > 5 else ''}"
        one = f"the only file of the change{needs} was not read"
        said = f"nothing was reviewed: {plural(len(unread.doubtful), one, none)}"
        return NothingRead(said, hint, unread=left_out, base=base)
    if unread.media:
        what = "there is nothing to review: the change is pictures, fonts, sound or film"
        return NothingRead(what, f"Not read: {'; '.join(unread.media[:5])}", exit_code=0)
    return None


async def _change(root: Path, scope: Scope, redact: Redact, never: Sequence[str], instead: str = "") -> Target:
    if scope.kind == "file":
        return await asyncio.to_thread(_file, root, scope.first, redact, never)
    name = {"uncommitted": "change", "staged": "staged change", "base": "branch"}.get(
        scope.kind, scope.kind
    ) + f" {scope.first}".rstrip()
    git = await Git.open(root)
    if git is None:
        why, hint = await refusal(root)
        if why:
            raise UsageError(f"{why}; so there is no {name} to look at", hint)
        raise UsageError(
            f"{root} is not a git repository: there is no {name} to look at",
            f"{instead or f'{GIVE}, or name a file with --scope file:PATH'}.",
        )
    try:
        both = await compared(git, scope)
        drawn = await draw(git, both.base, both.new, redact, never)
    finally:
        await git.close()
    if not drawn.changes and (nothing := _nothing_read(drawn.left_out, both.base)):
        raise nothing
    if not drawn.diff and scope.kind == "staged":
        nothing_staged = UsageError("nothing is staged, so there is nothing to review", "Stage it with `git add`.")
        nothing_staged.exit_code = 0  # a hook that runs without a change has nothing to refuse
        raise nothing_staged
    if not drawn.diff:
        hint = f"{instead}." if instead else f"{GIVE}, or another scope. {FORMS}"
        hint = f"Left out: {drawn.left_out[0]}. {hint}" if drawn.left_out else hint
        also = "".join(f"{note[0].upper()}{note[1:]}. " for note in both.notes) if scope.kind == "uncommitted" else ""
        raise UsageError(f"there is no change in {both.looked_at}", also + hint)
    return Target(
        "code",
        "high",
        f"the scope is {both.looked_at}",
        scope=scope.kind,
        diff=drawn.diff,
        changes=drawn.changes,
        base=both.base,
        new=both.new,
        left_out=tuple(drawn.left_out),
        notes=(*both.notes, *drawn.notes),
    )


def _file(root: Path, path: str, redact: Redact, never: Sequence[str]) -> Target:
    """One file as it is, even if git ignores it, since the user named it. A name that is never sent is refused."""
    top = repository(root.resolve())
    place = root.resolve() / path
    real = messages.confined(root, path)
    if place.is_symlink():
        raise UsageError(f"{path} is a symbolic link, which is not followed", "Name the file it leads to.")
    if not real.is_relative_to(top):
        raise UsageError(f"{path} is outside the workspace {top}", "Start rebut in the folder of that file.")
    name = clean_name(str(real.relative_to(top)))
    if is_never_sent(name, never):
        raise UsageError(f"{path} is left out, {why_never(name)}", "Put what should be debated into another file.")
    text, note = messages.read_text(real, path)
    text = redact(text)
    if not text.strip():
        raise UsageError(f"{path} is empty", "Name a file with content.")
    spans = all_new(text)
    notes = (f"{printable_name(name)}: {note}",) if note else ()
    change = Changed(name, None, text, added(spans))
    diff = section(name, None, text, spans)
    return Target("code", "high", f"the scope is {name}", f"file:{path}", "", diff, (change,), notes=notes)


# The question to ask when the kind of a target is not clear.

MEANING: dict[Kind, str] = {
    "code": "a change or a piece of code, to be searched for defects",
    "proposal": "a design or a decision, to be weighed against others",
    "mixed": "both: the code and the text are criticised in parallel",
}


@frozen
class TargetQuestion:
    """What to ask, the answers with their meaning, and the answer that an empty line gives."""

    text: str
    choices: tuple[tuple[Kind, str], ...]
    default: Kind


def question(target: Target) -> TargetQuestion | None:
    """What to ask before this target is debated; None if it is clear enough. Resolve again with the answer."""
    if target.confidence != "low":
        return None
    choices = tuple((kind, MEANING[kind]) for kind in KINDS if kind != "proposal" or not target.scope)
    return TargetQuestion(
        f"What should be debated? It was taken for {target.kind}: {target.why}.", choices, target.kind
    )


def unanswerable(target: Target) -> UsageError:
    """The error if there is no terminal at which to ask the question."""
    kinds = [kind for kind in KINDS if kind != "proposal" or not target.scope]
    return UsageError(
        f"it is not clear whether the target is {', '.join(kinds[:-1])} or {kinds[-1]}: {target.why}",
        f"Nothing was called. Say which with {' or '.join(f'--target {kind}' for kind in kinds)}.",
    )
