// Operators whose name, aliases or description have all words of what is searched for.
"use strict";
const search = document.getElementById("search");
const rows = [...document.querySelectorAll("li")];
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/);
  for (const row of rows)
    row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
});
search.addEventListener("keydown", event => {
  const first = rows.find(row => !row.hidden);
  if (event.key === "Enter" && first) location.href = first.querySelector("a").href;
});
document.addEventListener("keydown", event => {
  if (event.key !== "/" || (document.activeElement === search && search.value)) return;
  search.focus();
  event.preventDefault();
});
