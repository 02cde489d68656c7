"""The files of a review's folder, all made from the record; and the sentence that names the final artifact."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from rebut.core.json_value import Json
from rebut.domain.review_result import ReviewResult
from rebut.domain.session_status import fallbacks
from rebut.engine.protocol import Artifact, Ended
from rebut.protocols.cross import render
from rebut.protocols.cross.settings import FOLDER
from rebut.protocols.cross.state import CrossState
from rebut.protocols.cross.versions import GIVEN, ArtifactVersion
from rebut.protocols.shared import json_text
from rebut.record.record import Record
from rebut.workspace.targets.target import Target, target_of

SCHEMA = 1


def artifacts(ended: Ended) -> list[Artifact]:
    record = ended.record
    data: Mapping[str, Any] = ended.outcome.data if ended.outcome else getattr(ended.error, "data", {})
    target = target_of(record)
    assert target is not None
    made = ReviewResult.from_json(data["contract"]) if "contract" in data else None
    versions = [v for v in data.get("versions", ()) if isinstance(v, dict)]
    files = {"artifact.md": render.artifact(target), "metadata.json": json_text(metadata(ended, target, made))}
    files |= {f"round-{n}-input.md": text for n, text in inputs(record).items()}
    files |= {str(name): str(text) for name, text in data.get("pages", {}).items()}
    for version in versions:
        if whole := version.get("whole"):
            files[f"artifact-v{version['version']}.md"] = str(whole)
        elif version["text"] and version["text"] != target.text:
            files[f"artifact-v{version['version']}.md"] = f"{version['text'].rstrip()}\n"
        if patch := patch_of(version):
            files[f"artifact-v{version['version']}.patch"] = patch
        if patch := str(version.get("text_patch") or ""):
            files[f"artifact-v{version['version']}-text.patch"] = patch
    if made:
        files["decision.json"] = json_text(decision(ended, made, versions))
        files["summary.md"] = made.markdown(ended.outcome.heading if ended.outcome else "ABORTED", fallbacks(record))
        if versions and made.decision in ("Compromise", "Accept Opposite"):
            final = {
                "final.patch": patch_of(versions[-1]),
                "final-text.patch": str(versions[-1].get("text_patch") or ""),
            }
            files |= {name: patch for name, patch in final.items() if patch}
    base = f"{ended.settings.state_dir}/{name_of(record)}" if ended.settings.state_dir else FOLDER
    return [Artifact(f"{base}/{name}", text) for name, text in files.items()]


def inputs(record: Record) -> dict[int, str]:
    """Round → the prompts sent to the critic, part by part. They are in code fences, as they quote texts of others."""
    out: dict[int, list[str]] = {}
    for key, call in record.calls.items():
        scope, _, step = key.rpartition("/")
        if not step.startswith("critique") or not scope[1:].isdigit():
            continue
        first = call.asked.get(min(call.asked, default=0))
        reused = call.answered.copied_from if call.answered else ""
        text = first.prompt if first else f"(reused from session {reused})" if reused else "(not asked)"
        part = step.partition("@")[0].partition(".")[2]
        shown = render.fenced(text, "text") if first else text
        out.setdefault(int(scope[1:]), []).append(f"<!-- part: {part} -->\n\n{shown}" if part else shown)
    return {n: "\n\n".join(texts).rstrip() + "\n" for n, texts in out.items()}


def metadata(ended: Ended, target: Target, made: ReviewResult | None) -> dict[str, Json]:
    record = ended.record
    return {
        "schema": SCHEMA,
        "session": name_of(record),
        "rebut_session": record.opened.id,
        "target": target.kind,
        "confidence": target.confidence,
        "why": target.why,
        "scope": target.scope,
        "base": target.base,
        "new": target.new,
        "rounds": made.rounds if made else 0,
        "max_rounds": ended.planned,
        "intensity": ended.settings.intensity,
        "mode": ended.settings.mode,
        "limits": dict(record.limits),
        "seats": [{"seat": row["seat"], "spec": row["spec"]} for row in record.opened.seats],
        "fallbacks": list(fallbacks(record)),
        "workspace": record.opened.workspace,
        "timestamp": record.lines[0].at,
        "finished": record.lines[-1].at,
        "left_out": list(target.left_out),
        "forked_from": record.opened.forked_from,
    }


def decision(ended: Ended, made: ReviewResult, versions: list[dict[str, Json]]) -> dict[str, Json]:
    """`decision.json`: the result for machines, with the judge's recommendations."""
    outcome = ended.outcome
    return {
        "schema": SCHEMA,
        "session": name_of(ended.record),
        "rebut_session": ended.record.opened.id,
        **made.to_json(),
        "heading": outcome.heading if outcome else "ABORTED",
        "conclusive": bool(outcome and outcome.conclusive),
        "error": ended.error.message if ended.error else None,
        "fallbacks": list(fallbacks(ended.record)),
        "concentration": made.concentration(),
        "versions": [{"version": v["version"], "by": v["by"], "changes": v["changes"]} for v in versions],
        "timestamp": ended.record.lines[-1].at,
    }


def final_artifact(target: Target, final: ArtifactVersion, decision: str, state: CrossState) -> str:
    """Say in which files the final artifact is."""
    what = "the change" if target.changes else "the text"
    if decision == "Accept Opposite" and not state.accepted:
        return f"not written: {what} as it was, with the critic's findings, to be fixed by hand"
    if final.n == 1:
        return f"{what} as it was ({target.scope or 'artifact.md'})"
    name = f"artifact-v{final.n}" if decision == "Stopped" else "final"
    of_text = final.whole and not target.is_beside_change
    over = f"for {target.file or GIVEN}" if of_text else "on top of the change that was reviewed"
    parts = [f"{name}.patch, {over}"] if patch_of(final.to_json()) else []
    parts += [f"{name}-text.patch, for {GIVEN}"] if final.text_patch else []
    rewritten = final.whole or (final.text and final.text != state.versions[0].text)
    parts += [f"artifact-v{final.n}.md"] if rewritten else []
    undecided = ", on which there is no decision" if decision == "Stopped" else ""
    return f"version {final.n}{undecided}: {'; '.join(parts) or 'nothing was changed'}"


def patch_of(version: Mapping[str, Any]) -> str:
    """Return a version's patch, as git accepts it if that is on record; bytes that are not UTF-8 are lone surrogates.

    Empty if only the text beside a change differs: that text has its own patch, `text_patch`.
    """
    exact = base64.b64decode(version.get("exact") or "")
    if not exact:
        return "" if version.get("text_patch") else str(version["patch"])
    return exact.decode("utf-8", "surrogateescape")


def name_of(record: Record) -> str:
    return record.opened.aliases[0] if record.opened.aliases else record.opened.id
