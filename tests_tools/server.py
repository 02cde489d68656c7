"""A model server on the loopback address that speaks all four wires as fully as the real tools want to hear them."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fake_tool import obeyed

SAID = "Sessions belong in Redis, and here is why."
THOUGHT = "The user wants to hear of sessions."
INPUT, OUTPUT = 31, 17
Frame = dict[str, Any]
PAUSE: Frame = {}
"""In the place of a frame: here a reply that comes in pieces waits."""


class Server:
    """Answers as `mode` says: ok, empty, status, hang, stall, tool (asks for a tool, then for those in `more`), obey
    (does what `rebut doctor` asks for), debate (fills in the form that it is sent, from `answers` by the form's title),
    or pieces and debate in pieces (thinks aloud, says half, and the other half when `go` is released, each time)."""

    def __init__(self) -> None:
        self.mode, self.status = "ok", 500
        self.tool: tuple[str, Frame] = ("bash", {})
        self.more: list[tuple[str, Frame]] = []
        self.answers: Frame = {}
        self.bodies: list[Frame] = []
        self.headers: list[dict[str, str]] = []
        self.over, self.go = threading.Event(), threading.Semaphore(0)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _bound(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Server:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()

    def set(self, mode: str, status: int = 500) -> None:
        self.mode, self.status, self.more = mode, status, []
        self.go = threading.Semaphore(0)
        self.bodies.clear()
        self.headers.clear()

    @property
    def heard(self) -> str:
        """Everything that was sent to us."""
        return json.dumps(self.bodies, ensure_ascii=False)


def _bound(server: Server) -> type[BaseHTTPRequestHandler]:
    class Bound(_Talk):
        models = server

    return Bound


class _Talk(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    models: Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "models": [], "data": [{"id": "m1", "object": "model"}]})

    def do_POST(self) -> None:
        raw = self._body()
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        body: Frame = json.loads(raw or b"{}")
        path = self.path.partition("?")[0]
        wire = next((made for end, made in WIRES.items() if path.endswith(end)), None)
        if wire is None:
            return self._json(404, {"error": {"message": f"no such path: {path}"}})
        models = self.models
        models.bodies.append(body)
        models.headers.append({name.lower(): value for name, value in self.headers.items()})
        if models.mode == "status":
            return self._json(models.status, _error(models.status))
        if models.mode == "hang":
            models.over.wait(300)
            return None
        given = sum(json.dumps(body).count(word) for word in ANSWERED)
        asks = [models.tool, *models.more][given:] if models.mode == "tool" else []
        text = "" if models.mode == "empty" else SAID
        if models.mode in ("obey", "debate", "debate in pieces"):
            words = "\n".join(_texts(body))
            text = obeyed(words, words) if models.mode == "obey" else _form(words, models.answers)
        half = len(text) // 2 if "pieces" in models.mode else 0
        frames = wire((THOUGHT, text[:half], text[half:]) if half else ("", text), asks[0] if asks else None)
        if not (body.get("stream") or "stream" in path):
            return self._json(200, list(frames)[-1])
        return self._stream(frames)

    def _stream(self, frames: Iterator[Frame]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for number, frame in enumerate(frames):
                if frame is PAUSE:
                    self.models.go.acquire(timeout=300)
                    continue
                name = f"event: {frame['type']}\n" if "type" in frame else ""
                self.wfile.write(f"{name}data: {json.dumps(frame)}\n\n".encode())
                self.wfile.flush()
                if self.models.mode == "stall" and number:
                    self.models.over.wait(300)
                    return
            if self.path.endswith("/chat/completions"):
                self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass

    def _json(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole


def _texts(value: Any) -> Iterator[str]:
    """Every text in a request: whatever the wire, the prompt is one of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _form(words: str, answers: Frame) -> str:
    schema, _ = json.JSONDecoder().raw_decode(words.partition("this JSON schema:")[2].lstrip())
    return json.dumps(answers[schema["title"]])


ANSWERED = ('"tool_result"', '"role": "tool"', '"function_call_output"', '"functionResponse"')
"""Marks of a tool's result in a request: then the model has its answer and speaks."""


def _error(status: int) -> Frame:
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": f"scripted refusal {status}", "code": status}}


Call = tuple[str, Frame] | None
Words = Sequence[str]
"""What it thinks, if anything, and then what it says, in pieces."""


def _paused(frames: Sequence[Frame]) -> Iterator[Frame]:
    for number, frame in enumerate(frames):
        if number:
            yield PAUSE
        yield frame


def _messages(words: Words, call: Call) -> Iterator[Frame]:
    start: Frame = {"id": "m", "type": "message", "role": "assistant", "model": "loopback", "content": []}
    start |= {"stop_reason": None, "usage": {"input_tokens": INPUT, "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    thought, *said = words
    blocks: list[tuple[Frame, list[Frame]]] = []
    if thought:
        aloud: list[Frame] = [
            {"type": "thinking_delta", "thinking": thought},
            {"type": "signature_delta", "signature": "s"},
        ]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, aloud))
    if call:
        asked: Frame = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        blocks.append(({"type": "tool_use", "id": "t1", "name": call[0], "input": {}}, [asked]))
    else:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in said]))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        frames = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        yield from _paused(frames) if block["type"] == "text" else frames
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if call else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": OUTPUT}}
    yield {"type": "message_stop"}


def _chat(words: Words, call: Call) -> Iterator[Frame]:
    thought, *said = words
    base: Frame = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "loopback"}

    def chunk(delta: Frame, reason: str | None = None) -> Frame:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    if thought:
        yield chunk({"role": "assistant", "reasoning_content": thought})
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        calls = [{"index": 0, "id": "t1", "type": "function", "function": function}]
        yield chunk({"role": "assistant", "tool_calls": calls})
    else:
        yield from _paused([chunk({"role": "assistant", "content": piece}) for piece in said])
    yield chunk({}, "tool_calls" if call else "stop")
    usage = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
    yield {**base, "choices": [], "usage": usage}


def _responses(words: Words, call: Call) -> Iterator[Frame]:
    _, *said = words
    item: Frame = {"type": "message", "id": "i", "role": "assistant"}
    item["content"] = [{"type": "output_text", "text": "".join(said)}]
    if call:
        space, _, name = call[0].rpartition("/")
        item = {"type": "function_call", "id": "i", "call_id": "t1", "name": name, "arguments": json.dumps(call[1])}
        item |= {"namespace": space} if space else {}
    yield {"type": "response.created", "response": {"id": "r"}}
    if len(said) > 1:
        yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}
        delta = {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0}
        yield from _paused([{**delta, "delta": piece} for piece in said])
    else:
        yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": INPUT, "output_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
    yield {"type": "response.completed", "response": {"id": "r", "usage": usage, "output": [item]}}


def _gemini(words: Words, call: Call) -> Iterator[Frame]:
    thought, *said = words
    first: list[Frame] = [{"text": thought, "thought": True}] if thought else [{"text": ""}]
    *before, last = said
    part: Frame = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": last}
    usage = {"promptTokenCount": INPUT, "candidatesTokenCount": OUTPUT, "totalTokenCount": INPUT + OUTPUT}

    def candidate(part: Frame) -> Frame:
        return {"content": {"role": "model", "parts": [part]}, "index": 0}

    for piece in first:
        yield {"candidates": [candidate(piece)]}
    ended = {**candidate(part), "finishReason": "STOP"}
    frames = [{"candidates": [candidate({"text": piece})]} for piece in before]
    yield from _paused([*frames, {"candidates": [ended], "usageMetadata": usage, "modelVersion": "loopback"}])


WIRES = {
    "/messages": _messages,
    "/chat/completions": _chat,
    "/responses": _responses,
    ":streamGenerateContent": _gemini,
    ":generateContent": _gemini,
}
