"use strict";
// Sorting: numbers from the highest, words and ranks from the lowest; empty cells stay last.
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const words = head.dataset.kind === "text";
    const rising = words || button.textContent === "Rank";
    const down = rising ? head.ariaSort === "ascending" : head.ariaSort !== "descending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = head.closest("table").tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[head.cellIndex];
      return [words ? cell.textContent : parseFloat(cell.dataset.sort), row];
    });
    const collator = new Intl.Collator("en", { numeric: true });
    keyed.sort(([a], [b]) => {
      if (words) return (down ? -1 : 1) * collator.compare(a, b);
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return down ? b - a : a - b;
    });
    body.append(...keyed.map(([, row]) => row));
  });
}

// Filters. The address keeps them, so that a view can be sent to somebody.
const form = document.getElementById("filters");
if (form) {
  const rows = [...document.querySelectorAll("table.board tbody tr")];
  const names = ["folder", "encoder", "tasks", "size"];
  const apply = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const words = wanted.search.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const fits = names.every((name) => !wanted[name] || row.dataset[name] === wanted[name])
        && words.every((word) => row.dataset.search.includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    form.querySelector("output").textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    const kept = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
    history.replaceState(null, "", `#${kept}`);
  };
  const start = location.href.includes("#") ? location.hash.slice(1) : form.dataset.start;
  for (const [name, value] of new URLSearchParams(start)) {
    if (form.elements[name]) form.elements[name].value = value;
  }
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  apply();
}
