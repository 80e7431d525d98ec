// What belongs together is marked in all panes: lines of code know the part of the formula that
// they compute, from data-a to data-b; parts of the formula know where they begin, at data-at.
"use strict";
// Code comes as text, and of its lines the part of so many of them: count:from:to.
for (const code of document.querySelectorAll("[data-code]")) {
  const texts = code.textContent.split("\n"), made = document.createDocumentFragment();
  let number = 0;
  for (const run of code.dataset.parts.split(" ")) {
    const [count, from, to] = run.split(":");
    for (const text of texts.slice(number, number + Number(count))) {
      const line = document.createElement("span"), link = document.createElement("a");
      line.className = "line";
      line.id = `${code.dataset.code}-${++number}`;
      if (from) Object.assign(line.dataset, { a: from, b: to });
      link.href = `#${line.id}`;
      link.textContent = number;
      line.append(link, text);
      made.append(line);
    }
  }
  code.replaceChildren(made);
}
const lines = [...document.querySelectorAll("[data-a]")].map(element => ({
  element, from: Number(element.dataset.a), to: Number(element.dataset.b),
  pane: element.closest("[data-pane]"),
}));
const parts = [...document.querySelectorAll("[data-at]")].map(element => ({
  element, at: Number(element.dataset.at),
}));
const lineOf = new Map(lines.map(line => [line.element, line]));
const toggles = [...document.querySelectorAll("[data-shows]")];
const facts = JSON.parse(document.getElementById("facts").textContent);
const told = document.getElementById("fact");
let chosen = null;

function mark(sign, range) {
  for (const { element, from, to } of lines)
    element.classList.toggle(sign, range !== null && from >= range.from && to <= range.to);
  for (const { element, at } of parts)
    element.classList.toggle(sign, range !== null && at >= range.from && at < range.to);
}

// The smallest part of the formula around a place that some line computes.
function around(at) {
  let best = null;
  for (const line of lines)
    if (line.from <= at && at < line.to && (!best || line.to - line.from < best.to - best.from))
      best = line;
  return best && { from: best.from, to: best.to };
}

function rangeOf(target) {
  const line = target.closest("[data-a]");
  if (line) return lineOf.get(line);
  const part = target.closest("[data-at]");
  return part ? around(Number(part.dataset.at)) : null;
}

// What is known of a place of the formula: of the smallest part around it, and of those around that.
function tell(from, to) {
  const around = facts.filter(([a, b]) => a <= from && to <= b).sort((x, y) => (x[1] - x[0]) - (y[1] - y[0]));
  if (!around.length) return;
  const [a, b, known] = around[0];
  const code = parts.filter(part => part.at >= a && part.at < b).map(part => part.element.textContent);
  told.textContent = `${code.join("").replace(/\s+/g, " ")}: ${known.join("; ")}`;
}

function show(pane, visible) {
  pane.hidden = !visible;
  for (const toggle of toggles)
    if (toggle.dataset.shows === pane.dataset.pane) toggle.setAttribute("aria-pressed", visible);
  const panes = toggles.filter(each => each.ariaPressed === "true").map(each => each.dataset.shows);
  history.replaceState({ panes }, ""); // which a page that is loaded again has still
}

function restore() {
  const { panes } = history.state ?? {};
  for (const { dataset: { shows } } of panes ? toggles : [])
    show(document.getElementById("pane-" + shows), panes.includes(shows));
}

function scroll(element) {
  const box = element.closest("pre, .math");
  const place = element.getBoundingClientRect(), room = box.getBoundingClientRect();
  if (place.top < room.top || place.bottom > room.bottom)
    box.scrollTop += place.top - room.top - box.clientHeight / 3;
}

function choose(range, line) {
  if (chosen) chosen.element.classList.remove("chosen");
  chosen = line;
  mark("hit", range);
  if (range) tell(range.from, range.to);
  if (line) {
    line.element.classList.add("chosen");
    if (line.element.id) history.replaceState(history.state, "", "#" + line.element.id);
    scroll(line.element);
  }
  if (!range) return;
  const seen = new Set(line ? [line.pane] : []);
  for (const each of lines)
    if (!each.pane.hidden && !seen.has(each.pane) && each.element.classList.contains("hit")) {
      seen.add(each.pane);
      scroll(each.element);
    }
  const part = parts.find(each => each.element.classList.contains("hit"));
  if (part) scroll(part.element);
}

function move(step) {
  const own = lines.filter(line =>
    line.element.id && !line.pane.hidden && (!chosen || line.pane === chosen.pane));
  const next = own[chosen ? own.indexOf(chosen) + step : 0];
  if (next) choose(next, next);
}

function clear() {
  choose(null, null);
  history.replaceState(history.state, "", location.pathname + location.search);
}

async function copy(button) {
  const text = button.parentElement.querySelector("code").textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(button.parentElement.querySelector("code"));
  }
}

function follow() {
  const element = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const line = element && element.closest(".line");
  if (!line) return;
  show(line.closest("[data-pane]"), true);
  const known = lineOf.get(line);
  if (known) choose(known, known);
  else scroll(line);
}

document.addEventListener("click", event => {
  const button = event.target.closest("button");
  if (button && button.dataset.shows) {
    const pane = document.getElementById("pane-" + button.dataset.shows);
    return show(pane, pane.hidden);
  }
  if (button && "copy" in button.dataset) return copy(button);
  if (button && "help" in button.dataset) {
    const help = document.getElementById("help");
    help.hidden = !help.hidden;
    return button.setAttribute("aria-expanded", !help.hidden);
  }
  const range = rangeOf(event.target);
  if (range) choose(range, lineOf.get(event.target.closest("[data-a]")) || null);
});
document.addEventListener("mouseover", event => {
  const part = event.target.closest("[data-at]"), range = rangeOf(event.target);
  mark("hover", range);
  if (part) tell(Number(part.dataset.at), Number(part.dataset.at) + 1);
  else if (range) tell(range.from, range.to);
});
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") clear();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    move(event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
  } else if (toggles[Number(event.key) - 1]) toggles[Number(event.key) - 1].click();
});
addEventListener("hashchange", follow);
restore();
follow();
