"""Objections are read generously, agreement strictly: every kind of reply, in every form of every protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import crosses
import duels
import panels
import pytest
import replies
import revisions
from pydantic import Field
from replies import KINDS, Kind

from rebut.domain.forms import Form
from rebut.engine.parse import UnreadableReply, parse
from rebut.protocols.ask import forms as ask
from rebut.protocols.cross import forms as cross
from rebut.protocols.duel import forms as duel
from rebut.protocols.panel import forms as panel
from rebut.protocols.revise import forms as revise

Value = Mapping[str, Any]
COMPARED = {"first": "Use Redis.", "second": "Use cookies.", "reason": "Both keep sessions.", "recommendation": ""}


class Vote(Form):
    """A form of a user's own protocol, which does not say what agrees."""

    approve: bool
    reason: str = ""


class OwnVote(Vote):
    """One that does."""

    def is_agreement(self) -> bool:
        return self.approve


CASES: dict[type[Form], tuple[Value, Value]] = {
    # each with a reply that agrees, keeps, concedes or resolves, and one that does not
    duel.Challenge: (duels.challenge(flaws=[]), duels.challenge(agreements=[])),
    duel.Defense: (duels.defense(2, {"D1": "concede"}), duels.defense(2, {"D1": "rebut"})),
    duel.FollowUp: (duels.follow_up(2, {"D1": "resolved"}), duels.follow_up(2, {"D1": "unresolved"})),
    ask.Comparison: (COMPARED | {"same": True}, COMPARED | {"same": False}),
    cross.CodeCritique: (crosses.critique(), crosses.critique(crosses.raised())),
    cross.ProposalCritique: (crosses.proposal(), crosses.proposal(crosses.raised())),
    revise.Critique: (revisions.critique(), revisions.critique(revisions.objection("It loses data."))),
    revise.Revision: (revisions.revision("# A", ["W1"]), revisions.revision("# A", [], ["W1"])),
    revise.Verdict: (revisions.verdict(decision="approve"), revisions.verdict(decision="reject")),
    panel.Challenge: (panels.agree(), panels.objects("One node fails.")),
    panel.Confrontation: (panels.confront({"B1": "accept"}), panels.confront({"B1": "reject"}, changes=[])),
    panel.Brief: (
        {"responses": panels.confront({"B1": "accept"})["responses"]},
        {"responses": panels.confront({"B1": "reject"})["responses"]},
    ),
    panel.Rebuttal: (panels.rebut({"B1": "accept"}), panels.rebut({"B1": "maintain"})),
    OwnVote: ({"approve": True, "reason": "fine"}, {"approve": False, "reason": "unsafe"}),
}
ALWAYS: dict[type[Form], tuple[Value, Value]] = {
    # each with two replies that settle something: there is no reply in these forms that only objects
    duel.Summary: (duels.summary(3, ["I concede."]), duels.summary(3, ["I do not."])),
    duel.Decision: (duels.verdict(winner="proposer"), duels.verdict(winner="challenger")),
    cross.Judgement: (crosses.judgement(), crosses.judgement("C")),
    ask.Choice: (
        {"reasoning": "D1 decides.", "unresolved": [], "better": "answer 1", "answer": "Use Redis."},
        {"reasoning": "D2 decides.", "unresolved": [], "better": "answer 2", "answer": "Use cookies."},
    ),
    cross.Additions: (
        {"findings": crosses.judgement("E", {"F1": "invalid P1"})["findings"]},
        {"findings": crosses.judgement("E", {"F1": "valid P1"})["findings"]},
    ),
    cross.Rebuttal: ({"text": "It holds."}, {"text": "It fails."}),
    cross.Chosen: ({"choice": "A"}, {"choice": "E"}),
    revise.Plan: (revisions.plan(["W1"]), revisions.plan(["W2"])),
    Vote: ({"approve": True, "reason": "fine"}, {"approve": False, "reason": "unsafe"}),
}
NEVER: dict[type[Form], Value] = {
    # each with a reply that takes a position and agrees to nothing
    duel.Opening: duels.opening(),
    cross.NextText: {"text": "# Design\n", "changes": []},
    cross.NextPatch: {"patch": crosses.PATCH, "changes": []},
    revise.Draft: {"document": "# A\n"},
    panel.Personas: panels.personas(),
    panel.Opening: panels.opening(),
    panel.Grounds: panels.grounds("Lead"),
    panel.Assumptions: panels.mapped("Lead", "Architect"),
}


def read(form: type[Form], kind: Kind, agrees: Value, objects: Value) -> str:
    """How a reply of a kind is read."""
    reply = kind.write(json.dumps(agrees), json.dumps(objects))
    try:
        found = parse(reply, form)
    except UnreadableReply:
        return "sent back"
    assert found in (form.model_validate(agrees), form.model_validate(objects)), "it is one of the two, and whole"
    return "agreement" if found == form.model_validate(agrees) else "objection"


def test_there_are_enough_kinds_and_each_is_there_once() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 60


def named(form: type[Form]) -> str:
    return f"{form.__module__.replace('.forms', '').rpartition('.')[2]}.{form.__name__}"


@pytest.mark.parametrize("form", CASES, ids=named)
def test_every_kind_of_reply_is_read_as_it_is_meant(form: type[Form]) -> None:  # C5
    assert {kind.name: read(form, kind, *CASES[form]) for kind in KINDS} == {kind.name: kind.read for kind in KINDS}


@pytest.mark.parametrize("form", ALWAYS, ids=named)
def test_a_form_that_always_settles_something_is_read_only_from_a_reply_that_is_one_object(
    form: type[Form],
) -> None:  # C5
    alone = {"objection, bare", "objection, in a fence", "objection, with the agreement in a text"}
    alone |= {"objection, after thinking that agrees", "objection, after thinking with an open brace"}
    for kind in KINDS:
        strict = kind.read if kind.read == "agreement" or kind.name in alone else "sent back"
        assert read(form, kind, *ALWAYS[form]) == strict, kind.name


@pytest.mark.parametrize("form", NEVER, ids=named)
def test_a_form_that_settles_nothing_is_also_read_from_among_other_text(form: type[Form]) -> None:  # C5
    value = form.model_validate(NEVER[form])
    said = json.dumps(NEVER[form])
    for reply in (
        said,
        f"Here it is:\n{said}\nDone.",
        f"Here:\n\n{replies.fence(replies.pretty(said))}",
        said[:-1] + ",}",
    ):
        assert parse(reply, form) == value


def test_every_form_that_a_protocol_asks_for_is_in_one_of_the_tables() -> None:
    modules = [import_module(f"rebut.protocols.{name}.forms") for name in ("duel", "cross", "revise", "panel")]
    found = {one for module in [*modules, ask] for one in vars(module).values() if _is_form(one)}
    parts = {name for form in found for name in _parts(form)}
    parts |= {base.__name__ for form in found if form.__name__ in parts for base in form.__mro__[1:]}
    asked = {form for form in found if form.__name__ not in parts and form.__module__ != Form.__module__}
    assert asked <= CASES.keys() | ALWAYS.keys() | NEVER.keys()
    assert len(asked) > 20


def _is_form(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, Form) and one is not Form


def _parts(form: type[Form]) -> Iterator[str]:
    yield from form.model_json_schema().get("$defs", {})


# what agrees in a form, where one field alone does not tell


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (cross.CodeCritique, crosses.critique(crosses.raised(severity="P3"), agrees=False)),
        (cross.CodeCritique, crosses.critique(agrees=False)),
        (cross.CodeCritique, crosses.critique(crosses.raised(), agrees=True)),
        (duel.Challenge, duels.challenge(agreements=[{"text": "The name is good."}])),
        (duel.Defense, duels.defense(2, {"D1": "rebut", "D2": "trade-off"})),
        (duel.FollowUp, duels.follow_up(2, {"D1": "unresolved", "D2": "withdrawn"})),
        (duel.FollowUp, duels.follow_up(2, {})),
        (revise.Critique, revisions.critique(revisions.objection("A name.", severity="low", impact="none"))),
        (
            revise.Critique,
            revisions.critique(revisions.objection("It fails."), concessions=[{"text": "x", "id": "W1"}]),
        ),
        (revise.Verdict, revisions.verdict(decision="approve with changes")),
        (panel.Challenge, panels.objects("A remark.", "minor")),
        (panel.Confrontation, panels.confront({"B1": "reject", "B2": "partial"}, changes=[])),
        (panel.Rebuttal, panels.rebut({"B1": "maintain"}, "accept")),
        (panel.Rebuttal, panels.rebut({"B1": "maintain", "B2": "accept"}, "maintain")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_half_an_agreement_is_read_strictly_too(form: type[Form], value: Value) -> None:  # C5
    said = json.dumps(value)
    assert parse(said, form).is_agreement()
    with pytest.raises(UnreadableReply, match="nothing else"):
        parse(f"No.\n{said}", form)
    with pytest.raises(UnreadableReply, match="valid JSON"):
        parse(said[:-1] + ",}", form)


def test_a_field_named_like_the_method_leaves_the_form_strict() -> None:
    with pytest.warns(UserWarning, match="shadows"):

        class Odd(Form):
            """A form that was written before there was such a method."""

            is_agreement: bool = Field(default=False)  # type: ignore[assignment]

    assert parse('{"is_agreement": false}', Odd)
    with pytest.raises(UnreadableReply, match="nothing else"):
        parse('So: {"is_agreement": false}', Odd)
