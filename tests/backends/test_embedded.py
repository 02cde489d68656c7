"""The embedded model: one load, one call at a time, stopped when nobody waits, forms filled from its plain words."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

import rebut
from rebut.backends.embedded import backend as local, llama, weights
from rebut.backends.embedded.backend import LABEL, Local
from rebut.backends.embedded.llama import ChatTurn, Generated, OnPiece, Stopped, TooLong, ignored
from rebut.backends.embedded.quotes import gist, shortened
from rebut.backends.embedded.small_forms import listed, tidied
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.json_value import Json
from rebut.core.types import ModelSpec, Participant, Reply, Request, SentBack
from rebut.domain.forms import Form
from rebut.domain.prompts import quote
from rebut.protocols.duel import forms
from rebut.setup.config import load_config
from rebut.setup.connect import connector

REAL = weights.path(env=dict(os.environ))  # before the tests move everybody's home
SENTENCES = "1. Redis keeps sessions when a server dies.\n2. Every server sees the same login.\n3. It is one more part."
KEY = b"k" * 32


def sample(schema: Mapping[str, Any]) -> Any:
    """The first value that a grammar of this schema would let through."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: sample(part) for name, part in schema["properties"].items()}
    if schema.get("type") == "array":
        return [sample(schema["items"])]
    return {"boolean": True, "integer": 1, "number": 0.5}[schema["type"]]


class Fake:
    """An engine at the model's edge."""

    def __init__(self, says: Callable[[str], str] = lambda text: SENTENCES, window: int = 0) -> None:
        self.says, self.window = says, window
        self.asked: list[tuple[str, Mapping[str, Json] | None]] = []

    def chat(self, turn: ChatTurn, on_piece: OnPiece = ignored) -> Generated:
        text, schema = turn.text, turn.schema
        self.asked.append((text, schema))
        tokens = len(text) // 2
        if self.window and tokens > self.window:
            raise TooLong(tokens, self.window)
        said = json.dumps(sample(schema)) if schema is not None else self.says(text)
        if on_piece(said):
            raise Stopped
        return Generated(said, tokens, 10)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF")
    return path


def request(prompt: str = "Say why.", form: type[Form] | None = None, **more: Any) -> Request:
    who = Participant("proposer", ModelSpec("local"))
    schema = form.model_json_schema() if form else None
    return Request("r1/x@proposer", who, prompt, schema=schema, schema_name=form.__name__ if form else "", **more)


def ask(backend: Local, asked: Request) -> Reply:
    return asyncio.run(backend.complete(asked))


PROMPT = "\n\n".join(
    [
        "You are the PROPOSER in round 2.",
        "A long rule that only leads a small model astray.",
        quote(KEY, "topic", "Sessions in Redis?"),
        quote(
            KEY, "the points", "- C1: fast (cites nothing)\nD1 (P1, security; raised): open port\nD2 (P2): no replica"
        ),
        "Answer every open point (D1, D2) by its id.",
    ]
)


# Forms -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [forms.Opening, forms.Challenge, forms.Defense, forms.FollowUp, forms.Summary, forms.Decision],
    ids=lambda form: form.__name__,
)
def test_every_form_of_a_duel_is_filled_validly(file: Path, form: type[Form]) -> None:
    # C1, C5
    reply = ask(Local(file, engine=Fake()), request(PROMPT, form))
    form.model_validate_json(reply.text)
    assert reply.usd == 0.0 and not reply.truncated


@pytest.mark.parametrize("form", [forms.Challenge, forms.Defense, forms.Decision], ids=lambda form: form.__name__)
def test_only_small_things_are_written_under_a_grammar(file: Path, form: type[Form]) -> None:
    engine = Fake()
    ask(Local(file, engine=engine), request(PROMPT, form))
    constrained = [schema for _, schema in engine.asked if schema is not None]
    assert len(constrained) == 1  # all choices at once, after the words

    def free_strings(node: Any) -> Iterator[Any]:
        if isinstance(node, dict):
            if node.get("type") == "string" and "enum" not in node:
                yield node
            for inner in node.values():
                yield from free_strings(inner)

    assert list(free_strings(constrained[0])) == []
    assert engine.asked[-1][1] is not None


def test_words_of_a_field_are_what_the_model_said_for_it(file: Path) -> None:
    def says(text: str) -> str:
        return SENTENCES if "List your claims" in text else "I would use **Redis**. And then I"

    value = json.loads(ask(Local(file, engine=Fake(says)), request(PROMPT, forms.Opening)).text)
    assert value["position"] == "I would use Redis."
    assert [claim["text"] for claim in value["claims"]] == [
        "Redis keeps sessions when a server dies.",
        "Every server sees the same login.",
        "It is one more part.",
    ]


def test_points_that_the_question_names_are_each_answered_by_id(file: Path) -> None:
    # C10
    value = json.loads(ask(Local(file, engine=Fake()), request(PROMPT, forms.Defense)).text)
    assert [response["id"] for response in value["responses"]] == ["D1", "D2"]
    assert {response["move"] for response in value["responses"]} == {"concede"}


def test_a_reason_that_must_name_an_id_gets_the_one_that_the_model_chose(file: Path) -> None:
    value = json.loads(ask(Local(file, engine=Fake()), request(PROMPT, forms.Decision)).text)
    assert value["reasoning"].endswith("(C1)")
    named = Fake(lambda text: "D2 decides it for me.")
    value = json.loads(ask(Local(file, engine=named), request(PROMPT, forms.Decision)).text)
    assert value["reasoning"] == "D2 decides it for me."


def test_a_reply_sent_back_is_mended_where_it_was_missed_and_kept_elsewhere(file: Path) -> None:
    before = json.loads(ask(Local(file, engine=Fake()), request(PROMPT, forms.Challenge)).text)
    before["unsupported"] = ["C2"]
    complaint = "C1 cites nothing and is not called out under `unsupported`"
    sent_back = SentBack(json.dumps(before), (complaint,))
    engine = Fake(lambda text: "Something else entirely.")
    after = json.loads(
        ask(Local(file, engine=engine), request(PROMPT, forms.Challenge, sent_back=sent_back, attempt=2)).text
    )
    assert after == {**before, "unsupported": ["C2", "C1"]}
    assert len(engine.asked) == 1


def test_a_field_that_may_be_left_out_is_filled_when_a_reply_was_sent_back_for_it(file: Path) -> None:
    first = json.loads(ask(Local(file, engine=Fake()), request(PROMPT, forms.FollowUp)).text)
    assert "flaws" not in first
    complaint = "name a new weakness, or certify an earlier point as resolved with evidence"
    sent_back = SentBack(json.dumps(first), (complaint,))
    second = json.loads(ask(Local(file, engine=Fake()), request(PROMPT, forms.FollowUp, sent_back=sent_back)).text)
    assert len(second["flaws"]) == 3 and second["rulings"] == first["rulings"]


def test_a_model_that_says_nothing_is_a_bad_reply(file: Path) -> None:
    # C5
    with pytest.raises(ParticipantFailed, match="wrote nothing") as failed:
        ask(Local(file, engine=Fake(lambda text: "\n«»\n")), request(PROMPT, forms.Opening))
    assert failed.value.kind == "bad reply"


@pytest.mark.parametrize("chosen", ['{"winn', '{"winner": "proposer"}', "[]"])
def test_choices_that_break_off_are_a_bad_reply(file: Path, chosen: str) -> None:
    # C5: nothing is chosen in the model's place
    class Cut(Fake):
        def chat(self, turn: ChatTurn, on_piece: OnPiece = ignored) -> Generated:
            return Generated(chosen, 9, turn.most, cut=True) if turn.schema else super().chat(turn, on_piece)

    with pytest.raises(ParticipantFailed, match="did not finish choosing") as failed:
        ask(Local(file, engine=Cut()), request(PROMPT, forms.Decision))
    assert failed.value.kind == "bad reply"


def test_a_large_model_writes_the_whole_form_under_its_grammar(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "SMALL", 1)
    engine = Fake()
    with pytest.raises(KeyError):  # the sampler of these tests knows no free strings: the form's own schema came
        ask(Local(file, engine=engine), request(PROMPT, forms.Opening))
    text, schema = engine.asked[-1]
    assert schema == forms.Opening.model_json_schema()
    assert text.startswith(PROMPT) and '"Opening"' in text


def test_lists_are_read_with_and_without_numbers() -> None:
    assert listed("1. One is this.\n2) Two is that.") == ["One is this.", "Two is that."]
    assert listed("One is this. Two is that. Two is that.") == ["One is this.", "Two is that."]
    assert listed("It is fast. What is your answer?") == ["It is fast."]
    assert listed("- a b c\nwith more\n- d e f") == ["a b c", "d e f"]
    assert tidied("# Head of it.\n```\nBody of it") == "Head of it."


# What the model is shown -------------------------------------------------------------------------------------------


def test_a_prompt_that_does_not_fit_is_cut_in_its_middle_and_that_is_said(file: Path) -> None:
    engine = Fake()
    prompt = "The head.\n" + "line of the middle\n" * 2000 + "The tail."
    reply = ask(Local(file, engine=engine), request(prompt))
    text = engine.asked[0][0]
    assert text.startswith("The head.") and text.endswith("The tail.") and len(text) < 2500
    assert "characters, in the middle, were left out" in reply.unread
    assert not ask(Local(file, engine=Fake()), request("Short.")).unread


def test_what_the_engine_finds_too_long_is_cut_further_and_that_is_said(file: Path) -> None:
    engine = Fake(window=600)
    prompt = "The head.\n" + "line of the middle\n" * 90 + "The tail."
    reply = ask(Local(file, engine=engine), request(prompt))
    assert len(engine.asked) == 2 and len(engine.asked[1][0]) < len(engine.asked[0][0]) == len(prompt)
    assert "were left out" in reply.unread


def test_an_answer_cut_off_by_the_window_is_asked_again_with_less_before_it(file: Path) -> None:
    class Narrow(Fake):
        def chat(self, turn: ChatTurn, on_piece: OnPiece = ignored) -> Generated:
            said = super().chat(turn, on_piece)
            return Generated("Half of", 1000, 5, cut=True) if len(self.asked) == 1 else said

    engine = Narrow()
    reply = ask(Local(file, engine=engine), request("The head.\n" + "middle\n" * 250 + "The tail."))
    assert reply.text == SENTENCES and not reply.truncated
    assert len(engine.asked[1][0]) < len(engine.asked[0][0])


def test_a_window_that_holds_no_question_is_a_failure_and_no_endless_loop(file: Path) -> None:
    with pytest.raises(ParticipantFailed, match="do not fit into a window"):
        ask(Local(file, engine=Fake(window=10)), request("x" * 1000))


def test_a_small_model_is_shown_role_and_quotes_with_the_topic_last() -> None:
    shown = gist(PROMPT, 10_000)
    assert shown.startswith("You are the PROPOSER in round 2.")
    assert "A long rule" not in shown and "open port" in shown
    assert shown.index("«begin the points") < shown.index("«begin topic")


@given(
    st.lists(
        st.tuples(st.sampled_from(["topic", "files", "a b"]), st.text(alphabet="ab «»\n", max_size=300)), max_size=5
    ),
    st.integers(200, 800),
)
def test_no_cut_opens_a_quote(parts: list[tuple[str, str]], most: int) -> None:
    # C7: what a debater wrote stays between the fences of its quote, wherever the prompt is cut
    prompt = "\n\n".join(["Rules."] + [quote(KEY, label, f"evil {body}") for label, body in parts] + ["The question."])
    for text in (shortened(prompt, most), gist(prompt, most)):
        inside = ""
        for line in text.split("\n"):
            if not inside and line.startswith("«begin ") and line.endswith("»") and line.count("«") == 1:
                inside = line.removeprefix("«begin ")
            elif inside and line == f"«end {inside}":
                inside = ""
            elif not inside:
                assert "evil" not in line and not set(line) & set("«»"), text
        assert not inside


def test_what_holds_for_every_call_is_said_once(file: Path) -> None:
    backend = Local(file, label=LABEL, effort="high", engine=Fake())
    first, second = ask(backend, request()), ask(backend, request())
    assert any(note.startswith("SmolLM2 135M: shows the machinery, not wisdom") for note in first.notes)
    assert any("no levels of effort; high was ignored" in note for note in first.notes)
    assert second.notes == ()
    assert first.family == LABEL


# The call ----------------------------------------------------------------------------------------------------------


def test_text_streams_to_the_listener_on_its_own_loop(file: Path) -> None:
    # C14
    heard: list[tuple[str, int]] = []
    ask(Local(file, engine=Fake()), request(on_text=lambda piece: heard.append((piece, threading.get_ident()))))
    assert heard == [(SENTENCES, threading.get_ident())]


def test_a_cancelled_call_stops_the_engine_and_the_loop_runs_meanwhile(file: Path) -> None:
    # C14
    ended = threading.Event()

    class Endless(Fake):
        def chat(self, turn: ChatTurn, on_piece: OnPiece = ignored) -> Generated:
            while not on_piece("word "):
                time.sleep(0.001)
            ended.set()
            raise Stopped

    async def run() -> None:
        speaks = asyncio.Event()
        asked = request(on_text=lambda piece: speaks.set())
        call = asyncio.create_task(Local(file, engine=Endless()).complete(asked))
        await speaks.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(run())
    assert ended.is_set()


# The engine, with a runner made of Python --------------------------------------------------------------------------


class Runner(ModuleType):
    """Stands in for xllamacpp."""

    def __init__(self) -> None:
        super().__init__("xllamacpp")
        self.__spec__ = ModuleSpec("xllamacpp", None)
        self.loads: list[Any] = []
        self.at_once = self.most_at_once = 0
        self.chunks: list[dict[str, Any]] = [
            {"choices": [{"delta": {"content": None}, "finish_reason": None}], "prompt_progress": {}},
            {"choices": [{"delta": {"content": "Yes."}, "finish_reason": None}]},
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
            {
                "choices": [],
                "usage": {
                    "prompt_tokens": 9,
                    "completion_tokens": 2,
                    "prompt_tokens_details": {"cached_tokens": 4},
                },
            },
        ]

    def CommonParams(self) -> Any:
        return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())

    def Server(self, params: Any) -> Runner:
        if params.model.path.endswith("broken.gguf"):
            raise RuntimeError("Failed to init server")
        self.loads.append(params)
        return self

    def handle_chat_completions(self, asked: dict[str, Any], heard: Callable[[Any], bool]) -> None:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        time.sleep(0.002)
        for chunk in self.chunks:
            if heard(chunk):
                break
        self.at_once -= 1


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    made = Runner()
    monkeypatch.setitem(sys.modules, "xllamacpp", made)
    monkeypatch.setattr(llama, "_loaded", {})
    return made


def test_a_file_is_loaded_once_for_all_seats_and_loops_and_asked_one_at_a_time(file: Path, runner: Runner) -> None:
    # C1
    link = file.with_name("link.gguf")
    link.symlink_to(file)

    def one_loop(path: Path) -> None:
        async def run() -> list[Reply]:
            return await asyncio.gather(*(Local(path).complete(request()) for _ in range(3)))

        assert [reply.text for reply in asyncio.run(run())] == ["Yes."] * 3

    threads = [threading.Thread(target=one_loop, args=(path,)) for path in (file, link)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runner.loads) == 1 and runner.most_at_once == 1


def test_tokens_are_counted_once_and_the_runners_port_is_closed_to_others(file: Path, runner: Runner) -> None:
    reply = ask(Local(file), request())
    assert (reply.usage.input, reply.usage.output) == (5, 2)
    params = runner.loads[0]
    assert len(params.api_keys[0]) == 64 and params.endpoint_slots is False and params.ui is False
    assert 1 <= params.cpuparams.n_threads <= max(1, (os.cpu_count() or 2) - 1)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([{"error": {"type": "server_error", "message": "out of memory"}}], "out of memory"),
        ([{"choices": [{"delta": {"content": "Ye"}, "finish_reason": None}]}], "broke off"),
    ],
)
def test_a_fault_of_the_runner_is_a_failure_and_no_answer(
    file: Path, runner: Runner, chunks: list[dict[str, Any]], message: str
) -> None:
    # C5
    runner.chunks = chunks
    with pytest.raises(ParticipantFailed, match=message) as failed:
        ask(Local(file), request())
    assert failed.value.kind == "crashed"


def test_what_was_said_before_a_stop_is_no_answer(file: Path, runner: Runner) -> None:
    # C5
    with pytest.raises(Stopped):
        llama.loaded(file, 2048).chat(ChatTurn("Go on.", 9, 1), bool)


def test_a_file_that_is_no_model_is_a_failure_with_a_way_on(file: Path, runner: Runner) -> None:
    # C5
    broken = file.with_name("broken.gguf")
    broken.write_bytes(b"nothing")
    with pytest.raises(ParticipantFailed, match=r"broken\.gguf could not be loaded") as failed:
        ask(Local(broken), request())
    assert "rebut models get" in failed.value.hint


# Seating -----------------------------------------------------------------------------------------------------------


def connect(spec: str, workspace: Path) -> Any:
    config = load_config(workspace=workspace, env={})
    return connector(config, {}, workspace)(ModelSpec.parse(spec))


def test_what_is_missing_is_said_with_the_command_that_gets_it(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C1
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError) as failed:
        connect("local", tmp_path)
    assert "pip install xllamacpp" in failed.value.hint and "rebut models get" in failed.value.hint
    with pytest.raises(UsageError, match="xllamacpp") as failed:
        connect(f"gguf:{file}", tmp_path)
    assert "pip install xllamacpp" in failed.value.hint


def test_a_model_file_is_free_of_charge_found_from_the_workspace_and_labelled(file: Path, runner: Runner) -> None:
    found = connect("gguf:tiny.gguf", file.parent)
    assert found.free and found.family == "tiny"
    known = file.with_name(weights.SMOLLM2.file)
    known.write_bytes(b"GGUF")
    assert connect(f"gguf:{known}", file.parent).family == LABEL
    with pytest.raises(UsageError, match="there is no"):
        connect("gguf:none.gguf", file.parent)
    with pytest.raises(UsageError, match=r"local has no model .other."):
        connect("local:other", file.parent)


def test_a_whole_duel_on_one_file_comes_to_a_verdict(workspace: Path, file: Path) -> None:
    # C1, C10
    backends = {name: Local(file, name=name, engine=Fake()) for name in ("one", "two")}
    outcome = asyncio.run(
        rebut.start("duel", "Sessions in Redis?", proposer="one", challenger="two", backends=backends, rounds=3)
    )
    assert outcome.kind == "verdict" and bool(outcome.verdict)
    assert outcome.heading.endswith(" SEATS SAW ONLY PART OF THE QUESTION"), "their window cut the prompts"


# The real model ----------------------------------------------------------------------------------------------------

real = pytest.mark.skipif(
    find_spec("xllamacpp") is None or not REAL.exists(),
    reason="needs the extra `local` and the weights: make weights",
)


@pytest.mark.long
@real
def test_the_real_model_argues_a_duel_to_its_verdict(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C1
    weights.folder().parent.mkdir(parents=True, exist_ok=True)
    weights.folder().symlink_to(REAL.parent)
    outcome = asyncio.run(
        rebut.start(
            "duel", "Should user sessions live in Redis?", proposer="local", challenger=f"gguf:{REAL}", rounds=1
        )
    )
    assert outcome.kind == "verdict" and bool(outcome.verdict)
    assert outcome.verdict.winner in ("proposer", "challenger")
    assert any("shows the machinery, not wisdom" in note for note in outcome.notes)


@real
def test_the_real_model_holds_to_its_window_and_its_grammar() -> None:
    # C1
    engine = llama.loaded(REAL, local.SMALL_WINDOW)
    with pytest.raises(TooLong) as long:
        engine.chat(ChatTurn("word " * 4000, 8, 1))
    assert long.value.tokens > long.value.window == local.SMALL_WINDOW
    said = engine.chat(ChatTurn("Is water wet?", 20, 1, {"enum": ["yes", "no"]}))
    assert json.loads(said.text) in ("yes", "no")
    with pytest.raises(Stopped):
        engine.chat(ChatTurn("Count to a hundred.", 200, 1), bool)
