// Tensors of a call as grids. An element of an output that is pointed at marks what it reads, and its
// formula stands below with numbers put in; an element of an input marks the outputs that read it.
"use strict";
(() => {
  const data = document.getElementById("pictures");
  if (!data) return;
  const calls = JSON.parse(data.textContent);
  const choice = document.getElementById("picture-call");
  const place = document.getElementById("picture"), told = document.getElementById("picture-text");
  let cells = []; // of all tensors, each list by position
  let current = null;

  function make(tag, parent, text = "", sign = "") {
    const made = document.createElement(tag);
    made.textContent = text;
    if (sign) made.className = sign;
    parent.append(made);
    return made;
  }

  function indexOf(position, shape) {
    const index = [];
    for (const extent of [...shape].reverse()) {
      index.unshift(position % extent);
      position = Math.floor(position / extent);
    }
    return index;
  }

  // The last two dimensions are rows and columns; those in front of them count the grids.
  function grids(tensor, number, output) {
    const box = make("figure", place), shape = tensor.shape;
    make("figcaption", box, `${tensor.name} (${shape.join(", ")})`);
    const columns = shape.at(-1) ?? 1, rows = shape.at(-2) ?? 1;
    const own = [];
    const line = make("div", box, "", "grids");
    for (let first = 0; first < tensor.values.length; first += rows * columns) {
      const grid = make("div", line, "", "grid");
      if (shape.length > 2)
        make("small", grid, `[${indexOf(first, shape).slice(0, -2).join(", ")}]`);
      const table = make("table", grid);
      for (let row = 0; row < rows; ++row) {
        const cellRow = make("tr", table);
        for (let column = 0; column < columns; ++column) {
          const position = first + row * columns + column;
          const cell = make("td", cellRow, tensor.values[position], output ? "output" : "");
          cell.tabIndex = -1;
          Object.assign(cell.dataset, { tensor: number, position });
          own.push(cell);
        }
      }
    }
    cells.push(own);
  }

  function draw() {
    current = calls[Number(choice.value)];
    place.replaceChildren();
    cells = [];
    [...current.inputs, ...current.outputs].forEach((tensor, number) =>
      grids(tensor, number, number >= current.inputs.length));
    document.getElementById("picture-attributes").textContent = current.attributes;
    const first = cells[current.inputs.length][0];
    if (first) first.tabIndex = 0, point(first);
  }

  function* readsOf(output, position) {
    const { r } = current.elements[output][position];
    for (let at = 0; at < r.length; at += 2) yield [r[at], r[at + 1]];
  }

  function clear(sign) {
    for (const cell of place.querySelectorAll("." + sign)) cell.classList.remove(sign);
  }

  function point(cell) {
    clear("hit"), clear("chosen");
    cell.classList.add("chosen");
    const number = Number(cell.dataset.tensor), position = Number(cell.dataset.position);
    const output = number - current.inputs.length;
    const tensor = output < 0 ? current.inputs[number] : current.outputs[output];
    const name = `${tensor.name}[${indexOf(position, tensor.shape).join(", ")}]`;
    if (output >= 0) {
      for (const [input, at] of readsOf(output, position)) cells[input][at].classList.add("hit");
      const { t } = current.elements[output][position], value = tensor.values[position];
      told.textContent = `${name} = ${t}` + (t === value ? "" : ` = ${value}`);
      return;
    }
    let count = 0;
    current.elements.forEach((elements, at) => elements.forEach((_, other) => {
      for (const [input, read] of readsOf(at, other))
        if (input === number && read === position) {
          cells[current.inputs.length + at][other].classList.add("hit");
          ++count;
        }
    }));
    told.textContent = `${name} = ${tensor.values[position]} is read for ${count} element${count === 1 ? "" : "s"}`;
  }

  function go(cell, key) {
    const number = Number(cell.dataset.tensor), position = Number(cell.dataset.position);
    const all = [...current.inputs, ...current.outputs];
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -(all[number].shape.at(-1) ?? 1), ArrowDown: all[number].shape.at(-1) ?? 1 }[key];
    return step && cells[number][position + step];
  }

  place.addEventListener("mouseover", event => {
    const cell = event.target.closest("td");
    if (cell) point(cell);
  });
  place.addEventListener("focusin", event => {
    const cell = event.target.closest("td");
    if (!cell) return;
    for (const each of place.querySelectorAll("td[tabindex='0']")) each.tabIndex = -1;
    cell.tabIndex = 0;
    point(cell);
  });
  place.addEventListener("click", event => {
    const cell = event.target.closest("td");
    if (cell) cell.focus();
  });
  place.addEventListener("keydown", event => {
    const cell = event.target.closest("td");
    const next = cell && go(cell, event.key);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
    if (next) next.focus();
  });
  choice.addEventListener("change", draw);
  draw();
})();
