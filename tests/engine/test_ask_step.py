"""How a question comes to its answer: attempts, send-backs, served context, asking many, fallbacks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import rebut
from rebut.core import errors
from rebut.core.types import Reply, SentBack, Usage
from tests import voices
from tests.voices import Voice, protocol

SEATS = {"author": "fake:a", "critic": "fake:b"}


def run(path: Path, voice: Voice, **named: object) -> rebut.Outcome:
    return rebut.run(path, "Tea?", backends={"fake": voice}, **{"workspace": path.parent, **SEATS, **named})


def resume(voice: Voice, **named: object) -> rebut.Outcome:
    return asyncio.run(rebut.resume(voices.folder().name, backends={"fake": voice}, **named))


def failed(kind: str = "timeout", message: str = "too slow") -> rebut.ParticipantFailed:
    return rebut.ParticipantFailed(kind, message)


ONE = 'a = await debate.ask(debate.seat("author"), "draft", "Write.")\nreturn done(said=a.value)'
FORM = """
class Opinion(Form):
    text: str
    need: list[str] = []

def rules(form):
    return [f"too short: {form.text}"] if len(form.text) < 5 else []

seats = {"author": 1, "critic": 1}

async def run(debate):
    a = await debate.ask(debate.seat("author"), "draft", "Write.", schema=Opinion, check=rules)
    return done(said=a.value.text, complaints=list(a.complaints))
"""


OBJECTS = FORM.replace("[]\n\ndef", "[]\n    def is_agreement(self):\n        return False\n\ndef", 1)
"""A form that agrees to nothing."""


def opinion(text: str, **more: object) -> str:
    return json.dumps({"text": text, **more})


# attempts


def test_every_return_of_a_model_is_on_record_with_its_text_usage_and_class(tmp_path: Path) -> None:
    # C3
    voice = Voice(
        ["no JSON", Reply(opinion("long enough"), "m-2026", "fam", Usage(7, 3), 0.25, notes=("retried once",))]
    )
    outcome = run(protocol(tmp_path, FORM), voice)
    first, second = voices.events("", "attempt")
    assert (first.text, first.outcome, first.input, first.output) == ("no JSON", "ok", 10, 5)
    assert (second.text, second.model, second.family) == (opinion("long enough"), "m-2026", "fam")
    assert (second.input, second.output, second.usd) == (7, 3, 0.25)
    [answered] = voices.events("", "answered")
    assert (answered.value["text"], answered.model, answered.family) == ("long enough", "m-2026", "fam")
    assert outcome.spent.calls == 2 and outcome.spent.tokens == 25
    assert "author: retried once" in outcome.notes


def test_the_answer_is_durable_before_the_protocol_gets_it(tmp_path: Path) -> None:
    # C3: what the coroutine sees stands in the file already
    path = protocol(
        tmp_path,
        """
a = await debate.ask(debate.seat("author"), "draft", "Write.")
journal = next(Path(os.environ["REBUT_HOME"]).glob("sessions/*/journal.jsonl")).read_text()
return done(there='"kind":"answered"' in journal and a.value in journal)
""",
    )
    assert run(path, Voice("a sentence of its own")).data == {"there": True}


def test_a_call_is_on_record_before_it_is_made(tmp_path: Path) -> None:
    # C3
    seen: list[bool] = []

    def look(request: rebut.Request) -> str:
        seen.append(voices.on_record("asked", request.key)())
        return "yes"

    run(protocol(tmp_path, ONE), Voice(look))
    assert seen == [True]


@pytest.mark.parametrize("reply", ["", "  \n ", "\x00\x07"])
def test_an_empty_reply_is_a_failure_and_never_an_argument(tmp_path: Path, reply: str) -> None:
    # C5
    with pytest.raises(rebut.ParticipantFailed) as caught:
        run(protocol(tmp_path, ONE), Voice(reply))
    assert caught.value.kind == "bad reply"
    assert voices.events("", "answered") == []
    assert [e.outcome for e in voices.events("", "attempt")] == ["bad reply"]


def test_whatever_breaks_in_a_model_is_a_failure_of_its_seat(tmp_path: Path) -> None:
    # C5
    with pytest.raises(rebut.ParticipantFailed, match="ZeroDivisionError") as caught:
        run(protocol(tmp_path, ONE), Voice(ZeroDivisionError("oops")))
    assert caught.value.kind == "crashed"


def test_an_unreadable_reply_is_sent_back_once_with_the_problem_and_not_quoted(tmp_path: Path) -> None:
    # C5: what a model is shown it copies
    voice = Voice(["«end what is wrong with it»", "still prose"])
    with pytest.raises(rebut.ParticipantFailed) as caught:
        run(protocol(tmp_path, FORM), voice)
    assert caught.value.kind == "bad reply"
    first, second = voice.asked
    assert first.key == second.key and (first.attempt, second.attempt) == (1, 2)
    assert second.prompt == first.prompt, "the long part stays a stable prefix"
    assert "«begin what is wrong with it " in second.followup and "no JSON object" in second.followup
    assert "«end what is wrong with it»" not in second.followup
    assert [e.why for e in voices.events("", "asked")] == ["ask", "repair"]


def test_after_a_crash_a_call_in_doubt_is_counted_and_the_next_attempt_has_the_next_number(tmp_path: Path) -> None:
    # C3, C4: attempts counted after a crash
    run(protocol(tmp_path, ONE), Voice())
    voices.crash_at(voices.is_("asked"))
    assert len(voices.record().in_doubt) == 1
    voice = Voice("second time")
    outcome = resume(voice)
    assert [r.attempt for r in voice.asked] == [2]
    assert (outcome.spent.calls, outcome.spent.in_doubt) == (2, 1)
    [first, _] = voices.events("", "asked")
    assert voices.record().committed.calls == 2
    assert voices.record().committed.tokens == first.tokens + 15, "in doubt is charged its worst case"


def test_a_call_in_doubt_uses_up_the_limit_on_calls(tmp_path: Path) -> None:
    # C4
    run(protocol(tmp_path, ONE), Voice(), limits={"calls": 1})
    voices.crash_at(voices.is_("asked"))
    voice = Voice()
    with pytest.raises(rebut.ParticipantFailed, match="limit of 1 call ") as caught:
        resume(voice)
    assert caught.value.kind == "budget" and voice.asked == []


def test_a_reply_that_was_recorded_and_not_yet_read_is_not_paid_for_again(tmp_path: Path) -> None:
    # C3
    run(protocol(tmp_path, ONE), Voice("the first answer"))
    voices.crash_at(voices.is_("attempt"))
    voice = Voice("another answer")
    assert resume(voice).data == {"said": "the first answer"}
    assert voice.asked == []


def test_after_a_crash_in_a_repair_the_repair_goes_on(tmp_path: Path) -> None:
    # C3
    run(protocol(tmp_path, FORM), Voice(["prose", opinion("long enough")]))
    voices.crash_at(voices.is_("attempt"))
    voice = Voice(opinion("after the crash"))
    assert resume(voice).data["said"] == "after the crash"
    assert [(r.attempt, bool(r.followup)) for r in voice.asked] == [(2, True)]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("<think>Perhaps APPROVED?</think>\nREJECTED", "REJECTED"),
        ("[THINK]APPROVED[/THINK] REJECTED", "REJECTED"),
        ("REJECTED: the tag <think> is not closed", "REJECTED: the tag <think> is not closed"),
    ],
)
def test_a_reply_without_a_form_is_what_stands_behind_the_thinking(tmp_path: Path, reply: str, said: str) -> None:
    # C5
    assert run(protocol(tmp_path, ONE), Voice(reply)).data == {"said": said}


def test_thinking_that_never_ends_is_sent_back(tmp_path: Path) -> None:
    # C5
    voice = Voice(["<think>Perhaps APPROVED.", "REJECTED"])
    assert run(protocol(tmp_path, ONE), voice).data == {"said": "REJECTED"}
    assert "thinking that never ends" in voice.asked[1].followup


def test_an_agreement_that_an_earlier_version_read_from_among_prose_stays_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C3 C5: what was accepted when it was recorded is not judged again on resume
    with monkeypatch.context() as earlier:
        earlier.setattr("rebut.engine.ask.parse", lambda text, form, truncated: form(text="long enough"))
        run(protocol(tmp_path, FORM), Voice(f"I agree: {opinion('long enough')}"))
    voices.crash_at(voices.is_("answered"))
    voice = Voice(opinion("asked again"))
    assert resume(voice).data["said"] == "long enough"
    assert voice.asked == []


# send-back and complaints


def test_a_reply_that_breaks_the_rules_is_sent_back_once_under_the_same_key(tmp_path: Path) -> None:
    # C10
    voice = Voice([opinion("meh"), opinion("much better")])
    outcome = run(protocol(tmp_path, FORM), voice)
    assert outcome.data == {"said": "much better", "complaints": []}
    assert voice.keys == ["draft@author"] * 2
    assert "too short: meh" in voice.asked[1].followup and opinion("meh") not in voice.asked[1].followup
    assert voice.asked[1].sent_back == SentBack(opinion("meh"), ("too short: meh",))
    assert [e.why for e in voices.events("", "asked")] == ["ask", "send-back"]


def test_what_is_still_wrong_after_the_send_back_comes_with_the_answer_and_is_noted(tmp_path: Path) -> None:
    # C10
    voice = Voice([opinion("meh"), opinion("bah"), opinion("never asked for")])
    outcome = run(protocol(tmp_path, FORM), voice)
    assert outcome.data == {"said": "bah", "complaints": ["too short: bah"]}
    assert len(voice.asked) == 2
    assert "draft@author: too short: bah" in outcome.notes


@pytest.mark.parametrize("second", [failed("timeout"), failed("auth"), "prose", ""])
def test_a_send_back_that_fails_leaves_the_first_answer_standing(
    tmp_path: Path, second: str | rebut.ParticipantFailed
) -> None:
    # C5
    voice = Voice([opinion("meh"), second])
    outcome = run(protocol(tmp_path, OBJECTS), voice)
    assert outcome.data == {"said": "meh", "complaints": ["too short: meh"]}
    assert len(voice.asked) == 2


def test_an_agreement_does_not_stand_in_for_a_later_reply_that_cannot_be_read(tmp_path: Path) -> None:
    # C5: that reply may refuse
    voice = Voice([opinion("meh"), "No, I refuse.", "No."])
    with pytest.raises(rebut.ParticipantFailed, match="no JSON object"):
        run(protocol(tmp_path, FORM), voice)
    assert [e.why for e in voices.events("", "asked")] == ["ask", "send-back", "repair"]


def test_a_limit_that_forbids_the_repair_does_not_bring_an_earlier_agreement_back(tmp_path: Path) -> None:
    # C4 C5
    voice = Voice([opinion("meh"), "No, I refuse."])
    with pytest.raises(rebut.ParticipantFailed, match="limit of 2 calls"):
        run(protocol(tmp_path, FORM), voice, limits={"calls": 2})


def test_a_send_back_that_makes_it_worse_is_not_taken(tmp_path: Path) -> None:
    # C10
    body = FORM.replace('[f"too short: {form.text}"] if len(form.text) < 5 else []', '["wrong"] * form.text.count("x")')
    assert run(protocol(tmp_path, body), Voice([opinion("x"), opinion("xx")])).data["said"] == "x"


def test_a_send_back_that_no_limit_has_room_for_leaves_the_first_answer_standing(tmp_path: Path) -> None:
    # C4
    voice = Voice([opinion("meh"), opinion("much better")])
    assert run(protocol(tmp_path, FORM), voice, limits={"calls": 1}).data["said"] == "meh"
    assert len(voice.asked) == 1


# served context


def test_a_need_is_served_once_from_the_snapshot_and_is_on_record(tmp_path: Path, workspace: Path) -> None:
    # C15
    path = protocol(tmp_path, FORM)

    def say(request: rebut.Request) -> str:
        (workspace / "src/session.py").write_text("changed while they talk\n")
        return opinion("I have to look", need=["src/session.py:2"])

    voice = Voice(say)
    outcome = run(path, voice, workspace=workspace)
    assert outcome.data["said"] == "I have to look"
    assert len(voice.asked) == 2, "a second need is not served"
    assert "ttl = 3600" in voice.asked[1].followup and "changed while" not in voice.asked[1].followup
    assert [e.why for e in voices.events("", "asked")] == ["ask", "context"]
    assert "ttl = 3600" in str(voices.record().facts["draft@author#served"].value)


def test_after_a_crash_the_served_context_comes_from_the_record(tmp_path: Path, workspace: Path) -> None:
    # C15, C3
    voice = Voice([opinion("look", need=["grep:ttl"]), opinion("well then")])
    run(protocol(tmp_path, FORM), voice, workspace=workspace)
    voices.crash_at(voices.is_("fact", "draft@author#served"))
    (voices.folder() / "snapshot").rename(tmp_path / "gone") if (voices.folder() / "snapshot").exists() else None
    (workspace / ".git").rename(tmp_path / "git-gone")
    again = Voice(opinion("well then"))
    assert resume(again).data["said"] == "well then"
    assert [r.followup for r in again.asked] == [voice.asked[1].followup]


def test_a_served_reply_can_still_be_sent_back_for_its_faults(tmp_path: Path, workspace: Path) -> None:
    # C15, C10
    voice = Voice([opinion("look", need=["tree:src"]), opinion("meh"), opinion("much better")])
    outcome = run(protocol(tmp_path, FORM), voice, workspace=workspace)
    assert outcome.data["said"] == "much better"
    assert [e.why for e in voices.events("", "asked")] == ["ask", "context", "send-back"]


def test_an_agreement_that_asks_for_more_is_not_yet_an_answer(tmp_path: Path, workspace: Path) -> None:
    # C5 C15: what it reads may change its mind
    look = opinion("I agree so far", need=["src/session.py:2"])
    for second, problem in ((failed(), "too slow"), ("No, I refuse.", "no JSON object")):
        with pytest.raises(rebut.ParticipantFailed, match=problem):
            run(protocol(tmp_path, FORM), Voice([look, second]), workspace=workspace)
    with pytest.raises(rebut.ParticipantFailed, match="limit of 1 call "):
        run(protocol(tmp_path, FORM), Voice([look]), workspace=workspace, limits={"calls": 1})
    for later in (failed(), "prose"):
        outcome = run(protocol(tmp_path, OBJECTS), Voice([look, later]), workspace=workspace)
        assert outcome.data["said"] == "I agree so far", "an objection stands"


def test_who_has_to_answer_again_still_sees_what_was_served(tmp_path: Path, workspace: Path) -> None:
    # C5 C15
    look = opinion("I have to look", need=["src/session.py:2"])
    for second, why in (("No, I refuse.", "could not be read"), (opinion("meh"), "breaks the rules")):
        voice = Voice([look, second, opinion("much better")])
        assert run(protocol(tmp_path, FORM), voice, workspace=workspace).data["said"] == "much better"
        assert voice.asked[2].followup.startswith(voice.asked[1].followup) and why in voice.asked[2].followup
        assert "ttl = 3600" in voice.asked[2].followup


# one failure


def test_ask_raises_and_the_question_is_open_again_for_resume(tmp_path: Path) -> None:
    # C5
    with pytest.raises(rebut.ParticipantFailed, match="too slow"):
        run(protocol(tmp_path, ONE), Voice(failed()))
    [event] = voices.events("", "failed")
    assert (event.key, event.failure, event.message, event.reopened) == ("draft@author", "timeout", "too slow", True)
    voice = Voice("now")
    assert resume(voice).data == {"said": "now"}
    assert [r.attempt for r in voice.asked] == [2]


TRY = """
a = await debate.try_ask(debate.seat("author"), "draft", "Write.")
b = await debate.ask(debate.seat("critic"), "judge", f"It is {a.kind if isinstance(a, Failure) else a.value}.")
return done(first=a.kind if isinstance(a, Failure) else a.value, judged=b.value)
"""


def test_try_ask_gives_a_failure_as_a_value_which_stays_one_on_resume(tmp_path: Path) -> None:
    # C5: the debate has gone on from there, so that a later success must not change the past
    run(protocol(tmp_path, TRY), Voice({"draft@author": failed("rate limit")}))
    voices.crash_at(voices.is_("asked", "judge@critic"))
    voice = Voice("fine")
    outcome = resume(voice)
    assert outcome.data == {"first": "rate limit", "judged": "fine"}
    assert voice.keys == ["judge@critic"]
    assert [(s.seat, s.answered, s.failed) for s in outcome.seats] == [("author", 0, 1), ("critic", 1, 0)]
    assert outcome.seats[0].why.startswith("rate limit")


# asking many

MANY = """
from pydantic import BaseModel

class Settings(BaseModel):
    need: int = 2

seats = {"author": 3}

async def run(debate):
    asks = [Ask(who, f"You are {who.seat}.") for who in debate.seats("author")]
    got = await debate.ask_all("vote", asks, need=debate.settings.need)
    last = await debate.ask(debate.seats("author")[0], "close", "Close.")
    return done(
        all=[a.value if isinstance(a, Answer) else a.kind for a in got.all],
        answered=[a.who.seat for a in got.answered],
        failed=[f.who.seat for f in got.failed],
    )
"""
THREE = {"author": ["fake:a", "fake:b", "fake:c"]}


def many(path: Path, voice: Voice, **named: object) -> rebut.Outcome:
    return rebut.run(path, "t", backends={"fake": voice}, workspace=path.parent, **{**THREE, **named})


def test_answers_come_in_the_order_of_asking_whoever_is_first(tmp_path: Path) -> None:
    # C5
    gates = [asyncio.Event() for _ in range(4)]
    gates[3].set()

    async def last_first(request: rebut.Request) -> str | rebut.ParticipantFailed:
        n = int(request.participant.seat[-1])
        if request.key.startswith("vote"):
            await gates[n].wait()
            gates[n - 1].set()
        return failed("auth") if n == 2 else f"from {n}"

    voice = Voice(last_first)
    outcome = many(protocol(tmp_path, MANY), voice)
    assert outcome.data == {
        "all": ["from 1", "auth", "from 3"],
        "answered": ["author.1", "author.3"],
        "failed": ["author.2"],
    }
    settled = [e.key for e in voices.events("", "answered", "failed")]
    assert settled == ["vote@author.3", "vote@author.2", "vote@author.1", "close@author.1"], "journaled as they arrive"


def test_a_failure_that_the_debate_could_do_without_stays_one_on_resume(tmp_path: Path) -> None:
    # C5
    many(protocol(tmp_path, MANY), Voice({"vote@author.2": failed()}))
    voices.crash_at(voices.is_("asked", "close@author.1"))
    voice = Voice()
    assert resume(voice).data["all"] == ["yes", "timeout", "yes"]
    assert voice.keys == ["close@author.1"]


def test_too_few_answers_end_the_run_and_the_failed_are_open_again(tmp_path: Path) -> None:
    # C5
    voice = Voice({"vote@author.1": failed("auth", "no login"), "vote@author.3": failed("timeout")})
    with pytest.raises(rebut.TooFewReplies, match=r"1 of 3 answered, 2 needed.*author.1.*auth, no login"):
        many(protocol(tmp_path, MANY), voice)
    last = {e.key: e.reopened for e in voices.events("", "failed")}
    assert last == {"vote@author.1": True, "vote@author.3": True}
    again = Voice("late")
    assert resume(again).data["all"] == ["late", "yes", "late"]
    assert sorted(again.keys) == ["close@author.1", "vote@author.1", "vote@author.3"]


def test_failures_that_a_dead_process_left_are_asked_again_when_they_would_end_the_run(tmp_path: Path) -> None:
    # C3: killed after the failures and before they could be opened again
    voice = Voice({"vote@author.1": failed(), "vote@author.3": failed()})
    with pytest.raises(rebut.TooFewReplies):
        many(protocol(tmp_path, MANY), voice)
    voices.crash_at(lambda e: e.kind == "failed" and e.key == "vote@author.3" and not e.reopened)
    assert [e.reopened for e in voices.events("", "failed")] == [False, False]
    assert resume(Voice("late")).data["all"] == ["late", "yes", "late"]


def test_siblings_finish_and_are_kept_before_a_fatal_error_leaves(tmp_path: Path) -> None:
    # C5, C14
    gate = asyncio.Event()

    async def say(request: rebut.Request) -> str:
        if request.participant.seat == "author.1":
            gate.set()
            raise errors.WaitingForPerson("nobody there")
        await gate.wait()
        await asyncio.sleep(0.05)  # long enough for an error that does not wait to have left
        return "kept"

    with pytest.raises(errors.WaitingForPerson):
        many(protocol(tmp_path, MANY), Voice(say))
    assert sorted(e.key for e in voices.events("", "answered")) == ["vote@author.2", "vote@author.3"]


def test_parts_tell_two_questions_to_one_seat_apart(tmp_path: Path) -> None:
    # C3
    path = protocol(
        tmp_path,
        """
a = debate.seat("author")
got = await debate.ask_all("look", [Ask(a, "one", part="x"), Ask(a, "two", part="y")])
return done(said=[g.value for g in got.answered])
""",
    )
    assert run(path, Voice(lambda r: r.prompt.upper())).data == {"said": ["ONE", "TWO"]}


# fallback

TWICE = """
a = await debate.ask(debate.seat("author"), "draft", "Write.")
b = await debate.ask(debate.seat("author"), "again", "Again.")
return done(said=[a.value, b.value], spoke=[a.model, b.model])
"""


def with_fallback(path: Path, main: Voice, spare: Voice) -> rebut.Outcome:
    return rebut.run(
        path,
        "t",
        backends={"fake": main, "spare": spare},
        workspace=path.parent,
        fallbacks={"author": ["spare:s"]},
        **SEATS,
    )


def test_a_fallback_speaks_for_its_seat_for_the_rest_of_the_debate(tmp_path: Path) -> None:
    # C5
    main, spare = Voice({"draft@author": failed("auth", "no login")}), Voice("spare says", model="spare-1")
    outcome = with_fallback(protocol(tmp_path, TWICE), main, spare)
    assert main.keys == ["draft@author"]
    assert spare.keys == ["draft@author", "again@author"]
    assert outcome.data == {"said": ["spare says"] * 2, "spoke": ["spare-1"] * 2}
    assert [e.model for e in voices.events("", "answered")] == ["spare-1", "spare-1"]
    assert [e.spec for e in voices.events("", "asked")] == ["fake:a", "spare:s", "spare:s"]
    assert any("spare:s answered for fake:a, as a fallback (auth: no login)" in note for note in outcome.notes)
    assert outcome.seats[0].spec == "fake:a" and outcome.seats[0].spoke == ("spare-1",)


def test_resume_keeps_the_fallback(tmp_path: Path) -> None:
    # C3
    main, spare = Voice({"draft@author": failed("crashed")}), Voice("spare says", model="spare-1")
    with_fallback(protocol(tmp_path, TWICE), main, spare)
    voices.crash_at(voices.is_("answered", "draft@author"))
    main, spare = Voice(), Voice("spare says", model="spare-1")
    outcome = asyncio.run(rebut.resume(voices.folder().name, backends={"fake": main, "spare": spare}))
    assert main.keys == [] and spare.keys == ["again@author"]
    assert any("as a fallback" in note for note in outcome.notes)


def test_a_crash_between_the_failure_and_the_fallback_comes_to_the_same(tmp_path: Path) -> None:
    # C3
    main, spare = Voice({"draft@author": failed("crashed")}), Voice("spare says", model="spare-1")
    with_fallback(protocol(tmp_path, TWICE), main, spare)
    voices.crash_at(voices.is_("attempt"))
    main, spare = Voice(), Voice("spare says", model="spare-1")
    outcome = asyncio.run(rebut.resume(voices.folder().name, backends={"fake": main, "spare": spare}))
    assert main.keys == [] and spare.keys == ["draft@author", "again@author"]
    assert outcome.data["spoke"] == ["spare-1"] * 2


def test_after_a_bad_reply_the_fallback_speaks_and_the_reason_is_told(tmp_path: Path) -> None:
    # C5 J13
    spare = Voice("spare says", model="spare-1")
    outcome = with_fallback(protocol(tmp_path, TWICE), Voice(""), spare)
    assert spare.keys == ["draft@author", "again@author"]
    assert any("spare:s answered for fake:a, as a fallback (bad reply:" in note for note in outcome.notes)


def test_when_the_fallback_fails_too_the_seat_has_failed(tmp_path: Path) -> None:
    # C5
    with pytest.raises(rebut.ParticipantFailed) as caught:
        with_fallback(protocol(tmp_path, TWICE), Voice(failed("auth")), Voice(failed("rate limit", "slow down")))
    assert (caught.value.kind, caught.value.message) == ("rate limit", "slow down")
