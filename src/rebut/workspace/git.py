"""Git, read-only, with every hook, filter and helper disabled that a repository could make it run."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rebut.core import event_loop
from rebut.core.errors import RebutError
from rebut.core.files import absolute_path, find_repository, on_path
from rebut.core.frozen import frozen
from rebut.core.passed_variables import LIBRARIES, SYSTEM, usual

if TYPE_CHECKING:
    import asyncio

TIMEOUT = 60.0
RULES = (".gitignore", ".gitattributes", ".git/info/exclude", ".git/info/attributes")
"""Files that git reads by itself. If one is a named pipe, git waits for ever for a program that writes into it."""
MOST_FOLDERS = 20_000
OUTPUT_CAP = 256_000_000
MOST_FILTERS = 200
LONGEST_ALTERNATES = 64_000
"""The most bytes that `objects/info/alternates`, which names the object stores of other repositories, may have."""

# A plain `git status` or `git diff` starts clean filters, a file-system monitor and more. Reading needs none of them.
OFF = (
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.quotePath=false",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "submodule.recurse=false",
    "protocol.allow=never",
    "log.showSignature=false",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "safe.bareRepository=explicit",
)
NO_VARIABLES: Mapping[str, str] = {}
KEPT_ENV = ("GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "SUDO_UID")
"""The last one tells git, under sudo, that the repository of the user who called sudo may be read."""
SET_ENV = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_PAGER": "cat",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A partial clone fetches a missing object by itself, through whatever command the repository names as its remote.
    # Newer gits obey the first of these two, all gits the second: no protocol at all may be used.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "REBUT_EMPTY": "",
    "REBUT_FALSE": "false",
}


def off(*more: str) -> tuple[str, ...]:
    """The options before each git command: `-c` with each setting in `OFF` and in `more`."""
    return tuple(part for setting in (*OFF, *more) for part in ("-c", setting))


class GitFailed(RebutError):
    """Git could not be started, took too long or failed. `said` is what it wrote to standard error."""

    def __init__(self, message: str, hint: str = "", said: str = "") -> None:
        super().__init__(message, hint)
        self.said = said


def _is_pipe(path: Path) -> bool:
    try:
        return stat.S_ISFIFO(os.lstat(path).st_mode)
    except OSError:
        return False


def _pipe_below(top: Path) -> Path | None:
    """A file with rules for git that is a named pipe, in a folder below `top`; None if there is none."""
    for _, (folder, folders, names) in zip(range(MOST_FOLDERS), os.walk(top), strict=False):
        folders[:] = [name for name in folders if name != ".git"]
        for name in RULES[:2]:
            if name in names and _is_pipe(path := Path(folder, name)):
                return path
    return None


def _waits(pipe: Path) -> GitFailed:
    return GitFailed(f"{pipe} is a named pipe, and git would wait for it for ever", "Remove it, or put a file there.")


@frozen
class TreeEntry:
    """One line of a commit's tree."""

    mode: str
    oid: str

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")

    @property
    def is_link(self) -> bool:
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        return self.mode == "160000"


@frozen
class Changes:
    """How the working tree differs from HEAD. Names are as the file system has them."""

    head: str
    changed: Mapping[str, str]
    """Name → the id that HEAD's blob has, or "" where HEAD has no plain file of that name."""
    untracked: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    """Files and folders (ending in a slash) that git ignores, folders not opened."""


def lock() -> asyncio.Lock:
    import asyncio

    return asyncio.Lock()


@dataclass
class Git:
    """Safe git calls in one working tree. Make it with `Git.open`."""

    top: Path
    exe: str
    options: tuple[str, ...] = field(default=(), repr=False)
    batch: asyncio.subprocess.Process | None = field(default=None, repr=False)
    lock: asyncio.Lock = field(default_factory=lock, repr=False)

    @classmethod
    async def open(cls, folder: Path) -> Git | None:
        """The repository whose working tree contains `folder`; None if there is none, or git refuses to read it."""
        if not await event_loop.in_thread(_is_in_repository, folder):
            return None
        await event_loop.started()
        exe = installed()
        if exe is None:
            return None
        git = cls(folder, exe, off())
        try:
            both = await git.run("rev-parse", "--absolute-git-dir", "--show-toplevel")
            place, _, rest = both.partition(b"\n")
            if rest.count(b"\n") != 1:  # a newline in a name: ask for one at a time
                place = (await git.run("rev-parse", "--absolute-git-dir")).removesuffix(b"\n")
                rest = await git.run("rev-parse", "--show-toplevel")
            git.top = top = Path(os.fsdecode(rest.removesuffix(b"\n")))
            # `core.worktree` lets a repository claim any folder as its working tree, for instance your home.
            # So `top` must lead to the same repository and contain `folder`. If `top` is `folder`, the call
            # above has already shown that it leads there.
            if top != folder and place != (await git.run("rev-parse", "--absolute-git-dir")).removesuffix(b"\n"):
                return None
            if not await event_loop.in_thread(_holds, top, folder):
                return None
        except GitFailed:
            return None
        import asyncio

        # Together: the look into a large git folder takes as long as git takes.
        home = Path(os.fsdecode(place))
        own, filters = await asyncio.gather(event_loop.in_thread(belongs, home, top), git._filters_off())
        try:
            if not own and not await git._is_trusted(top):
                return None
        except GitFailed:
            return None
        git.options += filters
        return git

    async def _is_trusted(self, top: Path) -> bool:
        """Whether the user lists a working tree in `safe.directory` of the user's own git config."""
        said = await self.run("config", "--global", "--null", "--get-all", "safe.directory", codes=(0, 1))
        return os.fsencode(top) in said.split(b"\0")

    async def _filters_off(self) -> tuple[str, ...]:
        names = await self.run("config", "--null", "--name-only", "--get-regexp", r"^filter\.", codes=(0, 1))
        keys = [os.fsdecode(name) for name in names.split(b"\0") if name]
        filters = sorted({key.partition(".")[2].rpartition(".")[0] for key in keys})
        if len(filters) > MOST_FILTERS:
            raise GitFailed(
                f"the repository at {self.top} configures {len(filters)} filters; rebut will not read it",
                "Look into its .git/config, or copy what you want to discuss to another folder.",
            )
        off: list[str] = []
        for name in filters:
            for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")):
                if "=" not in name:
                    off += ["-c", f"filter.{name}.{key}={value}"]
                else:
                    # `-c` splits at the first equals sign, `--config-env` at the last. A git that is too old for
                    # `--config-env` fails with an error.
                    off.append(f"--config-env=filter.{name}.{key}=REBUT_{'FALSE' if value else 'EMPTY'}")
        return tuple(off)

    def _argv(self, *args: str) -> tuple[str, ...]:
        return (self.exe, "--no-pager", *self.options, *args)

    @staticmethod
    def _env() -> dict[str, str]:
        return usual(os.environ, *SYSTEM, *LIBRARIES, *KEPT_ENV) | SET_ENV | {"PATH": absolute_path(os.environ)}

    async def _talk(self, *args: str) -> asyncio.subprocess.Process:
        from rebut.core import process

        try:
            return await process.start_program(self._argv(*args), cwd=self.top, env=self._env())
        except OSError as error:
            raise self._not_started(error) from error

    def _not_started(self, error: OSError) -> GitFailed:
        return GitFailed(f"git could not be started in {self.top}: {error.strerror}")

    async def run(
        self,
        *args: str,
        codes: tuple[int, ...] = (0,),
        cap: int = OUTPUT_CAP,
        feed: bytes = b"",
        more: Mapping[str, str] = NO_VARIABLES,
    ) -> bytes:
        """What one git command prints; `feed` goes to its standard input, `more` to its environment.

        GitFailed if it takes longer than a minute, prints more than `cap` or ends with a code not in `codes`.
        """
        from rebut.core import process
        from rebut.workspace.git_queue import git_queue

        argv, env = self._argv(*args), {**self._env(), **more}
        if pipe := next(filter(_is_pipe, (self.top / name for name in RULES)), None):
            raise _waits(pipe)
        try:
            ended = await git_queue().run(
                (self.top, argv, feed, cap, frozenset(env.items())),
                lambda: process.run_program(argv, cwd=self.top, env=env, feed=feed, seconds=TIMEOUT, cap=cap),
            )
        except OSError as error:
            raise self._not_started(error) from error
        if ended.cut == "time":
            if pipe := await event_loop.in_thread(_pipe_below, self.top):
                raise _waits(pipe)
            raise GitFailed(f"git {args[0]} took longer than {TIMEOUT:.0f} s in {self.top}")
        if ended.cut == "size":
            raise GitFailed(f"git {args[0]} prints more than {cap:,} bytes in {self.top}")
        if ended.code not in codes:
            said = ended.err.strip()
            first = said.splitlines()[0] if said else f"code {ended.code}"
            raise GitFailed(f"git {args[0]} failed in {self.top}: {first}", said=said)
        return ended.data

    async def staged_tree(self) -> str:
        """The tree that `git commit` would commit now. In a hook, GIT_INDEX_FILE may name another index."""
        index = os.environ.get("GIT_INDEX_FILE", "")
        more = {"GIT_INDEX_FILE": str(Path(self.top, index))} if index else NO_VARIABLES
        return (await self.run("write-tree", more=more)).decode().strip()

    async def names(self, *args: str) -> tuple[str, ...]:
        """The names that `ls-files` prints with these options."""
        return tuple(os.fsdecode(name) for name in (await self.run("ls-files", "-z", *args)).split(b"\0") if name)

    async def changes(self) -> Changes:
        """HEAD and the files that differ from it, judged by index and file times, so that no filter runs."""
        head = (await self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", codes=(0, 1))).decode().strip()
        changed: dict[str, str] = {}
        if head:
            flags = ("--raw", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all")
            for command in (("diff-index", "--cached", *flags, head), ("diff-files", *flags)):
                fields = (await self.run(*command)).split(b"\0")
                for about, name in zip(fields[::2], fields[1::2], strict=False):
                    mode, _, oid = about.decode().lstrip(":").split(" ")[:3]
                    # `diff-index` compares HEAD with the index. A name that only `diff-files` prints is the same in
                    # both, so that its id in the index is also HEAD's.
                    changed.setdefault(os.fsdecode(name), oid if mode.startswith("100") else "")
        else:
            changed = dict.fromkeys(await self.names("--cached"), "")
        untracked = await self.names("--others", "--exclude-standard")
        ignored = await self.names("--others", "--ignored", "--exclude-standard", "--directory")
        return Changes(head, changed, untracked, ignored)

    async def tree(self, commit: str) -> dict[str, TreeEntry]:
        """Every file, link and submodule of a commit."""
        entries: dict[str, TreeEntry] = {}
        for line in (await self.run("ls-tree", "-r", "-z", "--full-tree", commit)).split(b"\0"):
            if line:
                about, _, name = line.partition(b"\t")
                mode, _, oid = about.decode().split(" ")
                entries[name.decode("utf-8", "replace")] = TreeEntry(mode, oid)
        return entries

    async def is_shallow(self) -> bool:
        return (await self.run("rev-parse", "--is-shallow-repository")).strip() == b"true"

    async def object(self, name: str, cap: int) -> bytes | int | None:
        """An object's bytes by id; only its size if that is above `cap`; None if there is no such object.

        One `cat-file --batch` process answers all calls. A call that is cancelled half-way ends the process:
        otherwise the next caller would read the rest of its answer.
        """
        import asyncio

        async with self.lock:
            if self.batch is None:
                self.batch = await self._talk("cat-file", "--batch")
            whole = False
            try:
                async with asyncio.timeout(TIMEOUT):
                    answer = await self._ask(self.batch, name, cap)
                whole = True
                return answer
            except (asyncio.IncompleteReadError, ConnectionError, TimeoutError) as error:
                raise GitFailed(f"git cat-file gave no answer in {self.top}") from error
            finally:
                if not whole:
                    await self.close()

    @staticmethod
    async def _ask(batch: asyncio.subprocess.Process, name: str, cap: int) -> bytes | int | None:
        assert batch.stdin is not None and batch.stdout is not None
        batch.stdin.write(name.encode("utf-8", "replace") + b"\n")
        await batch.stdin.drain()
        return await Git._next(batch.stdout, cap)

    @staticmethod
    async def _next(answers: asyncio.StreamReader, cap: int) -> bytes | int | None:
        header = (await answers.readuntil(b"\n")).decode("utf-8", "replace").split()
        if not (len(header) == 3 and header[2].isdigit()):
            return None
        size = int(header[2])
        if size <= cap:
            return (await answers.readexactly(size + 1))[:-1]
        left = size + 1
        while left:
            left -= len(await answers.readexactly(min(left, 1 << 16)))
        return size

    async def objects(self, ids: Sequence[str], cap: int, total: int) -> dict[str, bytes | int]:
        """Many objects by id, read in one process; only the size of an object above `cap` or beyond `total` in all.

        Objects that are missing, as in a partial clone, are not in the result.
        """
        import asyncio

        from rebut.core import process

        found: dict[str, bytes | int] = {}
        if not ids:
            return found
        batch = await self._talk("cat-file", "--batch", "--buffer")
        assert batch.stdin is not None and batch.stdout is not None
        batch.stdin.write("".join(f"{oid}\n" for oid in ids).encode())
        try:
            async with asyncio.timeout(TIMEOUT):
                batch.stdin.close()
                for oid in ids:
                    answer = await self._next(batch.stdout, min(cap, total))
                    if answer is not None:
                        found[oid] = answer
                        total -= len(answer) if isinstance(answer, bytes) else 0
                await batch.wait()  # it ends by itself, since its input is closed
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError) as error:
            raise GitFailed(f"git cat-file gave no answer in {self.top}") from error
        finally:
            await process.stop(batch)
        return found

    async def commit(self, ref: str) -> str:
        """The id of the commit that `ref` names, "" if there is none. Git would take a leading dash as an option."""
        if ref.startswith("-"):
            return ""
        said = await self.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", codes=(0, 1, 128))
        return said.decode("utf-8", "replace").strip()

    async def parents(self, commit: str) -> tuple[str, ...]:
        """The parents that a commit names. In a shallow clone it names them too, although they are not there."""
        body = await self.object(commit, OUTPUT_CAP)
        lines = body.split(b"\n\n")[0].split(b"\n") if isinstance(body, bytes) else []
        return tuple(line[7:].decode() for line in lines if line.startswith(b"parent "))

    async def merge_base(self, one: str, other: str) -> str:
        """The merge base of two commits, "" if there is none."""
        said = await self.run("merge-base", one, other, codes=(0, 1))
        return said.decode().strip()

    async def close(self) -> None:
        """End the `cat-file` process, if one runs."""
        batch, self.batch = self.batch, None
        if batch is not None:
            from rebut.core import process

            await process.stop(batch)


async def refusal(folder: Path) -> tuple[str, str]:
    """Why git does not read the repository that contains a folder, and what to do; empty without a repository."""
    exe = installed()
    if exe is None:
        return "git is not installed", "Install git, or name a file with --scope file:PATH."
    found = find_repository(folder)
    if found is None:
        return "", ""
    trust = f"If you trust it: git config --global --add safe.directory {shlex.quote(str(found))}"
    try:
        await Git(folder, exe, off()).run("rev-parse", "--show-toplevel")
    except GitFailed as error:
        owned = "dubious ownership" in error.said
        said = error.said.splitlines()[0].removeprefix("fatal: ") if error.said else error.message
        return f"git does not read {found}: {said}", trust if owned else f"Look at {found / '.git'}."
    place = os.fsdecode((await Git(folder, exe, off()).run("rev-parse", "--absolute-git-dir")).strip())
    if not _is_git_folder_of(Path(place), found):
        return f"{found / '.git'} leads to {place}, which does not name {found} as its working tree", trust
    if outside := _leads_outside(Path(place), found):
        return f"{outside} leads to another repository, outside {found}", trust
    return f"{found / '.git'} calls another folder its working tree", "Look at core.worktree in its config."


def installed() -> str | None:
    """The path of git; None if it is not installed. A `git` in the current folder is ignored."""
    found = on_path("git", os.environ)
    return str(found) if found else None


def belongs(home: Path, top: Path) -> bool:
    """Whether a git folder belongs to the working tree `top`, and reads no other repository.

    It belongs to `top` if it is inside, or if it names `top` as its working tree, as that of a worktree or submodule
    does. Otherwise `.git` may be a file or link to any repository of the user: none of its files are in `top`, so all
    of them would be shown to the models as deleted. The same would happen if the git folder took its branches or
    objects from another repository.
    """
    return _is_git_folder_of(home, top) and _leads_outside(home, top) is None


def _is_git_folder_of(home: Path, top: Path) -> bool:
    """Whether a git folder is inside the working tree `top`, or names `top` as its working tree."""
    home, top = home.resolve(), top.resolve()
    if home.is_relative_to(top):
        return True
    try:
        if (named := home / "gitdir").is_file():
            return _real(Path(home, named.read_text("utf-8", "replace").strip())) == top / ".git"
        config = (home / "config").read_text("utf-8", "replace")
    except OSError:
        return False
    tree = re.search(r"^\s*worktree\s*=\s*(.+?)\s*$", config, re.M)
    return tree is not None and _real(Path(home, tree[1].strip('"'))) == top


def _real(path: Path) -> Path | None:
    """The resolved path; None if its links form a circle, or if it cannot be the name of a file."""
    try:
        return path.resolve()
    except (RuntimeError, ValueError, OSError):  # RuntimeError: Python up to 3.12, for links in a circle
        return None


def _leads_outside(home: Path, top: Path) -> Path | None:
    """The file or link through which git would read another repository; None if there is none.

    If the git folder is in `top`, another repository is one outside `top`. Otherwise it is one outside the git folder
    or, if that belongs to a worktree, outside the main git folder.
    """
    home, top = home.resolve(), top.resolve()
    if not home.is_relative_to(top):
        top = home.parents[1] if home.parent.name == "worktrees" else home
    places, common = [home], home / "commondir"
    try:
        if common.is_file():
            shared = _real(Path(home, common.read_text("utf-8", "replace").strip()))
            if shared is None:
                return common
            places.append(shared)
    except OSError:
        return common
    if not places[-1].is_relative_to(top):
        return common
    for place in places:
        names = ("HEAD", "config", "packed-refs", "index", "objects", "refs", "reftable")
        links = [inside for name in names if (inside := place / name).is_symlink()]
        links += [link for name in ("refs", "objects", "reftable") for link in _links_in(place / name)]
        if link := next((link for link in links if not (_real(link) or top).is_relative_to(top)), None):
            return link
        if borrowed := _borrows_from_outside(place / "objects", top):
            return borrowed
    return None


def _links_in(folder: Path) -> Iterator[Path]:
    """The links in a folder and in all folders below it."""
    folders = [str(folder)]
    for place in folders:
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield Path(entry.path)
                elif entry.is_dir():
                    folders.append(entry.path)


def _borrows_from_outside(objects: Path, top: Path) -> Path | None:
    """The file `info/alternates` through which git would read objects outside `top`; None if there is none.

    An object store inside `top` may name further stores, which are checked too. A file far longer than git writes it
    counts as leading outside: to check each of its lines would take minutes.
    """
    stores = [objects.resolve()]
    for store in stores:
        named = store / "info/alternates"
        try:
            if not named.is_file():
                continue
            if named.stat().st_size > LONGEST_ALTERNATES:
                return named
            lines = named.read_text("utf-8", "replace").splitlines()
        except OSError:
            return named
        for line in lines:
            # A name in quotes has escapes as in C. Git itself writes none here, so it is refused without decoding it.
            place = _real(Path(store, line))
            if line.startswith('"') or place is None or not place.is_relative_to(top):
                return named
            if line and not line.startswith("#") and place not in stores:
                stores.append(place)
    return None


def _is_in_repository(folder: Path) -> bool:
    return find_repository(folder.resolve()) is not None


def _holds(top: Path, folder: Path) -> bool:
    return (top / ".git").exists() and folder.resolve().is_relative_to(top.resolve())
