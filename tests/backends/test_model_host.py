"""A model by name: downloaded from a host on the loopback address, continued where it stopped, stored whole or not."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections import namedtuple
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from console import at_a_terminal, piped

from rebut.backends.embedded import model_host, weights
from rebut.backends.embedded.weights import Weights
from rebut.cli.app import enter
from rebut.cli.commands.models import ProgressBar
from rebut.setup import discover
from rebut.setup.config import Config

BODY = b"GGUF" + bytes(range(256)) * 4000  # 1 MB
MODEL = Weights(
    *("Tiny 1B", "tiny-1b.gguf", "", "", hashlib.sha256(BODY).hexdigest(), len(BODY)),
    id="tiny-1b",
    place="Tiny/Tiny-1B-GGUF/resolve/main/tiny-1b.gguf",
)


class Host(ThreadingHTTPServer):
    """A model host that does as the test says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.body = BODY
        self.cuts: list[int] = []
        """How many bytes each answer sends before the connection closes; then all."""
        self.statuses: list[int] = []
        """The status of each answer; then 200 or 206."""
        self.has_ranges = True
        self.redirects = False
        self.asked: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    server: Host

    def do_GET(self) -> None:
        host, wanted = self.server, self.headers.get("Range", "")
        host.asked.append((self.path, wanted))
        if host.redirects and not self.path.startswith("/cdn/"):
            self.send_response(302)
            self.send_header("Location", f"{host.url}/cdn{self.path}")
            self.end_headers()
            return
        if host.statuses:
            self.send_error(host.statuses.pop(0))
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-") or 0) if host.has_ranges else 0
        if start >= len(host.body):
            self.send_error(416)
            return
        rest = host.body[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(host.body) - 1}/{len(host.body)}")
        self.end_headers()
        self.wfile.write(rest[: host.cuts.pop(0)] if host.cuts else rest)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """The host as the mirror, one small model in the table, and no pauses between tries."""
    server = Host()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setattr(weights, "LARGER", (MODEL,))
    monkeypatch.setattr(model_host, "PAUSES", [0.0, 0.0])
    yield server
    server.shutdown()
    server.server_close()


def stored() -> list[str]:
    return sorted(path.name for path in weights.folder().iterdir())


def test_the_command_downloads_a_model_by_name_and_says_how_a_seat_names_it(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    assert enter(["models", "get", "tiny-1b"]) == 0
    shown = capsys.readouterr()
    assert "its spec is `local:tiny-1b`" in shown.out and "getting Tiny 1B, 1 MB, from 127.0.0.1:" in shown.err
    assert weights.path(MODEL).read_bytes() == BODY and stored() == ["tiny-1b.gguf"]
    assert host.asked == [(f"/{MODEL.place}", "")]
    assert enter(["models", "get", "TINY-1B", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["new"] is False and len(host.asked) == 1


def test_a_redirect_to_another_server_is_followed(host: Host) -> None:
    host.redirects = True
    assert enter(["models", "get", "tiny-1b"]) == 0
    assert host.asked[-1][0] == f"/cdn/{MODEL.place}" and weights.is_sound(MODEL)


def test_an_interrupted_download_continues_in_the_same_run(host: Host) -> None:
    host.cuts = [300_000, 0, 200_000]
    assert enter(["models", "get", "tiny-1b"]) == 0
    assert [wanted for _, wanted in host.asked] == ["", "bytes=300000-", "bytes=300000-", "bytes=500000-"]
    assert weights.is_sound(MODEL) and stored() == ["tiny-1b.gguf"]


def test_an_interrupted_download_continues_in_the_next_run(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.cuts = [300_000, 0, 0, 0]
    assert enter(["models", "get", "tiny-1b"]) == 3
    shown = capsys.readouterr().err
    assert "broke off (the connection was closed); 0 MB of 1 MB are here" in shown.replace("\n  ", " ")
    assert "`rebut models get tiny-1b` continues it" in shown and "HF_ENDPOINT" in shown
    assert stored() == ["tiny-1b.gguf.part"] and not weights.is_here(MODEL)
    host.asked.clear()
    host.cuts.clear()
    assert enter(["models", "get", "tiny-1b"]) == 0
    assert [wanted for _, wanted in host.asked] == ["bytes=300000-"]
    assert weights.is_sound(MODEL) and stored() == ["tiny-1b.gguf"]


def test_a_host_that_cannot_continue_sends_all_of_it_again(host: Host) -> None:
    host.cuts, host.has_ranges = [300_000], False
    assert enter(["models", "get", "tiny-1b"]) == 0
    assert weights.is_sound(MODEL)


@pytest.mark.parametrize("left", [BODY + b"more", b"", BODY[:-1] + b"!"], ids=["too long", "empty", "whole but wrong"])
def test_what_an_earlier_run_left_may_be_anything(host: Host, left: bytes) -> None:
    part = weights.folder() / "tiny-1b.gguf.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(left)
    if enter(["models", "get", "tiny-1b"]):  # a whole file with a wrong byte is only seen at the end
        assert not part.exists() and enter(["models", "get", "tiny-1b"]) == 0
    assert weights.is_sound(MODEL) and stored() == ["tiny-1b.gguf"]


def test_another_file_of_the_same_length_is_refused_and_nothing_is_kept(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.body = BODY[:-1] + b"!"
    assert enter(["models", "get", "tiny-1b"]) == 3
    shown = capsys.readouterr().err
    assert "is not the expected file: its SHA-256 is" in shown and "check the mirror in HF_ENDPOINT" in shown
    assert stored() == []


def test_a_file_of_another_length_is_refused_before_it_is_downloaded(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.body = BODY * 2
    assert enter(["models", "get", "tiny-1b", "--json"]) == 3
    assert f"has {2 * len(BODY):,} bytes, and the expected file {len(BODY):,}" in capsys.readouterr().out
    assert not weights.is_here(MODEL) and (weights.folder() / "tiny-1b.gguf.part").stat().st_size == 0


def test_too_little_disk_is_said_before_anything_is_asked(
    host: Host, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9e9, 9e9, 20_000_000))
    assert enter(["models", "get", "tiny-1b"]) == 3
    shown = capsys.readouterr().err
    assert "has 20 MB left" in shown and "Free 51 MB there, or set REBUT_HOME" in shown and not host.asked


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (403, 1), (503, 3), (429, 3)])
def test_a_host_that_refuses_is_asked_again_only_if_that_can_help(
    host: Host, status: int, tries: int, capsys: pytest.CaptureFixture[str]
) -> None:
    host.statuses = [status] * 9
    assert enter(["models", "get", "tiny-1b"]) == 3
    shown = capsys.readouterr().err
    assert f"answered {status}" in shown and "HF_ENDPOINT" in shown and len(host.asked) == tries


def test_a_host_that_is_not_there_is_named_with_what_helps(
    host: Host, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert enter(["models", "get", "tiny-1b"]) == 3
    shown = capsys.readouterr().err
    shown = " ".join(shown.split())
    assert "Tiny 1B cannot be downloaded from 127.0.0.1:9: Connection refused" in shown and "Errno" not in shown
    assert "Check the network, set HF_ENDPOINT to a mirror, or use a file" in shown
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    assert enter(["models", "get", "tiny-1b"]) == 2
    assert "HF_ENDPOINT is 'file:///etc'" in capsys.readouterr().err


def test_two_downloads_of_one_model_do_not_write_into_one_file(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    weights.folder().mkdir(parents=True)
    with model_host._claimed(weights.folder() / "tiny-1b.gguf.part", MODEL):
        assert enter(["models", "get", "tiny-1b"]) == 3
    assert "another process is downloading Tiny 1B" in capsys.readouterr().err and not host.asked


def test_the_file_may_come_from_elsewhere(host: Host, tmp_path: Path) -> None:
    (tmp_path / "given.gguf").write_bytes(BODY)
    assert enter(["models", "get", "tiny-1b", "--from", str(tmp_path / "given.gguf")]) == 0
    assert weights.is_sound(MODEL) and not host.asked


def test_ctrl_c_says_that_the_same_command_continues(
    host: Host, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(model_host, "fetch", stop)
    assert enter(["models", "get", "tiny-1b"]) == 130
    assert "`rebut models get tiny-1b` continues where it was" in capsys.readouterr().err


def test_the_bar_shows_how_far_it_is_and_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = "50%   558 of 1,117 MB   7.6 MB/s, 73 s left"
    for columns, begins, shown in (("80", "  [=====", whole), ("50", "   50%", whole), ("44", "  [=====", whole[:21])):
        monkeypatch.setenv("COLUMNS", columns)
        bar = ProgressBar(1_117_320_768)
        bar.show(100_000_000)
        line = bar._line(558_660_384, 60.25)
        assert len(line) <= int(columns) and line.startswith(begins), line
        assert line.endswith(shown), line
        bar.close()
    assert capsys.readouterr().err.count("\r") == 3


def test_an_unknown_name_lists_the_known_ones() -> None:
    done = piped("models", "get", "gpt-5")
    assert done.returncode == 2
    assert done.stderr == (
        "rebut: rebut knows no model 'gpt-5'\n"
        "  It can download qwen2.5-coder-1.5b, qwen2.5-coder-0.5b, smollm2-135m; other files are gguf:PATH.\n"
    )


def test_the_list_fits_50_columns_and_says_how_to_get_each() -> None:
    seen = at_a_terminal("models", columns=50)
    lines = [line for line in seen.text.splitlines() if "/" not in line]
    assert max(map(len, lines)) <= 50 and "    local:qwen2.5-coder-1.5b  1,117 MB: not here" in lines
    assert "      → rebut models get qwen2.5-coder-1.5b" in lines and "      → rebut models get" in lines


def test_the_list_says_how_much_of_an_interrupted_download_is_here(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    weights.folder().mkdir(parents=True)
    with weights.partial(weights.path(MODEL)).open("wb") as part:
        part.truncate(7_000_000)
    assert enter(["models"]) == 0
    assert "7 MB of it here" in capsys.readouterr().out and not host.asked


def test_the_table_has_the_files_that_were_verified() -> None:
    found = {one.id: (one.size, one.sha256) for one in weights.LARGER}
    assert found == {
        "qwen2.5-coder-1.5b": (
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
        "qwen2.5-coder-0.5b": (
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
    }
    assert all(one.place.rpartition("/")[2] == one.file for one in weights.LARGER)


def test_a_downloaded_model_is_found_and_the_smallest_is_only_for_who_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "has_runner", lambda: True)
    weights.folder().mkdir(parents=True)

    def there(*models: Weights) -> discover.FoundModel:
        for one in models:
            with weights.path(one).open("wb") as file:
                file.truncate(one.size)
        return discover._embedded(os.environ)

    assert "rebut models get qwen2.5-coder-1.5b" in there().advice
    small = there(weights.SMOLLM2)
    assert small.usable and small.only_named and discover.usable([small]) == []
    larger = there(*weights.LARGER)
    assert [str(spec) for spec in larger.specs] == ["local:qwen2.5-coder-1.5b", "local:qwen2.5-coder-0.5b"]
    assert not larger.only_named and Config().listed("local")
