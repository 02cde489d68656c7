import { el, money, seconds, thousands } from "./dom.js";

// A bar for each call, a lane for each seat; below it tokens and dollars. Pauses between two processes are drawn short.

const LANE = 26;
const MOST = 1500;
const PAUSE = 20000;

export function timeline(debate) {
  const bars = [];
  for (const call of debate.calls.values()) {
    for (const one of call.tries) {
      const start = one.asked ? Date.parse(one.asked.at) : Date.parse(one.came.at) - (one.came.ms ?? 0);
      const end = one.came ? Date.parse(one.came.at) : Date.parse(debate.at);
      bars.push({ call, one, start, end: Math.max(end, start + 1) });
    }
  }
  if (!bars.length) return null;
  const marks = debate.events.map((e) => ({ ...e, time: Date.parse(e.at) }));
  const scale = squeezed(bars, marks, debate);
  const seats = [...new Set([...debate.seats.map((s) => s.seat), ...bars.map((b) => b.call.seat)])].filter((s) => bars.some((b) => b.call.seat === s));
  const left = 110;
  const width = 980;
  const top = 24;
  const base = top + seats.length * LANE;
  const height = base + 96;
  const x = (time) => left + scale(time) * (width - left - 20);
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, class: "timeline", role: "img", "aria-label": `Timeline of ${bars.length} calls` });
  seats.forEach((seat, n) => {
    svg.append(el("text", { x: 6, y: top + n * LANE + 16, class: "name" }, seat.length > 15 ? `${seat.slice(0, 14)}…` : seat));
    svg.append(el("line", { x1: left, y1: top + n * LANE + LANE - 2, x2: width - 16, y2: top + n * LANE + LANE - 2, class: "grid" }));
  });
  for (const bar of bars.slice(-MOST)) {
    const y = top + seats.indexOf(bar.call.seat) * LANE + 4;
    const came = bar.one.came;
    const state = !came ? "waiting" : came.outcome === "ok" ? "ok" : "failed";
    const again = (bar.one.attempt ?? 1) > 1 ? " again" : "";
    const from = x(bar.start);
    const wide = Math.max(2, x(bar.end) - from);
    const g = el("g", { class: `bar ${state}${again}` }, el("rect", { x: from, y, width: wide, height: LANE - 10, rx: 2 }));
    if (state === "failed") g.append(el("path", { d: `M ${from} ${y} l ${Math.min(wide, 12)} ${LANE - 10} M ${from} ${y + LANE - 10} l ${Math.min(wide, 12)} -${LANE - 10}`, class: "struck" }));
    if (again) g.append(el("text", { x: from + 3, y: y + 12, class: "letter" }, `${bar.one.attempt}`));
    g.append(el("title", {}, told(bar)));
    svg.append(g);
  }
  for (const mark of marks) {
    const at = x(mark.time);
    const g = el("g", { class: `event ${mark.word}` }, el("line", { x1: at, y1: top - 6, x2: at, y2: base }), el("text", { x: at + 3, y: top - 8 }, mark.word));
    g.append(el("title", {}, `${mark.word}: ${mark.text}`));
    svg.append(g);
  }
  add_costs(svg, debate, bars, x, base + 22, height - base - 30, left, width - 20);
  return el("div", {}, el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Timeline" }, svg), el("ul", { class: "legend" }, el("li", {}, el("span", { class: "key ok" }), "answered"), el("li", {}, el("span", { class: "key again" }), "asked again"), el("li", {}, el("span", { class: "key failed" }), "failed"), el("li", {}, el("span", { class: "key waiting" }), "waiting")), bars.length > MOST ? el("p", { class: "quiet" }, `The last ${MOST} of ${bars.length} calls are drawn.`) : null);
}

function told(bar) {
  const { asked, came } = bar.one;
  const head = `${bar.call.key}${(bar.one.attempt ?? 1) > 1 ? `, attempt ${bar.one.attempt} (${asked?.why ?? ""})` : ""}`;
  if (!came) return `${head}: no result on record yet`;
  const cost = [seconds(came.ms ?? bar.end - bar.start), came.input || came.output ? `${thousands((came.input ?? 0) + (came.output ?? 0))} tokens` : "", came.usd === undefined ? "" : money(came.usd)].filter(Boolean);
  return `${head}: ${came.outcome === "ok" ? (came.model ?? "answered") : `${came.outcome}, ${came.message ?? ""}`}, ${cost.join(", ")}`;
}

// Time as a part of the whole, with every pause in which nothing was under way cut to a short one.
function squeezed(bars, marks, debate) {
  const times = [...bars.flatMap((b) => [b.start, b.end]), ...marks.map((m) => m.time), Date.parse(debate.at)].filter(Number.isFinite).sort((a, b) => a - b);
  const busy = bars.map((b) => [b.start, b.end]).sort((a, b) => a[0] - b[0]);
  const cuts = [];
  let until = times[0];
  for (const [start, end] of busy) {
    if (start - until > PAUSE) cuts.push([until, start]);
    until = Math.max(until, end);
  }
  const lost = (time) => cuts.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(time, b) - a) * (1 - PAUSE / 10 / (b - a)), 0);
  const first = times[0];
  const whole = Math.max(1, times[times.length - 1] - first - lost(times[times.length - 1]));
  return (time) => (time - first - lost(time)) / whole;
}

function add_costs(svg, debate, bars, x, top, height, left, right) {
  const steps = bars.filter((b) => b.one.came).sort((a, b) => a.end - b.end);
  const most = Math.max(1, debate.tokens);
  let line = `M ${left} ${top + height}`;
  for (const bar of steps) {
    const y = top + height - ((bar.one.came.tokens ?? 0) / most) * height;
    line += ` H ${x(bar.end).toFixed(1)} V ${y.toFixed(1)}`;
  }
  line += ` H ${right}`;
  svg.append(el("line", { x1: left, y1: top + height, x2: right, y2: top + height, class: "grid" }));
  svg.append(el("path", { d: line, class: "cost" }));
  svg.append(el("text", { x: 6, y: top + 12, class: "name" }, `${thousands(debate.tokens)} tokens`));
  svg.append(el("text", { x: 6, y: top + 30, class: "name" }, debate.usd === null ? "price unknown" : money(debate.usd)));
}
