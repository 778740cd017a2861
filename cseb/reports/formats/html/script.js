"use strict";
const provenance = JSON.parse(document.getElementById("records").textContent);
const tip = document.getElementById("tip");
const origin = document.getElementById("origin");

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// Sorting: numbers downwards first, names upwards first; empty cells stay last.
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const place = head.cellIndex;
    const down = place ? head.ariaSort !== "descending" : head.ariaSort === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = head.closest("table").tBodies[0];
    const key = (row) => (place ? parseFloat(row.cells[place].dataset.sort) : row.cells[0].textContent);
    const order = (one, other) => {
      const [a, b] = [key(one), key(other)];
      if (!place) return (down ? -1 : 1) * a.localeCompare(b, "en", { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return down ? b - a : a - b;
    };
    body.append(...[...body.rows].sort(order));
  });
}

// What a mouse or the keyboard points at says its seeds.
function point(event) {
  const over = event.target.closest ? event.target.closest("[data-tip]") : null;
  tip.hidden = !over;
  if (!over) return;
  tip.textContent = over.dataset.tip;
  const box = over.getBoundingClientRect();
  const left = Math.min(Math.max(4, box.left), innerWidth - tip.offsetWidth - 4);
  const above = box.top - tip.offsetHeight - 6;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${above > 0 ? above : box.bottom + 6}px`;
}
document.addEventListener("pointerover", point);
document.addEventListener("focusin", point);
document.addEventListener("scroll", () => { tip.hidden = true; }, true);

// One click to the records behind a number.
function details(seed, key) {
  const block = document.createElement("details");
  const record = provenance.records[key];
  block.append(element("summary", `seed ${seed}: ${key}.json, ${provenance.texts[record[0]]}`));
  const list = document.createElement("dl");
  provenance.fields.forEach((field, place) => list.append(element("dt", field), element("dd", provenance.texts[record[place]])));
  block.append(list);
  return block;
}
document.addEventListener("click", (event) => {
  const cell = event.target.closest("[data-keys]");
  if (!cell || !cell.dataset.keys) return;
  tip.hidden = true;
  origin.querySelector("h3").textContent = cell.dataset.tip.split("\n")[0];
  const said = element("p", cell.dataset.tip.split("\n").slice(1).join("\n"));
  said.style.whiteSpace = "pre-wrap";
  const pairs = cell.dataset.keys.split(" ").map((pair) => pair.split(":"));
  origin.querySelector("div").replaceChildren(said, ...pairs.map(([seed, key]) => details(seed, key)));
  const blocks = origin.querySelectorAll("details");
  if (blocks.length) blocks[0].open = true;
  origin.showModal();
});
origin.addEventListener("click", (event) => { if (event.target === origin) origin.close(); });
