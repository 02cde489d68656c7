import { el } from "./dom.js";

// The map of the argument: a lane for each point, from the round in which it was raised to the last answer to it.
// Shape, letter and colour say the same, so that none of them is needed alone.

const LANE = 34;
const MOST = 60;
const SHAPES = {
  raised: ["diamond", "", "raised"],
  concede: ["square", "✓", "conceded"],
  defend: ["triangle", "", "rebutted"],
  partly: ["half", "", "partly accepted"],
  withdraw: ["ring", "", "withdrawn"],
  resolve: ["circle", "✓", "resolved"],
  mend: ["circle", "✓", "fixed"],
  maintain: ["bar", "", "not settled"],
  contest: ["bar", "", "not settled"],
  slip: ["cross", "!", "walked back or dropped"],
};

export function argumentMap(debate) {
  const points = [...debate.points.values()].slice(0, MOST);
  if (!points.length) return null;
  const last = Math.max(1, ...points.flatMap((p) => [p.round, ...(p.moves ?? []).map((m) => m.round)]));
  const attacked = new Map();
  for (const p of points) if (debate.claims.has(p.about)) attacked.set(p.about, debate.claims.get(p.about));
  const left = attacked.size ? 170 : 20;
  const width = 980;
  const column = (width - left - 330) / last;
  const height = 46 + points.length * LANE + 10;
  const x = (round, n) => left + 60 + (Math.max(1, round) - 1) * column + n * 26;
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, class: "map", role: "img", "aria-label": described(debate, points) });
  for (let round = 1; round <= last; round += 1) {
    svg.append(el("line", { x1: x(round, 0) - 22, y1: 30, x2: x(round, 0) - 22, y2: height - 6, class: "grid" }));
    svg.append(el("text", { x: x(round, 0) - 14, y: 20, class: "round" }, `round ${round}`));
  }
  const claims = [...attacked.values()];
  const claimY = new Map(claims.map((c, n) => [c.id, 46 + ((n + 0.5) * points.length * LANE) / claims.length]));
  points.forEach((point, lane) => {
    const y = 52 + lane * LANE;
    const steps = [{ kind: "raised", round: point.round, by: point.by, text: point.text }];
    for (const m of point.moves ?? []) steps.push({ kind: m.kind, round: m.round, by: m.by, text: m.reason ?? "", word: m.word });
    for (const s of point.slips ?? []) steps.push({ kind: "slip", round: s.round, by: s.by, text: s.kind });
    steps.sort((a, b) => a.round - b.round);
    const used = new Map();
    const places = steps.map((s) => {
      const n = used.get(s.round) ?? 0;
      used.set(s.round, n + 1);
      return x(s.round, Math.min(n, Math.max(0, column / 26 - 1)));
    });
    if (claimY.has(point.about)) {
      const from = claimY.get(point.about);
      svg.append(el("path", { d: `M ${left - 20} ${from} C ${left + 20} ${from}, ${places[0] - 60} ${y}, ${places[0] - 11} ${y}`, class: "attack" }));
    }
    svg.append(el("line", { x1: places[0], y1: y, x2: width - 302, y2: y, class: `lane ${debate.tone(point)}` }));
    steps.forEach((s, n) => svg.append(sign(s, places[n], y, debate)));
    const label = el("text", { x: width - 290, y: y + 4, class: "name" }, `${point.id}  ${short(point.text, 38)}`);
    label.append(el("title", {}, `${point.id}: ${point.text.slice(0, 400)} (${debate.fate(point)})`));
    svg.append(label);
  });
  for (const claim of claims) {
    const y = claimY.get(claim.id);
    const g = el("g", {}, el("rect", { x: 6, y: y - 13, width: left - 28, height: 26, rx: 5, class: "claim-box" }), el("text", { x: 14, y: y + 4, class: "name" }, `${claim.id} ${short(claim.text, 17)}`), el("title", {}, `${claim.id}, ${claim.by}: ${claim.text.slice(0, 400)}`));
    svg.append(g);
  }
  const rest = debate.points.size - points.length;
  return el("div", {}, el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Map of the argument" }, svg), legend(points), rest > 0 ? el("p", { class: "quiet" }, `The first ${MOST} of ${debate.points.size} are drawn.`) : null);
}

function short(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function described(debate, points) {
  return `Map of ${points.length} ${debate.noun}s by round: ${points.slice(0, 20).map((p) => `${p.id} ${debate.fate(p)}`).join(", ")}`;
}

function sign(step, x, y, debate) {
  const [shape, letter] = SHAPES[step.kind] ?? SHAPES.maintain;
  const g = el("g", { class: `sign ${step.kind}` });
  g.append(drawn(shape, x, y));
  if (letter) g.append(el("text", { x, y: y + 4, class: "letter" }, letter));
  g.append(el("title", {}, `${step.by}, round ${step.round}, ${step.word ?? SHAPES[step.kind]?.[2] ?? step.kind}: ${step.text.slice(0, 300)}`));
  return g;
}

function drawn(shape, x, y, r = 9) {
  switch (shape) {
    case "diamond":
      return el("polygon", { points: `${x},${y - r - 1} ${x + r + 1},${y} ${x},${y + r + 1} ${x - r - 1},${y}` });
    case "square":
      return el("rect", { x: x - r + 1, y: y - r + 1, width: 2 * r - 2, height: 2 * r - 2, rx: 2 });
    case "triangle":
      return el("polygon", { points: `${x},${y - r} ${x + r},${y + r - 2} ${x - r},${y + r - 2}` });
    case "bar":
      return el("rect", { x: x - 4, y: y - r, width: 8, height: 2 * r });
    case "ring":
      return el("circle", { cx: x, cy: y, r: r - 2, class: "hollow" });
    case "half":
      return el("path", { d: `M ${x} ${y - r} A ${r} ${r} 0 0 1 ${x} ${y + r} Z M ${x} ${y - r} A ${r} ${r} 0 0 0 ${x} ${y + r}`, class: "halved" });
    case "cross":
      return el("path", { d: `M ${x - 7} ${y - 7} L ${x + 7} ${y + 7} M ${x + 7} ${y - 7} L ${x - 7} ${y + 7}`, class: "crossed" });
    default:
      return el("circle", { cx: x, cy: y, r });
  }
}

// Each shape with the words that the record has for it: a judge's concession is called valid.
function legend(points) {
  const words = new Map([["raised", new Set(["raised"])]]);
  const note = (kind, word) => (words.has(kind) ? words.get(kind).add(word) : words.set(kind, new Set([word])));
  for (const p of points) {
    for (const m of p.moves ?? []) note(m.kind === "contest" ? "maintain" : m.kind, m.word);
    if (p.slips?.length) note("slip", SHAPES.slip[2]);
  }
  const items = [];
  for (const [kind, said] of words) {
    const [shape, letter] = SHAPES[kind] ?? SHAPES.maintain;
    const word = [...said].join(" or ");
    const svg = el("svg", { viewBox: "0 0 24 24", width: 20, height: 20, class: "map", "aria-hidden": "true" }, el("g", { class: `sign ${kind}` }, drawn(shape, 12, 12), letter ? el("text", { x: 12, y: 16, class: "letter" }, letter) : null));
    items.push(el("li", {}, svg, " ", word));
  }
  return el("ul", { class: "legend" }, items);
}
