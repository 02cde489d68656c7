"""Server-sent events, decoded from a byte stream that may be split anywhere."""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"


class Decoder:
    """Turns chunks of a response body into the data of each event.

    Event names are ignored: the providers repeat them in the data. Line ends become LF on arrival, so a frame is the
    text before an empty line, and the common frame of one `data:` line costs one slice and one decode.
    """

    __slots__ = ("_after_cr", "_at_start", "_rest")

    def __init__(self) -> None:
        self._rest = bytearray()
        self._after_cr = False
        self._at_start = True

    @property
    def waiting(self) -> int:
        """Bytes of an event that is not complete yet; the caller limits them."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> list[str]:
        """Read the next piece of the stream; return the data of the events that it completes."""
        if self._after_cr and chunk:
            # A CR at the end of the last chunk was a line end already; its LF must not count again.
            self._after_cr = False
            if chunk[0] == 10:
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        rest = self._rest
        # Searching only the new part keeps the cost of a long frame in small chunks linear.
        found = rest.find(b"\n\n", self._append(chunk))
        if found < 0:
            return []
        frames = bytes(rest).split(b"\n\n")
        self._rest = bytearray(frames.pop())
        return self._data(frames)

    def close(self) -> list[str]:
        """The data at the end of the stream. The last event may lack its empty line: many servers omit it."""
        last, self._rest = bytes(self._rest), bytearray()
        return self._data([last])

    def _append(self, chunk: bytes) -> int:
        start = max(0, len(self._rest) - 1)
        self._rest += chunk
        return start

    def _data(self, frames: list[bytes]) -> list[str]:
        if self._at_start and frames:
            self._at_start = False
            frames[0] = frames[0].removeprefix(BOM)
        out = []
        for frame in frames:
            if b"\n" not in frame and frame.startswith(b"data: "):
                out.append(frame[6:].decode("utf-8", "replace"))
            elif (data := _lines(frame)) is not None:
                out.append(data)
        return out


def _lines(frame: bytes) -> str | None:
    """The data of a frame of any shape; None if it has none, like a keep-alive comment."""
    parts = []
    for line in frame.split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"data":
            parts.append(value.removeprefix(b" "))
    return b"\n".join(parts).decode("utf-8", "replace") if parts else None
