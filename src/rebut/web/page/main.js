import { el, fill, money, plain, plural, thousands, when } from "./dom.js";
import { Debate } from "./debate.js";
import { markdown } from "./markdown.js";
import { board, claims, matrix } from "./points.js";
import { argumentMap } from "./argument_map.js";
import { timeline } from "./timeline.js";
import { live, turns } from "./turns.js";
import { answers, change, drafts, versions } from "./changes.js";
import { turnForm } from "./form.js";
import { sessionList } from "./sessions.js";

// Puts the page together: frames come from the server or from the file itself, and are drawn as far as the slider says.

const page = document.getElementById("page");
const told = document.getElementById("told");
const stored = document.getElementById("debate");

class FileSource {
  constructor(data) {
    this.data = data;
    this.hasRaw = Boolean(data.raw);
  }
  async lines(id) {
    return this.data.cited[id] ?? { note: "these lines are not in this file" };
  }
  async raw(key) {
    return this.data.raw?.[key] ?? [];
  }
}

class LiveSource {
  constructor(id) {
    this.base = `/api/s/${id}`;
    this.hasRaw = true;
    this.cache = new Map();
  }
  async lines(id) {
    if (!this.cache.has(id)) {
      const found = await asked(`${this.base}/lines?cite=${encodeURIComponent(id)}`, null);
      if (!found) return { note: "the server did not answer" };
      this.cache.set(id, found);
    }
    return this.cache.get(id);
  }
  async raw(key) {
    return asked(`${this.base}/raw?key=${encodeURIComponent(key)}`, []);
  }
  async parent() {
    return asked(`${this.base}/parent`, {});
  }
  async post(what, value) {
    try {
      const response = await fetch(`${this.base}/${what}`, { method: "POST", body: JSON.stringify(value), headers: { "Content-Type": "application/json" } });
      return response.ok ? (await response.json()).refused : await response.text();
    } catch {
      return "The debate's process does not answer.";
    }
  }
}

async function asked(address, otherwise) {
  try {
    const response = await fetch(address);
    return response.ok ? await response.json() : otherwise;
  } catch {
    return otherwise;
  }
}

class View {
  constructor(source) {
    this.source = source;
    this.frames = [];
    this.at = null; // how many frames are shown; null: all that there are
    this.debate = new Debate();
    this.running = false;
    this.controls = false;
    this.connected = true;
    this.writing = new Map();
    this.turns = new Map(); // key → the question and its form
    this.wanted = {};
    this.parts = {};
    this.playing = null;
    this.planned = false;
    this.loading = false; // more frames are on their way: after the first ones, all of them are drawn at once
    this.beside = null;
  }

  // The journal is not the one that was followed: begin again.
  forget() {
    this.frames = [];
    this.debate = new Debate();
    this.at = null;
  }

  take(frames) {
    const known = this.frames.length ? this.frames[this.frames.length - 1].seq : 0;
    const fresh = frames.filter((f) => f.seq > known);
    if (!fresh.length) return;
    this.frames.push(...fresh);
    for (const f of fresh) if (["attempt", "answered", "failed"].includes(f.kind)) this.writing.delete(f.key);
    if (this.at === null) {
      for (const f of fresh) this.debate.apply(f);
      this.announce(fresh);
    }
    this.plan();
  }

  announce(fresh) {
    if (!this.running) return;
    const raised = fresh.flatMap((f) => f.points ?? []).length;
    const ended = fresh.find((f) => f.kind === "closed");
    if (ended) fill(told, `The debate ended: ${ended.heading}`);
    else if (raised) fill(told, `${plural(raised, this.debate.noun)} raised or answered`);
  }

  seek(count) {
    const all = count >= this.frames.length;
    const shown = all ? this.frames.length : Math.max(1, count);
    if (this.at !== null && shown > this.at) for (const f of this.frames.slice(this.at, shown)) this.debate.apply(f);
    else this.debate = Debate.of(this.frames.slice(0, shown));
    this.at = all ? null : shown;
    this.plan();
  }

  plan() {
    if (this.planned || (this.loading && this.parts.header)) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      this.draw();
    });
  }

  build() {
    const p = this.parts;
    p.header = el("header", { class: "top" });
    p.answer = el("section", { class: "answer", "aria-label": "Outcome" });
    p.controls = el("section", { class: "controls", "aria-label": "Steer this debate" });
    p.turn = el("section", { class: "your-turn", "aria-label": "Your turn" });
    p.live = el("section", { class: "live-part", "aria-label": "Being written" });
    p.sections = new Map();
    p.nav = el("nav", { class: "sections", "aria-label": "Parts of this page" });
    p.body = el("div", {});
    for (const [id, name] of SECTIONS) {
      const content = el("div", {});
      const section = el("section", { id, class: "part", "aria-labelledby": `${id}-name` }, el("h2", { id: `${id}-name` }, name), content);
      section.hidden = true;
      p.sections.set(id, { section, content, drawn: "" });
      p.body.append(section);
    }
    p.player = this.player();
    fill(page, el("main", { id: "main" }, p.header, p.turn, p.answer, p.controls, p.live, p.nav, p.body), p.player.node);
  }

  player() {
    const slider = el("input", { type: "range", min: "1", max: "1", value: "1", "aria-label": "Position in the debate", input: () => this.seek(Number(slider.value)) });
    const play = el("button", { type: "button", "aria-label": "Play", click: () => this.play() }, "▶");
    const label = el("output", {});
    const node = el("section", { class: "player", "aria-label": "Replay" }, play, slider, label);
    return { node, slider, play, label };
  }

  play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = null;
      this.plan();
      return;
    }
    if (this.at === null) this.seek(1);
    this.playing = setInterval(() => {
      if (this.at === null) this.play();
      else this.seek(this.at + Math.max(1, Math.round(this.frames.length / 120)));
    }, 250);
    this.plan();
  }

  draw() {
    if (!this.debate.opened) return;
    if (!this.parts.header) this.build();
    const p = this.parts;
    const d = this.debate;
    document.title = plain(`${d.outcome ? d.outcome.heading : this.running ? "running" : "open"}: ${(d.opened.topic ?? d.opened.id).slice(0, 80)} — rebut`);
    fill(p.header, head(this));
    fill(p.answer, outcome(d, this));
    this.drawControls();
    fill(p.live, this.at === null && this.writing.size ? live(this.writing) : null);
    const links = [];
    for (const [id, name, draw] of SECTIONS) {
      const one = p.sections.get(id);
      const mark = stamp(id, d);
      if (mark !== one.drawn) {
        const content = drawn(name, () => draw(d, this));
        fill(one.content, content);
        one.section.hidden = !content || (Array.isArray(content) && !content.flat().some(Boolean));
        one.drawn = mark;
      }
      if (!one.section.hidden) links.push(el("a", { href: `#${id}` }, name, count(id, d)));
    }
    fill(p.nav, links);
    const shown = this.at ?? this.frames.length;
    p.player.slider.max = String(this.frames.length);
    p.player.slider.value = String(shown);
    const last = this.frames[shown - 1];
    fill(p.player.label, `event ${shown} of ${this.frames.length}, ${when(last.at)}`);
    fill(p.player.play, this.playing ? "❚❚" : "▶");
    p.player.play.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    p.player.node.hidden = this.frames.length < 2;
  }

  drawControls() {
    const p = this.parts;
    const active = this.controls && this.running && !this.debate.outcome;
    const state = `${active}|${[...this.writing.keys()].join()}`;
    if (p.controls.dataset.state === state) return;
    p.controls.dataset.state = state;
    if (!active) {
      fill(p.controls);
      return;
    }
    // These two stay when the buttons change: a person may be typing.
    const problem = (p.problem ??= el("span", { class: "quiet", role: "status" }));
    const typing = document.activeElement === p.note;
    const act = async (value) => {
      fill(problem, "…");
      const refused = await this.source.post("steer", value);
      fill(problem, refused || "done; it is on record");
      return refused;
    };
    const note = (p.note ??= el("input", { type: "text", "aria-label": "A note to every seat", placeholder: "a note to every seat, from the next round on" }));
    const send = async (event) => {
      event.preventDefault();
      const text = note.value;
      if (text.trim() && !(await act({ do: "say", text })) && note.value === text) note.value = "";
    };
    const say = el("form", { class: "say", submit: send }, note, el("button", { type: "submit" }, "send note"));
    fill(
      p.controls,
      el("button", { type: "button", click: () => act({ do: "settle" }) }, "settle now"),
      el("button", { type: "button", click: () => act({ do: "more" }) }, "one more round"),
      [...this.writing.keys()].map((key) => el("button", { type: "button", click: () => act({ do: "skip", key }) }, `skip ${key.slice(key.lastIndexOf("@") + 1)}`)),
      say,
      problem,
    );
    if (typing) note.focus();
  }

  // Several people may be asked at once. A form stays as it is while its question does: it may be half filled in.
  ask(turn) {
    if (!this.parts.header) this.build();
    const known = this.turns.get(turn.key);
    if (known?.said === JSON.stringify(turn)) return;
    known?.form.remove();
    this.turns.delete(turn.key);
    if (turn.over) return;
    const form = turnForm(turn, (value) => this.source.post("answer", value));
    this.turns.set(turn.key, { said: JSON.stringify(turn), form });
    this.parts.turn.append(form);
    fill(told, `It is your turn: ${turn.seat}`);
  }

  // The questions that are open now.
  open(keys) {
    for (const key of [...this.turns.keys()]) if (!keys.includes(key)) this.ask({ key, over: true });
  }
}

// A part that cannot be drawn must not take the others with it.
function drawn(name, draw) {
  try {
    return draw();
  } catch (error) {
    console.error(error);
    return el("p", { class: "failure" }, `${name}: this part cannot be drawn (${error.message}).`);
  }
}

const SECTIONS = [
  ["answers", "Both answers", (d) => answers(d)],
  ["points", "Points", (d, v) => (d.points.size || d.claims.size ? [board(d, v.source, v.wanted), claims(d, v.source)] : null)],
  ["change", "Change", (d, v) => change(d, v.source)],
  ["versions", "Versions", (d, v) => versions(d, v.source)],
  ["drafts", "Drafts", (d) => drafts(d)],
  ["map", "Map", (d) => argumentMap(d)],
  ["matrix", "Who said what", (d) => matrix(d)],
  ["turns", "Turns", (d, v) => (d.calls.size ? turns(d, v.source, v.wanted) : null)],
  ["timeline", "Timeline", (d) => timeline(d)],
  ["parent", "Beside its parent", (d, v) => parent(v)],
  ["report", "Report", (d) => (d.outcome?.text ? el("details", {}, el("summary", {}, "the ending in full"), markdown(d.outcome.text)) : null)],
];

// What a part depends on: it is drawn again only when that changes.
function stamp(id, d) {
  const ended = d.outcome ? "ended" : "";
  const answered = [...d.calls.values()].filter((c) => c.answered || c.failed).length;
  switch (id) {
    case "points":
    case "change":
    case "map":
    case "matrix": {
      let moves = 0;
      for (const p of d.points.values()) moves += 1 + (p.moves?.length ?? 0) + (p.said?.length ?? 0) + (p.slips?.length ?? 0);
      return `${d.target ? 1 : 0}.${d.points.size}.${moves}.${d.claims.size}.${ended}`;
    }
    case "turns": {
      let tries = 0;
      for (const c of d.calls.values()) tries += c.tries.length + c.tries.filter((t) => t.came).length;
      return `${d.calls.size}.${answered}.${tries}.${d.entered}`;
    }
    case "timeline":
      return `${d.seq}`;
    case "parent":
      return ended + (d.opened.forked_from ?? "");
    default:
      return `${answered}.${d.versions.length}.${ended}`;
  }
}

function count(id, d) {
  if (id === "points") return d.points.size ? ` ${d.points.size}` : "";
  if (id === "turns") return ` ${d.calls.size}`;
  return "";
}

function head(view) {
  const d = view.debate;
  const o = d.opened;
  const topic = o.topic || o.id;
  const state = d.outcome ? "ended" : view.running ? (view.connected ? "running" : "reconnecting …") : "open";
  const seats = d.seats.map((s) => el("li", {}, el("span", { class: "seat" }, s.seat), " ", s.spec, d.fallbacks.has(s.seat) ? ` → ${d.fallbacks.get(s.seat)}` : "", s.family && s.family !== s.spec ? el("span", { class: "quiet" }, ` ${s.family}`) : ""));
  return [
    el("p", { class: "brand" }, stored ? "rebut" : el("a", { href: "/" }, "rebut"), el("span", { class: "kind" }, o.protocol), el("span", { class: `state ${state.split(" ")[0]}` }, state), view.connected || d.outcome ? null : el("span", { class: "quiet" }, "the debate's process is gone; this page goes on when it is back")),
    el("h1", {}, topic.length > 240 ? `${topic.slice(0, 240)}…` : topic),
    el("ul", { class: "seats" }, seats),
    el("p", { class: "quiet" }, `session ${o.id}, ${when(o.at)}${o.rounds ? `, ${plural(o.rounds, "round")}` : ""}${o.forked_from ? `, fork of ${o.forked_from}` : ""}`),
    d.notes.map((n) => el("p", { class: "note" }, n)),
  ];
}

function outcome(d, view) {
  const o = d.outcome;
  const cost = `${plural([...d.calls.values()].reduce((n, c) => n + c.tries.filter((t) => !t.asked?.patient).length, 0), "call")}, ${thousands(d.tokens)} tokens, ${money(d.usd)}`;
  if (!o) {
    const pending = [...d.calls.values()].filter((c) => !c.answered && (!c.failed || c.failed.reopened)).map((c) => `${c.seat} (${c.step})`);
    return [el("p", { class: "kicker" }, view.at === null && view.running ? "Not decided yet" : "So far"), el("p", { class: "facts" }, cost, pending.length ? ` · waiting for ${pending.slice(0, 6).join(", ")}` : "")];
  }
  const out = [];
  const review = o.review;
  out.push(el("p", { class: o.conclusive ? "kicker" : "kicker doubt" }, review && o.conclusive ? "Review" : o.heading));
  if (review) out.push(review.doubt ? el("p", { class: "headline doubt" }, review.doubt) : null, el("p", { class: "headline" }, review.headline), review.absent?.map((line) => el("p", { class: "failure" }, `absent: ${line}`)));
  else if (o.answers) out.push(el("p", { class: "headline" }, o.decision ?? ""));
  else if (o.verdict) out.push(el("p", { class: "headline" }, winner(d, o.verdict.winner)), el("p", { class: "words" }, o.verdict.reasoning));
  if (o.stopped) out.push(el("p", { class: "words doubt" }, `Ended early: ${o.stopped}`));
  if (o.decision && !o.answers && !review) out.push(el("p", { class: "label" }, o.label || (o.verdict ? "Recommendation" : o.conclusive ? "Decision" : "Position")), el("p", { class: o.verdict ? "words" : "headline" }, o.decision));
  if (o.answers && o.verdict?.reasoning) out.push(el("p", { class: "words" }, o.verdict.reasoning));
  if (review?.next?.length) out.push(el("p", { class: "label" }, "To do"), el("ul", {}, review.next.slice(0, 12).map((line) => el("li", {}, line))));
  out.push(el("p", { class: "facts" }, o.spent));
  if (o.worth?.length) out.push(el("p", { class: "label" }, "Was it worth it?"), el("ul", { class: "worth" }, o.worth.map((line) => el("li", {}, line))));
  const rows = (review && o.conclusive ? [["ended as", o.heading.toLowerCase()], ...(o.rows ?? [])] : (o.rows ?? [])).map(([label, text]) => [el("dt", {}, label), el("dd", {}, text)]);
  const failed = (o.seats ?? []).filter((s) => s.failed);
  for (const s of failed) rows.push([el("dt", {}, "failed"), el("dd", {}, `${s.seat}: ${s.why}`)]);
  for (const n of (o.notes ?? []).filter((note) => !d.notes.includes(note)).slice(0, 12)) rows.push([el("dt", {}, "note"), el("dd", {}, n)]);
  if (rows.length) out.push(el("dl", { class: "rows" }, rows));
  return out;
}

function winner(d, seat) {
  const spec = d.seats.find((s) => s.seat === seat)?.spec ?? "";
  const model = d.fallbacks.get(seat) ?? spec.replace(/ \(.*$/, "");
  return `The ${seat}${model ? `, ${model},` : ""} had the better case`;
}

function parent(view) {
  if (!view.debate.opened.forked_from) return null;
  const holder = el("div", {});
  const draw = (found) => {
    if (!found?.columns) return;
    fill(holder, el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Compared with its parent" }, el("table", { class: "beside" }, el("tbody", {}, found.labels.map((label, n) => el("tr", {}, label ? el("th", { scope: "row" }, label) : el("td", {}), found.columns.map((c) => el("td", {}, c[n]))))))), el("p", { class: "quiet" }, `reused: ${found.reused}`));
  };
  if (view.beside) draw(view.beside);
  else view.source.parent?.().then(draw);
  return holder;
}

// starting

function fromFile() {
  const data = JSON.parse(stored.textContent);
  const view = new View(new FileSource(data));
  view.beside = data.parent;
  view.take(data.frames);
  globalThis.addEventListener("beforeprint", () => opened(view));
  return view;
}

// Printed, every point is open.
function opened(view) {
  for (const card of view.parts.body.querySelectorAll(".card")) card.open?.(true);
  for (const one of view.parts.body.querySelectorAll("details")) one.open = true;
}

function follow(view, id) {
  let wait = 500;
  const connect = () => {
    const last = view.frames[view.frames.length - 1];
    view.loading = true;
    const events = new EventSource(`/api/s/${id}/frames?after=${last?.seq ?? 0}&at=${encodeURIComponent(last?.at ?? "")}`);
    events.addEventListener("open", () => {
      wait = 500;
      view.connected = true;
      view.writing.clear();
      view.plan();
    });
    events.addEventListener("restart", () => view.forget());
    events.addEventListener("frames", (event) => view.take(JSON.parse(event.data)));
    events.addEventListener("status", (event) => {
      const said = JSON.parse(event.data);
      view.loading = false;
      view.running = said.running;
      view.controls = said.controls;
      view.open(said.turns ?? []);
      view.plan();
    });
    events.addEventListener("live", (event) => {
      const said = JSON.parse(event.data);
      if (said.ended) view.writing.delete(said.key);
      else view.writing.set(said.key, { ...view.writing.get(said.key), ...said });
      view.plan();
    });
    events.addEventListener("waits", (event) => {
      const said = JSON.parse(event.data);
      if (view.writing.has(said.key)) view.writing.get(said.key).reason = said.reason;
      view.plan();
    });
    events.addEventListener("turn", (event) => view.ask(JSON.parse(event.data)));
    events.addEventListener("broken", (event) => {
      events.close();
      fill(page, el("main", { id: "main" }, el("h1", {}, "This session cannot be read"), el("p", {}, JSON.parse(event.data).message)));
    });
    events.addEventListener("error", () => {
      events.close();
      view.connected = false;
      view.loading = false;
      view.plan();
      setTimeout(connect, wait);
      wait = Math.min(wait * 1.5, 5000);
    });
  };
  connect();
  globalThis.addEventListener("beforeprint", () => opened(view));
}

document.addEventListener("click", (event) => {
  const target = event.target.closest?.("a[href^='#point-']");
  if (target) document.getElementById(target.getAttribute("href").slice(1))?.open?.(true);
});

if (stored) fromFile();
else if (location.pathname.startsWith("/s/")) {
  const id = location.pathname.slice(3);
  follow(new View(new LiveSource(id)), id);
} else {
  asked("/api/sessions", null).then((found) => fill(page, found ? sessionList(found) : el("main", { id: "main" }, el("h1", {}, "The sessions cannot be read"), el("p", {}, "Run `rebut view` again."))));
}
