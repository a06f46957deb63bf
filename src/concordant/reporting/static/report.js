// Sortable and filterable tables, counts of heat map cells on hover, and links that expand collapsed sections.
// The page is readable without this script.

const number = (text) => {
  const found = text.replace(/[,%<]/g, "").match(/[-+]?\d*\.?\d+(e[-+]?\d+)?/i);
  return found ? parseFloat(found[0]) : NaN;
};

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.classList.contains("drawn") || !head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => [row.cells[column].textContent, row]);
      const isNumber = keyed.every(([text]) => !text || !Number.isNaN(number(text))) && head.classList.contains("right");
      keyed.sort(([a], [b]) => (isNumber ? number(a || "nan") - number(b || "nan") : a.localeCompare(b)));
      if (!up) keyed.reverse();
      body.append(...keyed.map(([, row]) => row));
    });
  });
}

function filterable(table) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("span");
  input.type = "search";
  count.setAttribute("aria-live", "polite");
  label.className = "filter";
  label.append("Filter rows", input, " ", count);
  table.parentElement.before(label);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    const rows = [...table.tBodies[0].rows];
    rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
    count.textContent = wanted ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
  });
}

function telling(picture) {
  const { size, left, top, wins, ties, labels } = JSON.parse(picture.dataset.heat);
  const told = picture.closest("figure").querySelector(".told");
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const scale = picture.viewBox.baseVal.width / box.width;
    const column = Math.floor(((event.clientX - box.left) * scale - left) / size);
    const row = Math.floor(((event.clientY - box.top) * scale - top) / size);
    const known = row >= 0 && column >= 0 && row < labels.length && column < labels.length && row !== column;
    told.hidden = false;
    if (!known) return;
    const drawn = ties.length ? `, ${ties[row][column]} ties` : "";
    told.textContent = `${labels[row]} against ${labels[column]}: ${wins[row][column]} to ${wins[column][row]}${drawn}`;
  });
}

function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
}

export function enliven(root) {
  root.querySelectorAll("table[data-sort]").forEach(sortable);
  root.querySelectorAll("table[data-filter]").forEach(filterable);
  root.querySelectorAll("svg[data-heat]").forEach(telling);
}

addEventListener("hashchange", openTarget);
if (!document.documentElement.dataset.app) {
  enliven(document);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  openTarget();
}
