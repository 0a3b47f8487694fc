/** An element of that name with these children. */
const element = (name, ...children) => {
  const made = document.createElement(name);
  made.append(...children);
  return made;
};

/** Puts a text where it can be pasted from; says on the button whether it did. */
function copying(text_of) {
  const button = element("button", "Copy");
  button.type = "button";
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text_of());
      button.textContent = "Copied";
    } catch {  // only pages of this machine, or over https, may
      button.textContent = "The browser forbids it";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  return button;
}

/** What stands within a line, as nodes: `code`, **strong**, *emphasis*, ~~struck~~, [links](address). */
function inline_of(text) {
  const form = /(?<tick>`+)(?<code>[^]*?[^`])\k<tick>(?!`)|\*\*(?=\S)(?<strong>[^]*?\S)\*\*|(?<![\w*])\*(?=\S)(?<star>[^*]*?\S)\*(?![\w*])|(?<!\w)_(?=\S)(?<line>[^_]*?\S)_(?!\w)|~~(?=\S)(?<struck>[^]*?\S)~~|\[(?<label>[^\]]+)\]\((?<address>https?:[^\s)]+)\)/g;
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(form)) {
    const {code, strong, star, line, struck, label, address} = found.groups;
    nodes.push(text.slice(end, found.index));
    end = found.index + found[0].length;
    if (code !== undefined) nodes.push(element("code", code.replace(/^ (.*\S.*) $/, "$1")));
    else if (strong !== undefined) nodes.push(element("strong", ...inline_of(strong)));
    else if (struck !== undefined) nodes.push(element("s", ...inline_of(struck)));
    else if (address !== undefined)
      nodes.push(Object.assign(element("a", ...inline_of(label)), {href: address, target: "_blank", rel: "noopener noreferrer"}));
    else nodes.push(element("em", ...inline_of(star ?? line)));
  }
  nodes.push(text.slice(end));
  return nodes;
}

const cells_of = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
const row_of = (kind, line) => element("tr", ...cells_of(line).map((cell) => element(kind, ...inline_of(cell))));

const fence = /^ {0,3}(```+|~~~+)/, item = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)/, heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const rule = /^ {0,3}([-*_])(\s*\1){2,}\s*$/, quote = /^ {0,3}> ?/, divider = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const begins_table = (lines, at) => lines[at].includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") &&
  lines[at + 1].includes("|") && divider.test(lines[at + 1]);

/** Markdown as models write it, as elements. HTML in it stays text: nothing that a model writes is obeyed. What is not yet
 * closed, as in an answer on its way, goes to the end. */
function markdown_of(text, depth = 0) {
  if (depth > 20) return [text];
  const lines = text.split("\n"), blocks = [];
  /** Lines from `at` on as long as they `belong`. */
  const take = (at, belong) => {
    let end = at;
    while (end < lines.length && belong(lines[end], end)) ++end;
    return [lines.slice(at, end), end];
  };
  for (let at = 0, part; at < lines.length;) {
    const line = lines[at];
    let found;
    if (!line.trim()) {
      ++at;
    } else if ((found = fence.exec(line))) {
      [part, at] = take(at + 1, (next) => !(next.trim().startsWith(found[1]) && !next.trim().replaceAll(found[1][0], "")));
      const code = part.join("\n");
      blocks.push(element("div", element("pre", element("code", code)), copying(() => code)));
      blocks.at(-1).className = "code";
      ++at;  // the closing line
    } else if ((found = heading.exec(line))) {
      blocks.push(element("h" + Math.min(6, found[1].length + 2), ...inline_of(found[2])));
      ++at;
    } else if (rule.test(line)) {
      blocks.push(element("hr"));
      ++at;
    } else if (quote.test(line)) {
      [part, at] = take(at, (next) => quote.test(next));
      blocks.push(element("blockquote", ...markdown_of(part.map((each) => each.replace(quote, "")).join("\n"), depth + 1)));
    } else if (begins_table(lines, at)) {
      const head = lines[at];
      [part, at] = take(at + 2, (next) => next.includes("|"));
      blocks.push(element("table", element("thead", row_of("th", head)), element("tbody", ...part.map((each) => row_of("td", each)))));
    } else if ((found = item.exec(line))) {
      const numbered = /\d/.test(found[2]), list = element(numbered ? "ol" : "ul");
      if (numbered) list.start = parseInt(found[2], 10);
      const starts_item = (next) => {
        const other = item.exec(next);
        return other && other[1].length <= found[1].length + 1 && /\d/.test(other[2]) === numbered;
      };
      while (at < lines.length && starts_item(lines[at])) {
        const first = lines[at].replace(item, ""), inner = item.exec(lines[at])[0].length;
        // What is indented belongs to it, and empty lines before that.
        [part, at] = take(at + 1, (next, i) => next.trim() ? /^\s{2,}/.test(next) && !starts_item(next)
          : lines.slice(i).find((each) => each.trim())?.match(/^\s{2,}/) && !starts_item(lines.slice(i).find((each) => each.trim())));
        const within = part.map((each) => each.slice(Math.min(inner, each.length - each.trimStart().length)));
        const [text_of, ...others] = markdown_of([first, ...within].join("\n"), depth + 1);
        list.append(element("li", ...(text_of?.tagName === "P" ? text_of.childNodes : text_of ? [text_of] : []), ...others));
        while (at < lines.length && !lines[at].trim() && lines.slice(at).find((each) => each.trim()) !== undefined &&
               starts_item(lines.slice(at).find((each) => each.trim()))) ++at;
      }
      blocks.push(list);
    } else {
      const first = at;
      [part, at] = take(at, (next, i) => next.trim() && (i === first || !(fence.test(next) || heading.test(next) || rule.test(next) ||
        quote.test(next) || item.test(next) || begins_table(lines, i))));
      blocks.push(element("p", ...inline_of(part.join("\n"))));
    }
  }
  return blocks;
}
