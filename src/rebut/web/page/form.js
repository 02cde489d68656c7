import { el, fill, long } from "./dom.js";
import { markdown } from "./markdown.js";

// A person's turn: a ballot with its decisions and remarks, or a form with a field for each part of the answer.

export function turnForm(turn, send) {
  const problem = el("p", { class: "failure", role: "alert" });
  const read = turn.ballot ? ballot(turn.ballot) : turn.schema ? schemaForm(turn.schema) : free();
  const button = el("button", { type: "submit", class: "main" }, "Send the answer");
  const form = el(
    "form",
    { class: "turn-form", submit: submit },
    el("h2", {}, `Your turn: ${turn.seat}`),
    turn.again ? el("p", { class: "complaint" }, "The answer was sent back. The reason is below.") : null,
    turn.question ? question(turn.question) : null,
    read.node,
    problem,
    button,
  );
  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    fill(problem);
    const refused = await send({ key: turn.key, ...read.value() });
    button.disabled = false;
    if (refused) fill(problem, refused);
  }
  return form;
}

function question(text) {
  const plain = text.replace(/^«(?:begin|end) (.+?) [0-9a-f]{16}»$/gm, (_, label) => `(${label})`);
  return el("details", { class: "question", open: plain.length < 3000 }, el("summary", {}, "the question"), plain.length < 60000 ? markdown(plain) : el("pre", {}, ...long(plain)));
}

let fields = 0;
function named(label, control, hint = "") {
  fields += 1;
  control.id = `field-${fields}`;
  return el("p", { class: "field" }, el("label", { for: control.id }, label), hint ? el("span", { class: "quiet" }, ` ${hint}`) : null, control);
}

function free() {
  const area = el("textarea", { rows: "8", required: true });
  return { node: named("Your answer", area), value: () => ({ text: area.value }) };
}

function radios(legend, name, options, checked, hint = "") {
  const inputs = options.map((o) => {
    fields += 1;
    const input = el("input", { type: "radio", name, value: o.key, id: `field-${fields}` });
    if (o.key === checked) input.checked = true;
    return [input, el("label", { for: input.id }, o.key.length === 1 ? el("kbd", {}, o.key) : null, " ", o.words || String(o.value))];
  });
  const node = el("fieldset", {}, el("legend", {}, legend), hint ? el("p", { class: "quiet" }, hint) : null, inputs.map((pair) => el("div", { class: "option" }, pair)));
  return { node, value: () => inputs.map(([i]) => i).find((i) => i.checked)?.value ?? "" };
}

function ballot(b) {
  const parts = [];
  for (const paragraph of b.case ?? []) parts.push(el("div", { class: "case" }, paragraph.split("\n").map((line) => el("p", {}, ...long(line, 2000)))));
  if (b.text) parts.push(el("pre", { tabindex: "0" }, ...long(b.text, 20000)));
  if (b.table?.length) {
    const [head, ...rows] = b.table;
    parts.push(el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "The case as a table" }, el("table", {}, el("thead", {}, el("tr", {}, head.map((c) => el("th", { scope: "col" }, c)))), el("tbody", {}, rows.map((r) => el("tr", {}, r.map((c) => el("td", {}, c.slice(0, 600)))))))));
  }
  const picks = (b.picks ?? []).map((p, n) => ({ name: p.name, ...radios(p.ask || "Your decision", `pick-${n}`, p.options, "") }));
  const remarks = (b.remarks ?? []).map((r) => (r.many === null ? remark(r) : list(r)));
  const rulings = (b.rulings?.rows ?? []).map((row, n) => {
    const choice = radios(row.title, `ruling-${n}`, [...(row.stands ? [{ key: "", words: `leave it: ${row.stands}` }] : []), ...b.rulings.options], row.stands ? "" : undefined, row.text);
    const reason = b.rulings.argued ? el("textarea", { rows: "2" }) : el("input", { type: "text" });
    const severity = b.rulings.severity ? el("select", {}, ["P1", "P2", "P3"].map((s) => el("option", { value: s, selected: s === row.severity }, s))) : null;
    choice.node.append(named(`Reason on ${row.id}`, reason, b.rulings.argued ? "needed; a place in it, such as src/app.py:12, is looked up" : "optional"));
    if (severity) choice.node.append(named(`Severity of ${row.id}`, severity));
    return { id: row.id, row, choice, reason, severity };
  });
  // A reason, or another severity, is a ruling of one's own, also where the words of the ruling stay.
  const ruled = (r) => {
    const changed = r.reason.value.trim() || (r.severity && r.severity.value !== r.row.severity);
    return r.choice.value() || (changed && r.row.stands ? (b.rulings.options.find((o) => o.value === r.row.stands) ?? b.rulings.options[0]).key : "");
  };
  const aside = b.aside ? el("input", { type: "text" }) : null;
  const notes = remarks.map((r) => r.node);
  const node = el("div", {}, parts, rulings.map((r) => r.choice.node), b.remarks_first ? notes : null, picks.map((p) => p.node), aside ? named("Reason", aside, "optional") : null, b.remarks_first ? null : notes);
  const value = () => ({
    picks: Object.fromEntries(picks.map((p) => [p.name, p.value()])),
    remarks: Object.fromEntries(remarks.map((r) => [r.name, r.value()])),
    rulings: Object.fromEntries(rulings.filter((r) => ruled(r)).map((r) => [r.id, { key: ruled(r), reason: r.reason.value, severity: r.severity?.value ?? "" }])),
    reason: aside?.value ?? "",
  });
  return { node, value };
}

function remark(r) {
  const usual = r.usual?.[""] ?? Object.values(r.usual ?? {})[0] ?? "";
  const area = el("textarea", { rows: "2", placeholder: usual });
  return { name: r.name, node: named(r.ask, area, usual ? "empty: the usual" : ""), value: () => area.value };
}

// A list: a text for each entry and, where the protocol asks, a few choices about it.
function list(r) {
  const holder = el("div", { class: "entries" });
  const entries = [];
  function enter() {
    const number = entries.length + 1;
    const area = el("textarea", { rows: "2" });
    const picks = (r.each ?? []).map((p) => ({ name: p.name, ...radios(p.ask, `${r.name}-${number}-${p.name}`, p.options, "") }));
    entries.push({ area, picks });
    holder.append(el("div", { class: "entry" }, named(`${r.ask}, ${number}`, area, r.cites ? "a place in it, such as src/app.py:12, is looked up" : ""), picks.map((p) => p.node)));
  }
  enter();
  const node = el("fieldset", {}, el("legend", {}, r.ask), holder, el("button", { type: "button", class: "plain", click: enter }, "add another"));
  const value = () => entries.map((e) => ({ text: e.area.value, picks: Object.fromEntries(e.picks.map((p) => [p.name, p.value()])) }));
  return { name: r.name, node, value };
}

// A form for any answer: texts, choices, lists and parts within parts.
function schemaForm(schema) {
  const made = part(schema, schema, "", true);
  return { node: made.node, value: () => ({ value: made.value() }) };
}

function resolved(root, schema) {
  let found = schema;
  for (let n = 0; n < 20 && found; n += 1) {
    if (found.$ref) found = { ...(root.$defs?.[found.$ref.split("/").pop()] ?? {}), ...found, $ref: undefined };
    else if (found.anyOf?.length) {
      const real = found.anyOf.filter((v) => v.type !== "null");
      found = { ...found, anyOf: undefined, ...real[0], nullable: real.length < found.anyOf.length };
    } else break;
  }
  return found ?? {};
}

function part(root, given, label, top = false) {
  const schema = resolved(root, given);
  const title = label.replaceAll("_", " ");
  if (schema.const !== undefined) return { node: null, value: () => schema.const };
  if (schema.enum) {
    const select = el("select", {}, schema.enum.map((v) => el("option", { value: String(v) }, String(v))));
    return { node: named(title, select, schema.description ?? ""), value: () => schema.enum.find((v) => String(v) === select.value) };
  }
  if (schema.type === "object" || schema.properties) {
    const inner = Object.entries(schema.properties ?? {}).filter(([name]) => name !== "need").map(([name, one]) => [name, part(root, one, name)]);
    const skipped = "need" in (schema.properties ?? {}) ? { need: [] } : {};
    const nodes = inner.map(([, one]) => one.node);
    return { node: top ? el("div", {}, nodes) : el("fieldset", {}, el("legend", {}, title), nodes), value: () => ({ ...Object.fromEntries(inner.map(([name, one]) => [name, one.value()])), ...skipped }) };
  }
  if (schema.type === "array") {
    const list = el("div", { class: "entries" });
    const entries = [];
    const more = el("button", { type: "button", class: "plain", click: () => enter() }, `add to ${title}`);
    function enter() {
      const one = part(root, schema.items ?? {}, `${title} ${entries.length + 1}`);
      entries.push(one);
      list.append(one.node);
    }
    return { node: el("fieldset", {}, el("legend", {}, title), schema.description ? el("p", { class: "quiet" }, schema.description) : null, list, more), value: () => entries.map((one) => one.value()) };
  }
  if (schema.type === "boolean") {
    const box = el("input", { type: "checkbox" });
    return { node: named(title, box, schema.description ?? ""), value: () => box.checked };
  }
  if (schema.type === "integer" || schema.type === "number") {
    const box = el("input", { type: "number", step: schema.type === "integer" ? "1" : "any" });
    return { node: named(title, box, schema.description ?? ""), value: () => (box.value === "" ? null : Number(box.value)) };
  }
  const area = el("textarea", { rows: "2" });
  return { node: named(title, area, schema.description ?? ""), value: () => area.value };
}
