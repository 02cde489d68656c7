import { add, el, fill, long, money, plural, seconds, some, thousands } from "./dom.js";

// Every turn in its order: who spoke, what was said, and on request what was asked and what came back, word for word.

export function turns(debate, source, wanted) {
  const calls = [...debate.calls.values()];
  const out = el("div", { class: "turns" });
  let stage = null;
  const made = some(
    calls,
    (call) => {
      const name = stageOf(call, calls);
      const head = name !== stage ? el("h3", { class: "stage" }, name) : null;
      stage = name;
      return [head, turn(debate, call, source, wanted)].filter(Boolean);
    },
    out,
    50,
  );
  return made;
}

function stageOf(call, calls) {
  const found = /^r(\d+)\//.exec(call.key);
  if (found) return found[1] === "0" ? "Before round 1" : `Round ${found[1]}`;
  const scope = call.key.includes("/") ? call.key.slice(0, call.key.indexOf("/")) : "";
  if (scope) return scope[0].toUpperCase() + scope.slice(1);
  return calls.findIndex((c) => /^r\d+\//.test(c.key)) > calls.indexOf(call) ? "First answers" : "Closing";
}

function turn(debate, call, source, wanted) {
  const answer = call.answered;
  const spent = call.tries.map((t) => t.came).filter(Boolean);
  const tokens = spent.reduce((sum, t) => sum + (t.input ?? 0) + (t.output ?? 0), 0);
  const priced = spent.length && spent.every((t) => t.usd !== undefined);
  const facts = [
    answer?.model,
    answer?.copied_from ? `reused from ${answer.copied_from}` : "",
    answer?.ms ? seconds(answer.ms) : "",
    tokens ? `${thousands(tokens)} tokens` : "",
    priced && tokens ? money(spent.reduce((sum, t) => sum + t.usd, 0)) : "",
    call.tries.length > 1 ? plural(call.tries.length, "try", "tries") : "",
  ].filter(Boolean);
  const state = answer ? "answered" : call.failed && !call.failed.reopened ? "failed" : "pending";
  const raw = el("div", { class: "raw", hidden: true });
  const button = el("button", { type: "button", class: "plain", "aria-expanded": "false", click: open }, "prompt and reply, word for word");
  async function open() {
    const show = raw.hidden;
    raw.hidden = !show;
    button.setAttribute("aria-expanded", String(show));
    wanted.raw ??= new Set();
    if (show) wanted.raw.add(call.key);
    else wanted.raw.delete(call.key);
    if (!show || raw.firstChild) return;
    fill(raw, el("p", { class: "quiet" }, "…"));
    fill(raw, words(await source.raw(call.key)));
  }
  if (wanted.raw?.has(call.key)) open(); // it stays open when the turns are drawn again
  const made = el(
    "article",
    { class: `turn ${state}`, id: `turn-${call.key}` },
    el("header", {}, el("b", { class: "seat" }, call.seat), el("span", { class: "step" }, call.step), el("span", { class: "facts" }, facts.join(" · "))),
  );
  if (call.failed && !answer) made.append(el("p", { class: "failure" }, `No answer: ${call.failed.failure}. ${call.failed.message ?? ""} ${call.failed.hint ?? ""}${call.failed.reopened ? " It is asked again on resume." : ""}`));
  if (state === "pending" && !call.failed) made.append(el("p", { class: "quiet" }, "not answered yet"));
  if (call.rows?.length) made.append(...answerRows(call.rows));
  if (answer?.document) made.append(el("p", { class: "quiet" }, el("a", { href: "#drafts" }, `wrote a document of ${plural(answer.document.split(/\s+/).length, "word")}`)));
  for (const complaint of answer?.complaints ?? []) made.append(el("p", { class: "complaint" }, `still breaks a rule after it was sent back: ${complaint}`));
  if (answer?.unread) made.append(el("p", { class: "complaint" }, answer.unread));
  for (const t of call.tries) {
    if (t.came && t.came.outcome !== "ok") made.append(el("p", { class: "complaint" }, `attempt ${t.attempt}: ${t.came.outcome}, ${t.came.message ?? ""}`));
    else if (t.asked?.why && !["ask", "context"].includes(t.asked.why)) made.append(el("p", { class: "quiet" }, `attempt ${t.attempt}: ${WHY[t.asked.why] ?? t.asked.why}`));
  }
  if (source.hasRaw) made.append(button, raw);
  return made;
}

const WHY = { repair: "asked again, because the reply could not be read", "send-back": "sent back, because the reply broke a rule", again: "sent again, because the request was lost" };

export function answerRows(rows) {
  const out = [];
  let list = null;
  for (const [kind, label, text] of rows) {
    if (kind === "item") {
      if (!list) out.push((list = el("ul", {})));
      list.append(el("li", {}, ...long(text, 1500)));
      continue;
    }
    list = null;
    if (kind === "diff") out.push(el("p", { class: "labelled" }, el("b", {}, label)), el("pre", { tabindex: "0" }, ...long(text, 20000)));
    else if (kind === "text") out.push(...text.slice(0, 200000).split(/\n{2,}/).map((p) => el("p", { class: "words" }, ...long(p, 3000))));
    else out.push(el("p", { class: "labelled" }, el("b", {}, label), text ? `: ` : "", ...(text ? long(text, 1500) : [])));
  }
  return out;
}

function words(attempts) {
  if (!attempts.length) return [el("p", { class: "quiet" }, "Nothing is on record.")];
  const out = [];
  for (const one of attempts) {
    if (attempts.length > 1) out.push(el("h4", {}, `attempt ${one.attempt}${one.why && one.why !== "ask" ? ` (${one.why})` : ""}`));
    if (one.prompt) out.push(el("details", {}, el("summary", {}, `prompt, ${thousands(one.prompt.length)} characters`), el("pre", { tabindex: "0" }, ...long(one.prompt, 20000))));
    out.push(el("details", { open: true }, el("summary", {}, `reply, ${thousands((one.reply ?? "").length)} characters`), el("pre", { tabindex: "0" }, ...long(one.reply || "(nothing came back)", 20000))));
  }
  return out;
}

// Answers while they are written. All of it is provisional until the journal has it.
export function live(running) {
  const out = el("div", { class: "live" });
  for (const one of running.values()) {
    const seat = one.key.slice(one.key.lastIndexOf("@") + 1);
    const box = el("div", { class: "writing" }, el("p", {}, el("b", {}, seat), " is writing ", el("span", { class: "dots", "aria-hidden": "true" }, "…"), one.reason ? el("span", { class: "quiet" }, ` ${one.reason}`) : null));
    const list = el("ul", {});
    for (const p of one.points ?? []) {
      list.append(el("li", {}, p.tag ? el("span", { class: `severity ${p.tag}` }, p.tag) : null, " ", p.text.slice(0, 600), p.place ? el("span", { class: `cite ${p.mark || "unchecked"}` }, ` ${p.place.slice(0, 200)} ${p.mark}`) : null));
    }
    if (one.points?.length) box.append(list);
    if (one.words) box.append(el("p", { class: "quiet words" }, one.words));
    add(out, [box]);
  }
  return out;
}
