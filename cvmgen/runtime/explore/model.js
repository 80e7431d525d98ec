// A tensor that is pointed at is marked wherever it stands, with the steps in which it is alive.
"use strict";
const boxes = [...document.querySelectorAll(".box")];
const steps = [...document.querySelectorAll("tr[data-step]")];
const named = [...document.querySelectorAll("[data-tensor]")];
const told = document.getElementById("fact");

function point(target) {
  const tensor = target.closest("[data-tensor]"), step = target.closest("tr[data-step]");
  const names = new Set(tensor ? [tensor.dataset.tensor] : []);
  if (!tensor && step)
    for (const each of step.querySelectorAll("[data-tensor]")) names.add(each.dataset.tensor);
  if (!names.size) return;
  for (const each of named) each.classList.toggle("hit", names.has(each.dataset.tensor));
  const alive = boxes.filter(box => names.has(box.dataset.tensor));
  for (const row of steps) {
    const at = Number(row.dataset.step);
    row.classList.toggle("hover", alive.some(({ dataset: { first, last } }) => first <= at && at <= last));
  }
  if (alive.length) told.textContent = alive.map(box => box.getAttribute("aria-label")).join("; ");
}

document.addEventListener("mouseover", event => point(event.target));
document.addEventListener("focusin", event => point(event.target));
