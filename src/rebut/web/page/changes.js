import { el, long, plural } from "./dom.js";
import { markdown } from "./markdown.js";

// The change under review with its findings in place, later versions, drafts from round to round, answers side by side.

const MOST_ROWS = 1200;

export function change(debate, source) {
  if (!debate.target) return null;
  const out = [];
  const files = debate.target.files ?? [];
  const budget = { left: MOST_ROWS };
  const placed = findings(debate);
  for (const file of files) out.push(fileView(file, placed.get(file.path) ?? new Map(), debate, source, budget, false));
  if (debate.target.text) out.push(el("details", { class: "text", open: files.length === 0 }, el("summary", {}, "the text under review"), markdown(debate.target.text)));
  for (const cite of (debate.target.cites ?? []).filter((c) => c.startsWith("absent"))) out.push(el("p", { class: "failure" }, cite));
  for (const name of debate.target.left_out ?? []) out.push(el("p", { class: "complaint" }, `not read: ${name}`));
  if (!out.length) return null;
  return [el("p", { class: "quiet" }, debate.target.line), ...out];
}

// path → line of the new side → points
function findings(debate) {
  const out = new Map();
  for (const point of debate.points.values()) {
    for (const cite of (point.said ?? []).flatMap((one) => one.cites ?? [])) {
      const found = /^(.+?):(\d+)(?:-(\d+))?$/.exec(cite.place);
      if (!found) continue;
      const path = found[1].replace(/^\.\//, "");
      if (!out.has(path)) out.set(path, new Map());
      const line = Number(found[3] ?? found[2]);
      const list = out.get(path).get(line) ?? [];
      if (!list.includes(point)) list.push(point);
      out.get(path).set(line, list);
    }
  }
  return out;
}

export function fileView(file, placed, debate, source, budget, split) {
  const table = el("table", { class: split ? "diff split" : "diff" });
  const body = el("tbody", {});
  const used = new Set();
  for (const [oldStart, newStart, text] of file.hunks ?? []) {
    body.append(el("tr", { class: "hunk" }, el("td", { colspan: "4" }, `line ${newStart}`)));
    if (text === null) {
      body.append(el("tr", { class: "left-out" }, el("td", { colspan: "4" }, "these lines are not in this file, because nothing cites them")));
      continue;
    }
    let o = oldStart;
    let n = newStart;
    const rows = [];
    for (const line of text.split("\n")) {
      const sign = line[0] ?? " ";
      if (sign === "\\") continue;
      const row = { sign, text: line.slice(1), old: sign === "+" ? null : o, new: sign === "-" ? null : n };
      if (sign !== "+") o += 1;
      if (sign !== "-") n += 1;
      rows.push(row);
    }
    for (const row of split ? paired(rows) : rows.map((r) => [r])) {
      if (budget.left <= 0) break;
      budget.left -= 1;
      body.append(split ? splitRow(row) : plainRow(row[0]));
      const number = (row[1] ?? row[0])?.new;
      for (const point of (number && placed.get(number)) || []) {
        used.add(point);
        body.append(el("tr", { class: "finding" }, el("td", { colspan: "4" }, note(point, debate))));
      }
    }
  }
  if (budget.left <= 0) body.append(el("tr", { class: "left-out" }, el("td", { colspan: "4" }, "The rest is long and not drawn here.")));
  table.append(body);
  const rest = [...placed.values()].flat().filter((p) => !used.has(p));
  return el(
    "section",
    { class: "file-change" },
    el("h3", {}, file.path, file.old && file.old !== file.path ? ` (was ${file.old})` : ""),
    file.note ? el("p", { class: "quiet" }, file.note) : null,
    file.hunks?.length ? el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": `Change of ${file.path}` }, table) : null,
    rest.length ? el("div", { class: "elsewhere" }, rest.map((p) => note(p, debate))) : null,
  );
}

function note(point, debate) {
  return el("div", { class: `inline-finding ${debate.tone(point)}` }, el("span", { class: `severity ${debate.severity(point)}` }, debate.severity(point)), " ", el("a", { href: `#point-${point.id}` }, point.id), " ", ...long(point.text, 500), " ", el("span", { class: `fate ${debate.tone(point)}` }, debate.fate(point)));
}

function plainRow(row) {
  return el("tr", { class: NAMES[row.sign] ?? "same" }, el("td", { class: "number" }, row.old ?? ""), el("td", { class: "number" }, row.new ?? ""), el("td", { class: "sign" }, row.sign), el("td", { class: "code" }, row.text.slice(0, 4000)));
}

const NAMES = { "+": "added", "-": "removed" };

function paired(rows) {
  const out = [];
  let at = 0;
  while (at < rows.length) {
    if (rows[at].sign === " ") {
      out.push([rows[at], rows[at]]);
      at += 1;
      continue;
    }
    const gone = [];
    const came = [];
    for (; at < rows.length && rows[at].sign === "-"; at += 1) gone.push(rows[at]);
    for (; at < rows.length && rows[at].sign === "+"; at += 1) came.push(rows[at]);
    for (let n = 0; n < Math.max(gone.length, came.length); n += 1) out.push([gone[n] ?? null, came[n] ?? null]);
  }
  return out;
}

function splitRow([a, b]) {
  const side = (row, number, sign) => [el("td", { class: "number" }, row ? (row[number] ?? "") : ""), el("td", { class: `code ${row && row.sign === sign ? NAMES[sign] : row ? "same" : "nothing"}` }, row ? `${row.sign === sign ? sign : " "} ${row.text.slice(0, 4000)}` : "")];
  return el("tr", {}, side(a, "old", "-"), side(b, "new", "+"));
}

export function versions(debate, source) {
  const out = [];
  const budget = { left: MOST_ROWS };
  for (const one of debate.versions) {
    out.push(el("h3", {}, `Version ${one.version}${one.round ? `, written in round ${one.round}` : ""}`), el("p", { class: "quiet" }, "the reviewed change on the left, this version on the right"));
    for (const file of one.files ?? []) out.push(fileView(file, new Map(), debate, source, budget, true));
  }
  const patch = debate.outcome?.review?.patch;
  if (patch?.length && !debate.versions.length) for (const file of patch) out.push(fileView(file, new Map(), debate, source, budget, true));
  return out.length ? out : null;
}

export function drafts(debate) {
  const seats = new Map();
  for (const call of debate.calls.values()) {
    if (!call.answered?.document) continue;
    if (!seats.has(call.seat)) seats.set(call.seat, []);
    seats.get(call.seat).push(call);
  }
  if (!seats.size) return null;
  const out = [];
  for (const [seat, calls] of seats) {
    const column = el("section", { class: "author" }, el("h3", {}, seat));
    calls.forEach((call, n) => {
      const last = n === calls.length - 1;
      const words = plural(call.answered.document.split(/\s+/).filter(Boolean).length, "word");
      column.append(el("details", { open: last }, el("summary", {}, `${call.step}${call.round ? `, round ${call.round}` : ""}: ${words}`), markdown(call.answered.document, 4)));
      if (call.answered.diff?.length) column.append(el("details", { open: last }, el("summary", {}, "what changed since the version before"), call.answered.diff.map((file) => fileView({ ...file, path: seat }, new Map(), debate, null, { left: 600 }, false))));
      else if (n) column.append(el("p", { class: "quiet" }, "the same as the version before"));
    });
    out.push(column);
  }
  return el("div", { class: "columns" }, out);
}

export function answers(debate) {
  const compared = debate.outcome?.answers;
  if (!compared) return null;
  const columns = compared.answers.map((one, n) =>
    el("section", { class: compared.chosen === n + 1 ? "answer-column chosen" : "answer-column" }, el("h3", {}, `Answer ${n + 1}: ${one.model}`, compared.chosen === n + 1 ? el("span", { class: "fate settled" }, "preferred") : null), el("p", { class: "words" }, ...long(one.first, 4000)), one.final && one.final !== one.first ? [el("p", { class: "quiet" }, "after the debate"), el("p", { class: "words" }, ...long(one.final, 4000))] : null, one.points?.length ? el("p", { class: "quiet" }, `raised against it: `, one.points.map((id) => [el("a", { href: `#point-${id}` }, id), one.accepted?.includes(id) ? " (accepted) " : " "])) : null),
  );
  return [compared.differ ? el("p", { class: "words" }, el("b", {}, compared.same ? "They agree: " : "They differ: "), compared.differ) : null, el("div", { class: "columns" }, columns)];
}

