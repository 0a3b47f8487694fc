const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
/** A new element: make("p", {class: "faint"}, "text", child). */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "path", "text", "rect", "circle"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
/** Text beside the pointer; empty: none. */
function show_tip(event, text) {
  const tip = find("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  const left = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
  const top = event.clientY + 16 + box.height > innerHeight ? event.clientY - 12 - box.height : event.clientY + 16;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
}
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
/** Calls `draw` when the system goes dark or light. */
const on_colours = (draw) => matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
const sum = (values) => values.reduce((a, b) => a + b, 0);
/** So many digits, without zeros that say nothing; thousands are kept whole. */
function number(value, digits = 3) {
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e15) return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
  if (size > 0 && (size <= 1e-3 || size >= 1e15)) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(+value.toPrecision(digits));
}
/** Three digits, so that those of a column stand below each other. */
function time(us) {
  const [value, unit] = us >= 1e6 ? [us / 1e6, " s"] : us >= 1e3 ? [us / 1e3, " ms"] : [us, " µs"];
  return (value >= 100 || value === 0 ? number(Math.round(value)) : value.toPrecision(3)) + unit;
}
