"""Reads files of the working tree: only those that may be read, without following links, up to a cap."""

from __future__ import annotations

import io
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from rebut.core.files import real
from rebut.core.frozen import frozen

FILE_CAP = 1_000_000
LINK = "120000"
NEVER_READ = "never read: files of this name may hold secrets"
HIDDEN = "never read: a glob hides it (`never` in the config, or a file that rebut wrote)"

# Examples such as .env.example are on the list too: C16 says `.env*`, and real values do get pasted into them.
NEVER_FOLDERS = (
    *(".env*", ".git", ".ssh", ".gnupg", ".aws", ".kube", ".azure", ".oci", ".gcloud", ".password-store", ".vnc"),
    *("*.agilekeychain", "*.opvault", ".terraform.d", ".snowsql", ".cloudflared"),
)
NEVER_FILES = (
    *("*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.pkcs12", "*.jks", "*.keystore", "*.ppk", "*.kdbx"),
    *("*.gpg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.tfstate*", "*.tfvars*", "*.kubeconfig"),
    *("kubeconfig", ".netrc*", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pgpass", "pgpass.conf"),
    *(".my.cnf", ".htpasswd", ".dockercfg", ".git-credentials", "credentials", "credentials*.json", "secrets.*"),
    *("client_secret*.json", "service-account*.json", "service_account*.json", ".terraformrc", ".vault-token"),
    *("application_default_credentials.json", ".vault_pass*", ".mylogin.cnf", ".s3cfg", ".boto", ".databrickscfg"),
    *(".sentryclirc", ".msmtprc", ".curlrc", "_curlrc", ".wgetrc", ".ftpconfig", "sftp-config.json", "rclone.conf"),
    *(".fetchmailrc", ".renviron", "*.keychain", "*.keychain-db", "*.keytab", "krb5cc_*", "*.ovpn", "*.wallet"),
    *("wallet.dat", "shadow", "gshadow"),
    # Histories of what was typed, passwords included.
    *("*_history", ".*history", "*.history", ".dbshell", ".rhistory", ".viminfo"),
)
NEVER_PATHS = (
    *(".docker/config.json", "docker/config.json", ".m2/settings*.xml", ".cargo/credentials*", ".gem/credentials"),
    *("gh/hosts.yml", "hub/config*", ".composer/auth.json", ".netlify/config.json", ".vercel/auth.json"),
    *("doctl/config.yaml", ".ngrok2/ngrok.yml", "ngrok/ngrok.yml", ".subversion/auth", "fish/fish_history"),
    *(".local/share/keyrings", "op/config"),
)
"""A folder and a file in it, where neither name alone shows that the file holds secrets."""


def is_never_sent(path: str, globs: Sequence[str] = ()) -> bool:
    """Whether a file may never be copied or served, by its name, a folder above it or the user's own globs.

    A user's glob without a slash is matched against every part of the path, one with a slash against the path and each
    folder above it. Letters match in either case and `*` also crosses slashes: to hide too much is the safe mistake.
    """
    return next(sendable([path], globs), None) is None


def why_never(*paths: str) -> str:
    """Why a file is never sent. `paths` are names of the file; `is_never_sent` holds for at least one of them."""
    return NEVER_READ if any(map(is_never_sent, paths)) else HIDDEN


def sendable(paths: Iterable[str], globs: Sequence[str] = ()) -> Iterator[str]:
    """The paths that may be sent. A folder is checked once, however many of the paths are in it."""
    folders, files, whole = _never(tuple(globs))
    hidden: dict[str, bool] = {"": False}
    for path in paths:
        plain = path.casefold().strip("/")
        above, _, name = plain.rpartition("/")
        if above not in hidden:
            parts = above.split("/")
            prefixes = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)] if whole else []
            hidden[above] = any(map(folders.match, parts)) or any(whole.match(one) for one in prefixes if whole)
        if hidden[above] or files.match(name) or folders.match(name) or (whole and whole.match(plain)):
            continue
        if not PAIRS.match(f"{above.rpartition('/')[2]}/{name}"):
            yield path


@lru_cache(maxsize=64)
def _never(globs: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str] | None]:
    plain = [glob.casefold().removeprefix("./").strip("/") for glob in globs]
    parts = [glob for glob in plain if glob and "/" not in glob]
    deep = [glob for glob in plain if "/" in glob]
    paths = [form for glob in deep for form in (glob, glob.removeprefix("**/"), glob.removesuffix("/**"))]
    return _any(NEVER_FOLDERS + tuple(parts)), _any(NEVER_FILES), _any(tuple(paths)) if paths else None


def _any(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{translate(glob)})" for glob in globs))


PAIRS = _any(NEVER_PATHS)


def confine(path: str, root: str) -> str | None:
    """A path relative to `root`; None if it leads out of `root` or is not a path."""
    if not path.strip() or "\0" in path or path.startswith("~"):
        return None
    if path.startswith("/"):
        for top in (root, os.path.realpath(root)):
            if path == top or path.startswith(top.rstrip("/") + "/"):
                path = path[len(top.rstrip("/")) :].lstrip("/") or "."
                break
        else:
            return None
    plain = posixpath.normpath(path)
    return None if plain == ".." or plain.startswith("../") or plain.startswith("/") else plain


def clean_name(name: str) -> str:
    """A file name as text that any encoder accepts: bytes that are not UTF-8 become the replacement character."""
    return os.fsencode(name).decode("utf-8", "replace").replace(os.sep, "/")


def decode(data: bytes) -> tuple[str, str] | None:
    """The text of a file and a note on how it was read; None if it is binary."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), "read as UTF-16"
    if b"\0" in data[:8000]:
        return None
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), "not UTF-8: what could not be read is replaced"


@frozen
class FileBytes:
    """A file, or a symbolic link, whose data is then the path that it leads to."""

    data: bytes
    mode: str
    """As git writes it."""

    @property
    def is_link(self) -> bool:
        return self.mode == LINK


@frozen
class Unread:
    """A file that exists and was not read, and why."""

    why: str
    mode: str = ""


class WorkingTree:
    """Reads files below a folder. No link is followed, not even one among the folders above a file."""

    def __init__(self, top: Path, *, cap: int = FILE_CAP, total: int | None = None) -> None:
        self.top = top.resolve()
        self.cap, self.total = cap, total
        self._read = 0
        self._behind_link: dict[Path, bool] = {}

    def is_behind_link(self, name: str) -> bool:
        """Whether a folder above the file is a link, so that the file at this path is not the one that git has."""
        parent = (self.top / name).parent
        if parent not in self._behind_link:
            self._behind_link[parent] = real(parent) != parent
        return self._behind_link[parent]

    def read(self, name: str) -> FileBytes | Unread | None:
        """What is at a path; None if there is neither a file nor a link, or a folder above it is a link."""
        place = self.top / name
        if self.is_behind_link(name):
            return None
        mode = ""
        try:
            found = place.lstat().st_mode
            if stat.S_ISLNK(found):
                return FileBytes(os.fsencode(place.readlink()), LINK)
            if stat.S_ISDIR(found):  # git writes the name of a nested repository with a slash at its end
                return Unread("a repository of its own") if name.endswith("/") else None
            if not stat.S_ISREG(found):
                return Unread("not a regular file")
            mode = "100755" if found & 0o100 else "100644"
            with _open(place) as file:
                data = file.read(self.cap + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return Unread(f"cannot be read ({error.strerror or error})", mode)
        if len(data) > self.cap:
            return Unread(too_large(self.cap), mode)
        self._read += len(data)
        if self.total is not None and self._read > self.total:
            return Unread(too_much(self.total), mode)
        return FileBytes(data, mode)

    def has_id(self, name: str, oid: str) -> bool:
        """Whether git gives this id to the file as it is, whatever its size."""
        try:
            with _open(self.top / name) as file:
                return blob_id(file, len(oid)) == oid
        except OSError:
            return False


def too_large(cap: int) -> str:
    return f"larger than {cap // 1_000_000} MB"


def too_much(total: int) -> str:
    return f"beyond the {total // 1_000_000} MB that are read in all"


def _open(path: Path) -> BinaryIO:
    """Open a regular file; OSError if it is something else, such as a link or pipe put there since `lstat`."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise OSError("not a regular file")
    return file


def blob_id(file: BinaryIO, length: int) -> str:
    """The id that git gives to the bytes of a file, without any filter. `length` tells SHA-1 (40) from SHA-256."""
    import hashlib

    digest = hashlib.sha1(usedforsecurity=False) if length == 40 else hashlib.sha256()
    digest.update(b"blob %d\0" % file.seek(0, io.SEEK_END))
    file.seek(0)
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()


def link_target(link: str, target: str, top: Path) -> str:
    """Where a link leads, as a path in the workspace; "" if it leads out of it or to its top."""
    place = Path(os.path.normpath((top / link).parent / target))
    return clean_name(str(place.relative_to(top))) if top in place.parents else ""
