"use strict";
const { rows, quantiles } = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("pair");
const body = document.querySelector("tbody");
const methods = [...new Set(rows.map((row) => row[5]))].sort();
const count = (method) => rows.filter((row) => row[5] === method).length;
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

for (const name of ["a", "b"]) form.elements[name].append(...methods.map((method) => new Option(method, method)));
const [a, b] = location.hash.slice(1).split("&").map(decodeURIComponent);
const frequent = [...methods].sort((one, other) => count(other) - count(one));
form.elements.a.value = methods.includes(a) ? a : frequent[0];
form.elements.b.value = methods.includes(b) ? b : frequent.find((method) => method !== form.elements.a.value) ?? frequent[0];

function line(cells, columns = 1) {
  const row = document.createElement("tr");
  cells.forEach(([text, kind, bold]) => {
    const cell = document.createElement("td");
    cell.className = kind;
    cell.colSpan = columns;
    cell.append(bold ? Object.assign(document.createElement("b"), { textContent: text }) : text);
    row.append(cell);
  });
  return row;
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function compare() {
  const [first, second] = [form.elements.a.value, form.elements.b.value];
  const place = (row) => JSON.stringify(row.slice(0, 5));
  const others = new Map(rows.filter((row) => row[5] === second).map((row) => [place(row), row[6]]));
  const lines = [];
  for (const row of rows.filter((one) => one[5] === first && others.has(place(one)))) {
    const other = others.get(place(row));
    const seeds = Object.keys(row[6]).filter((seed) => seed in other);
    if (!seeds.length) continue;
    const differences = seeds.map((seed) => other[seed] - row[6][seed]);
    const middle = mean(differences);
    let interval = "one seed", clear = false;
    if (seeds.length > 1) {
      const variance = differences.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (seeds.length - 1);
      const half = (quantiles[seeds.length - 2] ?? 1.96) * Math.sqrt(variance / seeds.length);
      interval = `${signed(middle - half)} to ${signed(middle + half)}`;
      clear = half > 1e-9 && Math.abs(middle) > half;
      if (half <= 1e-9) interval = "same at all seeds";
    }
    const own = seeds.map((seed) => row[6][seed]);
    const its = seeds.map((seed) => other[seed]);
    lines.push(line([
      [row[1], "text"], [row[3], "text"], [row[4] ? row[4].toLocaleString("en") : "none", "n"],
      [signed(middle), "n"], [interval, "n", clear], [mean(own).toFixed(2), "n"], [mean(its).toFixed(2), "n"],
      [String(seeds.length), "n"], [row[0], "text"],
    ]));
  }
  body.replaceChildren(...(lines.length ? lines : [line([["No encoder, tasks and number of sentences have both.", "text"]], 9)]));
  history.replaceState(null, "", `#${encodeURIComponent(first)}&${encodeURIComponent(second)}`);
}
form.addEventListener("input", compare);
compare();
