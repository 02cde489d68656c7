"""The decoder of server-sent events gives the same events however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from rebut.backends.http.sse import Decoder


def decode(*chunks: bytes) -> list[str]:
    decoder = Decoder()
    return [data for chunk in chunks for data in decoder.feed(chunk)] + decoder.close()


def cut(whole: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(whole) + 1) for place in places), len(whole)]
    return [whole[a:b] for a, b in pairwise(edges)]


line = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
event = st.lists(line, min_size=1, max_size=3)
noise = st.sampled_from([":", ": keep-alive", "event: ping", "id: 7", "retry: 10", "unknown: x", "dataset: no"])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A stream written line by line, each line end chosen anew, and the data that it means."""
    out, means = "", []
    for lines in draw(st.lists(event, max_size=6)):
        means.append("\n".join(lines))
        for text in lines:
            if draw(st.booleans()):
                out += draw(noise) + draw(st.sampled_from(["\n", "\r", "\r\n"]))
            space = " " if text.startswith(" ") or draw(st.booleans()) else ""
            out += f"data:{space}{text}" + draw(st.sampled_from(["\n", "\r\n", "\r"]))
        # After a lone CR an LF would only complete that line's end, so the empty line must not start with one.
        out += draw(st.sampled_from(["\r", "\r\n"])) if out.endswith("\r") else draw(st.sampled_from(["\n", "\r\n"]))
        out += "\n" if out.endswith("\n") and draw(st.booleans()) else ""
    bom = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return bom + out.encode(), means


@given(streams(), st.lists(st.integers(min_value=0, max_value=500), max_size=12))
def test_any_cut_of_a_stream_gives_the_events_that_were_written(stream: tuple[bytes, list[str]], at: list[int]) -> None:
    whole, means = stream  # C5
    assert decode(*cut(whole, at)) == means
    assert decode(*(whole[i : i + 1] for i in range(len(whole)))) == means


@given(st.binary(max_size=200), st.lists(st.integers(min_value=0, max_value=200), max_size=12))
def test_any_bytes_at_all_decode_alike_whole_and_in_pieces(whole: bytes, at: list[int]) -> None:
    assert decode(*cut(whole, at)) == decode(whole)  # C5


@given(st.lists(st.sampled_from([b"data: a", b"\n", b"\r", b":", b"data", b"\xef\xbb\xbf"]), max_size=12), st.data())
def test_streams_of_line_ends_decode_alike_whole_and_in_pieces(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)  # C5
    at = data.draw(st.lists(st.integers(min_value=0, max_value=len(whole)), max_size=12))
    assert decode(*cut(whole, at)) == decode(whole)


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: one\n\ndata: two\n\n", ["one", "two"]),
        (b"data: one\r\n\r\ndata: two\r\n\r\n", ["one", "two"]),
        (b"data: one\r\rdata: two\r\r", ["one", "two"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data:tight\n\n", ["tight"]),
        (b"data:  one space stays\n\n", [" one space stays"]),
        (b"data\n\n", [""]),
        (b": only a comment\n\n", []),
        (b"event: end\n\n", []),
        (b"\n\n\n\ndata: late\n\n", ["late"]),
        (b"\xef\xbb\xbfdata: marked\n\n", ["marked"]),
        (b"data: x\n\n\xef\xbb\xbfdata: no mark here\n\n", ["x"]),
        (b"data: no empty line after it\n", ["no empty line after it"]),
        (b"data: no line end at all", ["no line end at all"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"", []),
    ],
)
def test_each_shape_of_a_stream_is_read_as_the_standard_says(stream: bytes, events: list[str]) -> None:
    assert decode(stream) == events  # C5


def test_an_event_comes_out_as_soon_as_its_empty_line_is_there() -> None:
    decoder = Decoder()  # C14
    assert decoder.feed(b"data: soon\n") == []
    assert decoder.feed(b"\ndata: la") == ["soon"]
    assert decoder.waiting == len(b"data: la")
    assert decoder.feed(b"ter\n\n") == ["later"]
    assert decoder.waiting == 0
