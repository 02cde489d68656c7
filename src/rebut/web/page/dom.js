// Builds elements. Text of models and files enters the page as text only: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "g", "line", "path", "rect", "circle", "text", "polygon", "polyline", "title"]);
const LONGEST = 12000;

export function el(tag, attributes = {}, ...children) {
  const made = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "class") made.setAttribute("class", value);
    else made.setAttribute(name, value === true ? "" : plain(String(value)));
  }
  add(made, children);
  return made;
}

export function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    parent.append(child instanceof Node ? child : readable(String(child)));
  }
  return parent;
}

// Characters that turn the direction of the text around them are shown by their number, as code review tools do.
export function plain(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g, (c) => `[U+${c.charCodeAt(0).toString(16).toUpperCase()}]`);
}

export function readable(text) {
  return document.createTextNode(plain(text));
}

export function fill(parent, ...children) {
  parent.replaceChildren();
  return add(parent, children);
}

// A text of any length: the rest of a very long one comes on request.
export function long(text, most = LONGEST) {
  if (text.length <= most) return [text];
  const rest = el("span", {}, text.slice(0, most));
  let shown = most;
  const button = el("button", { class: "more", type: "button", click: more }, label());
  function label() {
    return `… ${(text.length - shown).toLocaleString("en")} more characters`;
  }
  function more() {
    add(rest, [text.slice(shown, shown + 200000)]);
    shown += 200000;
    if (shown >= text.length) button.remove();
    else fill(button, label());
  }
  return [rest, " ", button];
}

// A list of any length: so many at first, then more on request.
export function some(items, draw, parent, most = 60) {
  let at = 0;
  const button = el("button", { class: "more", type: "button", click: more });
  function more() {
    const until = Math.min(items.length, at + most);
    const made = [];
    for (; at < until; at += 1) made.push(draw(items[at], at));
    button.remove();
    add(parent, made);
    if (at < items.length) {
      fill(button, `${Math.min(most, items.length - at)} more of ${items.length - at}`);
      parent.after(button);
    }
  }
  more();
  return [parent, at < items.length ? button : null];
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function seconds(ms) {
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  return s < 60 ? `${Math.round(s)} s` : `${Math.floor(s / 60)} min ${String(Math.round(s % 60)).padStart(2, "0")} s`;
}

export function thousands(count) {
  if (count >= 999500) return `${(count / 1e6).toFixed(1)}M`;
  return count >= 1000 ? `${(count / 1000).toFixed(1)}k` : String(count);
}

export function money(usd) {
  if (usd === null) return "price unknown";
  return usd >= 0.005 || usd === 0 ? `$${usd.toFixed(2)}` : "under $0.01";
}

export function when(at) {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

export function link(target, ...children) {
  return el("a", { href: target }, ...children);
}
