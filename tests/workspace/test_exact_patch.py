"""final.patch fits the bytes that are there: `git apply` by hand and --apply leave the very same tree behind them."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import crosses
import pytest
from repositories import commit, git

import rebut
from rebut.api import Setup
from rebut.cli.gate_flags import Gating
from rebut.core.json_value import Json
from rebut.engine.debate import Debate
from rebut.protocols import cross
from rebut.protocols.cross import versions
from rebut.record import sessions
from rebut.workspace import diff
from rebut.workspace.targets.target import Wanted

AFTER, MENDED = crosses.AFTER.encode(), crosses.MENDED.encode()
ORDERS = "api/orders.py"
BOM = b"\xef\xbb\xbf"
Tree = dict[str, tuple[str, bytes]]


def crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def tree(folder: Path) -> Tree:
    """Every file outside of git's own folder: what it is, and its bytes."""
    out: Tree = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] == ".git" or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink():
            out[name] = "link", os.fsencode(path.readlink())
        else:
            out[name] = "runs" if path.stat().st_mode & 0o100 else "file", path.read_bytes()
    return out


def both(shop: Path, patch: str = crosses.PATCH, scope: str = "uncommitted") -> tuple[Tree, str]:
    """Review, apply in one tree, apply by hand in a copy of it that was made before; they must be the same."""
    copy = shop.parent / "copy"
    shutil.copytree(shop, copy, symlinks=True)
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("B"),
        "r1/version.code@critic": crosses.patch(patch),
    }
    named = Gating(also=diff.touched(patch))  # the patches here also change files that were not reviewed
    outcome = crosses.review(shop, said, Wanted(scope=scope))
    outcome = asyncio.run(named.patched(Setup(workspace=shop), outcome))
    assert not named.refused and outcome.notes[-1].startswith("applied"), outcome.notes
    [final] = (shop / ".git/review-loop").glob("*/final.patch")
    by_hand = subprocess.run(["git", "apply", str(final)], cwd=copy, capture_output=True, text=True, check=False)
    assert by_hand.returncode == 0, by_hand.stderr + final.read_bytes().decode("utf-8", "replace")
    assert tree(copy) == tree(shop)
    return tree(shop), final.read_bytes().decode("utf-8", "surrogateescape")


def write(shop: Path, data: bytes) -> None:
    (shop / ORDERS).write_bytes(data)


LATIN = b"# gr\xfc\xdfe\n"
MIXED = b"import os\r\n\n\r\ndef pay(order):\n    commit(order)\r\n    charge(order)\n    return None\r\n"
MIXED_MENDED = b"import os\r\n\n\r\ndef pay(order):\n    charge(order)\n    commit(order)\n    return None\r\n"


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        pytest.param(AFTER, MENDED, id="plain"),
        pytest.param(crlf(AFTER), crlf(MENDED), id="crlf"),
        pytest.param(MIXED, MIXED_MENDED, id="mixed"),
        pytest.param(BOM + AFTER, BOM + MENDED, id="byte order mark"),
        pytest.param(BOM + crlf(AFTER), BOM + crlf(MENDED), id="byte order mark and crlf"),
        pytest.param(AFTER + b"\n" * 9 + LATIN, MENDED + b"\n" * 9 + LATIN, id="latin outside of the hunk"),
        pytest.param(
            AFTER.replace(b"\n\n\n", b"\n\x0c\n\n"), MENDED.replace(b"\n\n\n", b"\n\x0c\n\n"), id="control characters"
        ),
        pytest.param(AFTER + b"x = 1\ry = 2\r", MENDED + b"x = 1\ry = 2\r", id="lone carriage returns"),
    ],
)
def test_the_bytes_of_a_file_are_those_of_the_patch(shop: Path, before: bytes, wanted: bytes) -> None:  # J10
    write(shop, before)
    made, _ = both(shop)
    assert made[ORDERS] == ("file", wanted)


@pytest.mark.parametrize("change", [bytes, crlf], ids=["lf", "crlf"])
def test_a_last_line_without_an_end_gets_none_or_the_one_of_the_others(
    shop: Path, change: Callable[[bytes], bytes]
) -> None:  # J10
    write(shop, change(AFTER.removesuffix(b"\n") + b"\n" * 9 + b"end = 1"))
    made, _ = both(shop)
    assert made[ORDERS] == ("file", change(MENDED + b"\n" * 8 + b"end = 1"))
    write(shop, change(AFTER.removesuffix(b"\n")))
    shutil.rmtree(shop / ".git/review-loop")
    shutil.rmtree(shop.parent / "copy")
    made, final = both(
        shop, f"{crosses.PATCH.removesuffix('     return None' + chr(10))}-    return None\n{NO_NEWLINE}+    return 1\n"
    )
    assert NO_NEWLINE in final and made[ORDERS] == ("file", change(MENDED.replace(b"None", b"1")))


def test_bytes_that_are_no_utf8_stand_in_the_patch_as_they_are(shop: Path) -> None:  # J10
    write(shop, AFTER.replace(b"\n\n\n", b"\n\n" + LATIN))
    patch = crosses.PATCH.replace("@@\n \n \n", "@@\n \n # gr\ufffd\ufffde\n")
    made, final = both(shop, patch)
    assert made[ORDERS] == ("file", MENDED.replace(b"\n\n\n", b"\n\n" + LATIN))
    assert LATIN.decode("utf-8", "surrogateescape") in final


TOP = "--- a/api/orders.py\n+++ b/api/orders.py\n@@ -1,3 +1,{} @@\n{} \n \n"


@pytest.mark.parametrize(
    ("hunk", "wanted"),
    [
        (TOP.format(3, "-import os\n+import sys\n"), AFTER.replace(b"os", b"sys", 1)),
        (TOP.format(4, "+import sys\n import os\n"), b"import sys\n" + AFTER),
        (TOP.format(2, "-import os\n"), AFTER.removeprefix(b"import os\n")),
    ],
)
def test_a_byte_order_mark_stays_at_the_top_whatever_the_patch_puts_there(
    shop: Path, hunk: str, wanted: bytes
) -> None:  # J10
    write(shop, BOM + crlf(AFTER))
    made, _ = both(shop, hunk)
    assert made[ORDERS] == ("file", BOM + crlf(wanted))


@pytest.mark.parametrize("data", [AFTER, crlf(AFTER), MIXED], ids=["lf", "crlf", "mixed"])
@pytest.mark.parametrize(
    ("setting", "attributes"),
    [
        ("core.autocrlf=true", ""),
        ("core.autocrlf=input", ""),
        ("core.eol=crlf", "* text=auto\n"),
        ("core.autocrlf=true", "* text=auto eol=lf\n"),
        ("core.autocrlf=false", "*.py text eol=crlf\n"),
        ("core.autocrlf=false", "*.py -text\n"),
    ],
)
def test_what_git_converts_by_hand_it_converts_for_apply(
    shop: Path, setting: str, attributes: str, data: bytes
) -> None:  # J10
    git(shop, "config", *setting.split("="))
    if attributes:
        write(shop, crosses.BEFORE.encode())
        (shop / ".gitattributes").write_text(attributes)
        commit(shop)
    write(shop, data)
    new = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+a = 1\n+b = 2\n"
    made, _ = both(shop, crosses.PATCH + new)
    assert made[ORDERS][1].replace(b"\r", b"") == MENDED
    assert made["new.py"][1].replace(b"\r", b"") == b"a = 1\nb = 2\n"


def test_a_committed_change_is_patched_in_the_tree_that_git_checked_out(shop: Path) -> None:  # J2, J10
    git(shop, "config", "core.autocrlf", "true")
    write(shop, crlf(AFTER))
    sha = commit(shop, "two")
    assert git(shop, "status", "--porcelain") == "" and "\r" not in git(shop, "show", f"HEAD:{ORDERS}")
    made, _ = both(shop, crosses.PATCH, f"commit:{sha}")
    assert made[ORDERS] == ("file", crlf(MENDED))


def test_a_patch_is_drawn_on_the_commit_where_the_tree_has_moved_on(shop: Path) -> None:  # J10
    write(shop, crlf(AFTER))
    sha = commit(shop, "two")
    write(shop, b"something else\n")
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("B"),
        "r1/version.code@critic": crosses.patch(),
    }
    crosses.review(shop, said, Wanted(scope=f"commit:{sha}"))
    git(shop, "checkout", "-q", ORDERS)
    [final] = (shop / ".git/review-loop").glob("*/final.patch")
    git(shop, "apply", str(final))
    assert (shop / ORDERS).read_bytes() == crlf(MENDED)


# what is no line of a file


def section(head: str, body: str = "") -> str:
    return f"{crosses.PATCH}diff --git {head}\n{body}"


def plus(shop: Path, name: str, data: bytes = b"x = 1\n", mode: int = 0o644) -> None:
    (shop / name).write_bytes(data)
    (shop / name).chmod(mode)


NO_NEWLINE = "\\ No newline at end of file\n"
Check = Callable[[Tree], bool]


@pytest.mark.parametrize(
    ("patch", "holds"),
    [
        pytest.param(
            section("a/run.sh b/run.sh", "new file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+echo\n"),
            lambda made: made["run.sh"] == ("runs", b"echo\n"),
            id="a new file that runs",
        ),
        pytest.param(
            section("a/tool.py b/tool.py", "old mode 100644\nnew mode 100755\n"),
            lambda made: made["tool.py"] == ("runs", b"x = 1\n"),
            id="a file made to run",
        ),
        pytest.param(
            section("a/go.py b/go.py", "old mode 100755\nnew mode 100644\n"),
            lambda made: made["go.py"] == ("file", b"x = 1\n"),
            id="a file that runs no more",
        ),
        pytest.param(
            section("a/go.py b/go.py", "--- a/go.py\n+++ b/go.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"),
            lambda made: made["go.py"] == ("runs", b"x = 2\n"),
            id="a file that still runs",
        ),
        pytest.param(
            section("a/go.py b/sub dir/gö.py", "similarity index 100%\nrename from go.py\nrename to sub dir/gö.py\n"),
            lambda made: made["sub dir/gö.py"] == ("runs", b"x = 1\n") and "go.py" not in made,
            id="a rename",
        ),
        pytest.param(
            section("a/empty b/empty", "new file mode 100644\nindex 0000000..e69de29\n"),
            lambda made: made["empty"] == ("file", b""),
            id="an empty file",
        ),
        pytest.param(
            section("a/none.py b/none.py", "deleted file mode 100644\nindex e69de29..0000000\n"),
            lambda made: "none.py" not in made,
            id="an empty file taken away",
        ),
        pytest.param(
            section("a/go.py b/go.py", "deleted file mode 100755\n--- a/go.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"),
            lambda made: "go.py" not in made,
            id="a file taken away",
        ),
        pytest.param(
            section(
                "a/way b/way",
                f"deleted file mode 120000\n--- a/way\n+++ /dev/null\n@@ -1 +0,0 @@\n-go.py\n{NO_NEWLINE}",
            ),
            lambda made: "way" not in made and made["go.py"] == ("runs", b"x = 1\n"),
            id="a link taken away",
        ),
    ],
)
@pytest.mark.parametrize("committed", [True, False])
def test_modes_names_and_empty_files_are_part_of_the_patch(
    shop: Path, patch: str, holds: Check, committed: bool
) -> None:  # J10
    if committed:
        write(shop, crosses.BEFORE.encode())
    plus(shop, "tool.py")
    plus(shop, "go.py", mode=0o755)
    plus(shop, "none.py", b"")
    (shop / "way").symlink_to("go.py")
    if committed:
        commit(shop, "more")
        write(shop, AFTER)
    made, _ = both(shop, patch)
    assert holds(made) and made[ORDERS] == ("file", MENDED)


@pytest.mark.parametrize(
    "patch",
    [
        section("a/way b/other", "similarity index 100%\nrename from way\nrename to other\n"),
        section("a/way b/way", "--- a/way\n+++ b/way\n@@ -1 +1 @@\n-go.py\n+/etc/passwd\n"),
    ],
)
def test_a_link_is_neither_made_nor_turned_by_a_patch(shop: Path, patch: str) -> None:  # J10
    plus(shop, "go.py")
    (shop / "way").symlink_to("go.py")
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("B"),
        "r1/version.code@critic": [crosses.patch(patch), crosses.patch(patch)],
    }
    outcome = crosses.review(shop, said)
    assert any("was not accepted" in note for note in outcome.notes), outcome.notes
    assert not [*(shop / ".git/review-loop").glob("*/final.patch")]


def test_a_file_that_nobody_else_may_read_stays_so(shop: Path) -> None:  # J10
    (shop / ORDERS).chmod(0o600)
    both(shop)
    assert (shop / ORDERS).stat().st_mode & 0o777 == 0o600


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_patch_beside_a_secret_says_that_only_apply_can_put_it_in_place(shop: Path) -> None:  # C8, J10
    write(shop, crlf(AFTER) + f'TOKEN = "{SECRET}"\r\n'.encode())
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("B"),
        "r1/version.code@critic": crosses.patch(),
    }
    outcome = crosses.review(shop, said)
    assert any("placeholders of secrets" in note for note in outcome.notes), outcome.notes
    [final] = (shop / ".git/review-loop").glob("*/final.patch")
    assert SECRET not in final.read_text() and "[secret:" in final.read_text()


def test_a_long_file_is_put_together_without_comparing_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:  # J10
    """A comparison of two long texts that share few lines takes minutes; where the patch changes them is known."""
    from rebut.workspace import exact_patch

    def never(*about: object, **more: object) -> None:
        raise AssertionError("lines are compared")

    monkeypatch.setattr(diff, "SequenceMatcher", never)
    seen = "".join(f"x = {n % 7}\n" for n in range(20_000))
    after = "first\n" + "".join(f"y = {n % 5}\n" for n in range(19_998)) + "x = 0\n"
    minus, plus = (
        "".join(f"{sign}{line}\n" for line in text.split("\n")[:-1]) for sign, text in (("-", seen), ("+", after))
    )
    patch = f"diff --git a/l.py b/l.py\n--- a/l.py\n+++ b/l.py\n@@ -1,20000 +1,20000 @@\n{minus}{plus}"
    file = exact_patch.FileOnDisk(seen.replace("\n", "\r\n"), seen)
    made = exact_patch.rewritten(patch, {"l.py": file}, {"l.py": after}, {}).decode()
    assert made.count("\r\n") == 40_000 and "+first\r\n" in made and made.count("@@ -") == 1


# a review that an earlier version of the protocol began


@pytest.mark.parametrize("fork", [False, True])
def test_what_an_earlier_version_derived_is_carried_on_and_named(
    shop: Path, fork: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # C3
    """Its record of a patch knows neither modes nor bytes, and its marks were made by other rules."""
    write(shop, crlf(AFTER))
    said = {
        "r1/critique@critic": crosses.critique(crosses.raised()),
        "r1/judgement@judge": crosses.judgement("C"),
        "r1/version.code@judge": crosses.patch(),
        "r2/critique@critic": crosses.critique(crosses.raised("No.", "api/orders.py:6", category="security")),
    }

    async def drawn(r: Debate, files: dict[str, str | None], modes: object) -> dict[str, Json]:
        return {"patch": await r.difference(files)}

    with monkeypatch.context() as earlier:
        earlier.setattr(cross, "version", "1")
        earlier.setattr(versions, "_drawn", drawn)
        with pytest.raises(rebut.Aborted):
            crosses.review(shop, said)
    id = sessions.sessions(sessions.home())[0].opened.id
    said["r2/judgement@judge"] = crosses.judgement("B", {"F2": "invalid P1"})
    said["r2/version.code@critic"] = {"fail": "crashed"}
    crosses.seats(shop.parent / "seats", said)
    outcome = asyncio.run(rebut.fork(id) if fork else rebut.resume(id))
    [note] = [note for note in outcome.notes if "computed by an earlier version" in note]
    assert f"the protocol was 1, is {cross.version}" in note and "r1/version" in note
    assert outcome.data["versions"][0]["patch"] and not outcome.data["versions"][0]["exact"]
