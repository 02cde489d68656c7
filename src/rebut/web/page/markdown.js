import { el, readable } from "./dom.js";

// A subset of Markdown as elements: headings, lists, quotes, code, tables as text, bold and code inside of lines.
// Links are shown as text: a page about code of others opens nothing.

export function markdown(text, level = 3) {
  const out = el("div", { class: "prose" });
  const lines = text.slice(0, 400000).split("\n");
  let list = null;
  let depth = level - 1;
  let paragraph = [];
  const flush = () => {
    if (paragraph.length) out.append(el("p", {}, ...inline(paragraph.join(" "))));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const fence = /^\s{0,3}(```+|~~~+)/.exec(line);
    if (fence) {
      flush();
      list = null;
      const body = [];
      for (at += 1; at < lines.length && !lines[at].trim().startsWith(fence[1]); at += 1) body.push(lines[at]);
      out.append(el("pre", { tabindex: "0" }, el("code", {}, body.join("\n"))));
      continue;
    }
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    const item = /^\s*([-*+]|\d{1,3}[.)])\s+(.*)$/.exec(line);
    if (heading) {
      flush();
      list = null;
      // A text may begin with any level or leave one out; the page goes down one at a time.
      depth = Math.min(6, level + heading[1].length - 1, depth + 1);
      out.append(el(`h${depth}`, {}, ...inline(heading[2])));
    } else if (item) {
      flush();
      const numbered = /\d/.test(item[1]);
      if (!list || (list.tagName === "OL") !== numbered) out.append((list = numbered ? el("ol", { start: parseInt(item[1], 10) }) : el("ul")));
      list.append(el("li", {}, ...inline(item[2])));
    } else if (!line.trim()) {
      flush();
      list = null;
    } else if (list && /^\s+/.test(line)) {
      list.lastChild.append(readable(" "), ...inline(line.trim()));
    } else {
      list = null;
      paragraph.push(line.trim());
    }
  }
  flush();
  return out;
}

function inline(text) {
  const out = [];
  const parts = text.split(/(`[^`]{1,400}`|\*\*[^*]{1,400}\*\*)/);
  for (const part of parts) {
    if (part.startsWith("`") && part.endsWith("`") && part.length > 2) out.push(el("code", {}, part.slice(1, -1)));
    else if (part.startsWith("**") && part.endsWith("**") && part.length > 4) out.push(el("strong", {}, part.slice(2, -2)));
    else if (part) out.push(readable(part.replace(/\\([\\`*_{}[\]()#+\-.!<>|&])/g, "$1")));
  }
  return out;
}
