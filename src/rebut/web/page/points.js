import { add, el, fill, long, plural, some } from "./dom.js";

// The board of points, the lines that they cite, and the matrix of seats and points.

export const MARKS = { found: "✓", moved: "→", located: "○", absent: "✗", uncheckable: "?", unchecked: "·" };
const MEANING = {
  found: "the quoted words stand there",
  moved: "the quoted words stand elsewhere in that file",
  located: "the place exists; nothing is quoted",
  absent: "no such file, line or words",
  uncheckable: "the program cannot look it up",
};

export function citation(cite, source, extra = "") {
  const mark = cite.mark || "unchecked";
  const body = el("div", { class: "lines", hidden: true });
  const button = el(
    "button",
    { type: "button", class: `cite ${mark}`, "aria-expanded": "false", title: MEANING[mark] ?? mark, click: open },
    el("span", { class: "sign", "aria-hidden": "true" }, MARKS[mark] ?? "·"),
    el("span", { class: "where" }, (cite.place || "no place").slice(0, 300)),
    el("span", { class: "mark" }, `${mark}${extra}`),
  );
  async function open() {
    const wanted = body.hidden;
    body.hidden = !wanted;
    button.setAttribute("aria-expanded", String(wanted));
    if (!wanted || body.firstChild) return;
    fill(body, el("p", { class: "quiet" }, "…"));
    fill(body, lines(await source.lines(cite.id), cite));
  }
  return el("div", { class: "citation" }, button, body);
}

export function lines(found, cite) {
  const out = [];
  if (cite.quote) out.push(el("p", { class: "quoted" }, "quoted: ", el("q", {}, ...long(cite.quote, 600))));
  if (found.lines) {
    const rows = found.lines.map((line, n) => row(found, line, found.first + n));
    out.push(el("p", { class: "file" }, found.path), el("pre", { class: "code", tabindex: "0" }, rows));
    if (cite.mark === "absent") out.push(el("p", { class: "instead" }, "This is what stands there instead."));
  }
  const note = [cite.note, found.note].filter(Boolean).filter((one, n, all) => all.indexOf(one) === n);
  if (note.length) out.push(el("p", { class: "note" }, note.join("; ")));
  return out;
}

function row(found, line, number) {
  const cited = number >= found.from && number <= found.to;
  const hits = (found.hits ?? []).filter(([n]) => n === number);
  const text = [];
  let at = 0;
  for (const [, a, b] of hits) {
    text.push(line.slice(at, a), el("mark", {}, line.slice(a, b)));
    at = b;
  }
  text.push(line.slice(at));
  return el("span", { class: cited ? "line cited" : "line" }, el("span", { class: "number" }, `${cited ? "›" : " "}${number}`), ...text, "\n");
}

// A check: what it is to show, its mark, its code and what it did.
export function proof(check) {
  const kept = [el("pre", { class: "code", tabindex: "0" }, check.code)];
  if (check.output) kept.push(el("p", { class: "file" }, "what it did"), el("pre", { class: "code", tabindex: "0" }, check.output));
  if (check.command) kept.push(el("p", { class: "quiet" }, check.command));
  const mark = (check.mark || "not run").replace(" ", "-");
  return el("details", { class: `check ${mark}` }, el("summary", {}, el("b", {}, `check ${check.verdict}`), ` (${check.runner}, ${check.claim})`), kept);
}

export function board(debate, source, wanted) {
  const points = [...debate.points.values()].sort((a, b) => rank(debate, a) - rank(debate, b));
  const counts = new Map();
  for (const point of points) counts.set(debate.tone(point), (counts.get(debate.tone(point)) ?? 0) + 1);
  const out = el("div", {});
  const list = el("div", { class: "cards" });
  const filters = el("div", { class: "filters", role: "group", "aria-label": "Which points are shown" });
  const tones = [["all", "all", points.length], ...["open", "raised", "answered", "settled", "dropped"].filter((t) => counts.has(t)).map((t) => [t, TONES[t], counts.get(t)])];
  let now = wanted.tone && counts.has(wanted.tone) ? wanted.tone : "all";
  const buttons = tones.map(([tone, word, count]) =>
    el("button", { type: "button", class: `filter ${tone}`, "aria-pressed": String(tone === now), click: () => pick(tone) }, `${word} ${count}`),
  );
  function pick(tone) {
    now = wanted.tone = tone;
    for (const [n, [name]] of tones.entries()) buttons[n].setAttribute("aria-pressed", String(name === tone));
    draw();
  }
  function draw() {
    out.querySelectorAll(":scope > .more").forEach((one) => one.remove());
    fill(list);
    some(now === "all" ? points : points.filter((p) => debate.tone(p) === now), (p) => card(debate, p, source, wanted), list, 40);
  }
  if (tones.length > 2) add(filters, buttons);
  add(out, [tones.length > 2 ? filters : null, list]);
  draw();
  if (debate.unmatched.length) {
    const rows = debate.unmatched.map((m) => el("li", {}, `${m.by}, round ${m.round}, about ${m.point}, which does not exist: `, ...long(m.reason ?? "", 600)));
    add(out, [el("h3", {}, "Not matched"), el("ul", {}, rows)]);
  }
  return out;
}

const TONES = { open: "open", raised: "not answered", answered: "answered", settled: "settled", dropped: "set aside" };

function rank(debate, point) {
  const tone = ["open", "raised", "answered", "settled", "dropped"].indexOf(debate.tone(point));
  return tone * 100000 + Number(debate.severity(point)[1] ?? 9) * 10000 + Number(point.id.replace(/\D/g, "") || 0) / 10;
}

function card(debate, point, source, wanted) {
  const severity = debate.severity(point);
  const tone = debate.tone(point);
  const detail = el("div", { class: "detail", hidden: true });
  const open = wanted.open?.has(point.id);
  const head = el(
    "button",
    { type: "button", class: "head", "aria-expanded": "false", click: () => toggle() },
    el("span", { class: `severity ${severity}` }, severity),
    el("span", { class: "id" }, point.id),
    el("span", { class: `fate ${tone}` }, debate.fate(point)),
    el("span", { class: "chevron", "aria-hidden": "true" }, "▸"),
  );
  const made = el("article", { class: `card ${tone}`, id: `point-${point.id}` }, head, el("div", { class: "words" }, ...long(point.text, 900)), byline(debate, point));
  const cites = el("div", { class: "cites" });
  for (const cite of (point.said ?? []).flatMap((one) => one.cites ?? []).slice(0, 12)) cites.append(citation(cite, source));
  if (!cites.firstChild) cites.append(el("span", { class: "cite none" }, "cites nothing"));
  for (const one of point.said ?? []) if (one.check) cites.append(proof(one.check));
  made.append(cites, detail);
  function toggle(show = detail.hidden) {
    detail.hidden = !show;
    head.setAttribute("aria-expanded", String(show));
    made.classList.toggle("opened", show);
    wanted.open ??= new Set();
    if (show) wanted.open.add(point.id);
    else wanted.open.delete(point.id);
    if (show && !detail.firstChild) fill(detail, history(debate, point, source));
  }
  made.open = toggle;
  if (open) toggle(true);
  return made;
}

function byline(debate, point) {
  const about = point.about ? `, about ${point.about}` : "";
  const raised = debate.severity(point) !== point.raised_as ? `, raised as ${point.raised_as}` : "";
  return el("p", { class: "by" }, `${(point.voices ?? [point.by]).join(" and ")}, round ${point.round}${point.category ? `, ${point.category}` : ""}${about}${raised}`);
}

function history(debate, point, source) {
  const rows = [];
  const finding = debate.outcome?.review?.findings?.[point.id];
  for (const one of point.said ?? []) rows.push([one.round, "raised", one.was ? `raised it as ${one.was}` : "raised it", one]);
  for (const move of point.moves ?? []) rows.push([move.round, move.kind, move.word, move]);
  for (const slip of point.slips ?? []) rows.push([slip.round, "slip", slip.kind === "dropped" ? "dropped it without a reason" : "walked its concession back without new evidence", slip]);
  rows.sort((a, b) => a[0] - b[0]);
  const out = el("ol", { class: "history" });
  for (const [round, kind, word, one] of rows) {
    const body = el("li", { class: kind }, el("p", { class: "who" }, el("b", {}, one.by), ` · round ${round} · ${word}${one.severity ? ` · ${one.severity}` : ""}`));
    const text = one.reason ?? one.text;
    if (text) body.append(el("p", { class: "words" }, ...long(text, 2000)));
    if (one.action) body.append(el("p", { class: "action" }, "to do: ", ...long(one.action, 900)));
    if (one.fix) body.append(el("p", { class: "action" }, "proposed text:"), el("pre", { class: "code", tabindex: "0" }, one.fix.slice(0, 8000)));
    if (kind !== "raised") for (const cite of one.cites ?? []) body.append(citation(cite, source));
    if (kind !== "raised" && one.check) body.append(proof(one.check));
    out.append(body);
  }
  const parts = [out];
  if (finding?.reason) parts.push(el("p", { class: "note" }, `The judge: ${finding.reason}`));
  const others = debate.outcome?.similar?.[point.id];
  if (others) parts.push(el("p", { class: "note" }, `${others.join(", ")} cite the same lines; these are separate ${debate.noun}s.`));
  return parts;
}

export function claims(debate, source) {
  const all = [...debate.claims.values()];
  if (!all.length) return null;
  const list = el("div", { class: "claims" });
  const made = some(all, (claim) => {
    const cites = (claim.cites ?? []).map((cite) => citation(cite, source));
    if (claim.check) cites.push(proof(claim.check));
    return el("div", { class: "claim", id: `claim-${claim.id}` }, el("span", { class: "id" }, claim.id), el("span", { class: "words" }, ...long(claim.text, 600)), el("span", { class: "by" }, `${claim.by}, round ${claim.round}`), cites.length ? cites : el("span", { class: "cite none" }, "cites nothing"));
  }, list, 30);
  return el("details", { class: "all-claims" }, el("summary", {}, `${plural(all.length, "claim")} of the parties, with what ${all.length === 1 ? "it cites" : "they cite"}`), made);
}

// Who did what about which point: rows are points, columns are seats.
const SIGNS = { raised: "●", concede: "✓", defend: "✗", partly: "◐", withdraw: "○", resolve: "✓", maintain: "■", contest: "■", mend: "✓" };

export function matrix(debate) {
  const points = [...debate.points.values()];
  const acting = new Set();
  for (const p of points) {
    for (const v of p.voices ?? [p.by]) acting.add(v);
    for (const m of p.moves ?? []) acting.add(m.by);
  }
  const seats = debate.seats.map((s) => s.seat).filter((s) => acting.has(s));
  if (points.length === 0 || seats.length < 3) return null;
  const head = el("tr", {}, el("th", { scope: "col" }, debate.noun), seats.map((seat) => el("th", { scope: "col" }, seat)), el("th", { scope: "col" }, "now"));
  const body = el("tbody", {});
  for (const point of points.slice(0, 200)) {
    const cells = seats.map((seat) => {
      const did = [];
      if ((point.voices ?? [point.by]).includes(seat)) did.push(["raised", "raised it"]);
      for (const m of point.moves ?? []) if (m.by === seat) did.push([m.kind, m.word]);
      return el("td", {}, did.map(([kind, word]) => el("span", { class: `did ${kind}` }, el("span", { "aria-hidden": "true" }, SIGNS[kind] ?? "·"), ` ${word}`)));
    });
    body.append(el("tr", {}, el("th", { scope: "row" }, el("a", { href: `#point-${point.id}` }, point.id), " ", point.text.slice(0, 90), point.text.length > 90 ? "…" : ""), cells, el("td", {}, el("span", { class: `fate ${debate.tone(point)}` }, debate.fate(point)))));
  }
  return el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Seats and points" }, el("table", { class: "matrix" }, el("thead", {}, head), body));
}
