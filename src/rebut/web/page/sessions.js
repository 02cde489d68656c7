import { el, fill, money, plural, some, when } from "./dom.js";

// The sessions of a folder, with a search and filters.

export function sessionList(found) {
  const all = found.sessions;
  const list = el("tbody", {});
  const count = el("p", { class: "quiet", role: "status" });
  const search = el("input", { type: "search", placeholder: "topic, outcome, model, id", "aria-label": "Search", input: draw });
  const choice = (label, values) => el("select", { "aria-label": label, change: draw }, el("option", { value: "" }, label), [...new Set(values)].filter(Boolean).sort().map((v) => el("option", { value: v }, v)));
  const protocol = choice("every protocol", all.map((s) => s.protocol));
  const state = choice("every state", all.map((s) => s.state));
  const model = choice("every model", all.flatMap((s) => s.models ?? []));
  const cost = el("select", { "aria-label": "any cost", change: draw }, [["", "any cost"], ["0.1", "$0.10 or more"], ["1", "$1 or more"], ["10", "$10 or more"]].map(([v, w]) => el("option", { value: v }, w)));
  const since = el("input", { type: "date", change: draw });
  const table = el("table", { class: "sessions" }, el("thead", {}, el("tr", {}, ["when", "protocol", "topic", "outcome", "cost", "time"].map((name) => el("th", { scope: "col" }, name)))), list);
  const holder = el("div", {}, table);
  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = all.filter((s) => {
      const text = `${s.id} ${s.topic} ${s.status} ${(s.models ?? []).join(" ")} ${s.protocol}`.toLowerCase();
      return words.every((w) => text.includes(w)) && (!protocol.value || s.protocol === protocol.value) && (!state.value || s.state === state.value) && (!model.value || s.models?.includes(model.value)) && (!cost.value || (s.usd ?? 0) >= Number(cost.value)) && (!since.value || s.at >= since.value);
    });
    holder.querySelectorAll(".more").forEach((one) => one.remove());
    fill(list);
    const [, button] = some(shown, line, list, 100);
    if (button) table.after(button);
    fill(count, `${plural(shown.length, "session")}${shown.length < all.length ? ` of ${all.length}` : ""}${found.older ? `; ${plural(found.older, "older one")} in \`rebut list\` only` : ""}`);
  }
  function line(s) {
    return el("tr", {}, el("td", { class: "when" }, when(s.at)), el("td", {}, s.protocol), el("td", { class: "topic" }, el("a", { href: `/s/${s.id}` }, s.topic.slice(0, 160) || s.id)), el("td", {}, el("span", { class: `state ${s.state}` }, s.status.slice(0, 160))), el("td", { class: "amount" }, s.usd === undefined ? "" : money(s.usd)), el("td", { class: "amount" }, s.time ?? ""));
  }
  draw();
  return el(
    "main",
    { id: "main", class: "list" },
    el("header", { class: "top" }, el("p", { class: "brand" }, "rebut"), el("h1", {}, `Debates in ${found.folder}`)),
    all.length ? [el("div", { class: "filters" }, search, protocol, state, model, cost, el("label", { class: "quiet" }, "since ", since)), count, holder] : el("p", {}, "No debate was held in this folder yet. Start one with `rebut \"…\"`, `rebut review` or `rebut demo`."),
  );
}
