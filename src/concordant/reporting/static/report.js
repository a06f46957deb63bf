// Sort, search and page through tables, counts of heat map cells on hover, and links that open collapsed parts.
// The page is readable without this script: all rows are in the HTML.

const FIRST = 25; // rows shown at first of a long table
const NEXT = 50;

const number = (text) => {
  const found = text.replace(/[,%<]/g, "").replace("−", "-").match(/[-+]?\d*\.?\d+(e[-+]?\d+)?/i);
  return found ? parseFloat(found[0]) : NaN;
};

const made = (name, properties, ...children) => {
  const one = Object.assign(document.createElement(name), properties);
  one.append(...children);
  return one;
};

// One state per table: sorting changes the order of the rows, searching and paging which of them are shown.
function tabular(table) {
  const state = { wanted: "", limit: "page" in table.dataset ? FIRST : Infinity, show: () => {} };
  const body = table.tBodies[0];
  if ("filter" in table.dataset) searchable(table, state);
  if ("page" in table.dataset) paged(table, state);
  const told = state.show;
  state.show = () => {
    const rows = [...body.rows];
    const found = rows.filter((row) => row.textContent.toLowerCase().includes(state.wanted));
    const shown = new Set(found.slice(0, state.limit));
    rows.forEach((row) => { row.hidden = !shown.has(row); });
    told(shown.size, found.length, rows.length);
  };
  if ("sort" in table.dataset) sortable(table, state);
  state.show();
}

function sortable(table, state) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.classList.contains("drawn") || !head.textContent.trim()) return;
    const button = made("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => [row.cells[column].textContent, row]);
      const isNumber = head.matches(".num, .place") && keyed.some(([text]) => !Number.isNaN(number(text)));
      keyed.sort(([a], [b]) => {
        if (!isNumber) return up ? a.localeCompare(b) : b.localeCompare(a);
        const [one, two] = [number(a), number(b)];
        if (Number.isNaN(one) || Number.isNaN(two)) return Number.isNaN(one) - Number.isNaN(two);
        return up ? one - two : two - one;
      });
      body.append(...keyed.map(([, row]) => row));
      state.show();
    });
  });
}

function searchable(table, state) {
  const input = made("input", { type: "search", placeholder: "Find a row" });
  input.setAttribute("aria-label", `Find a row of ${table.caption?.textContent || "the table"}`);
  const count = made("span", {});
  count.setAttribute("aria-live", "polite");
  table.parentElement.before(made("div", { className: "tools" }, input, count));
  input.addEventListener("input", () => {
    state.wanted = input.value.toLowerCase();
    state.show();
  });
  const told = state.show;
  state.show = (shown, found, all) => {
    count.textContent = state.wanted ? `${found.toLocaleString("en")} of ${all.toLocaleString("en")} found` : "";
    told(shown, found, all);
  };
}

function paged(table, state) {
  const count = made("span", {});
  const next = made("button", { type: "button", className: "button small" });
  const all = made("button", { type: "button", className: "button small plain", textContent: "Show all" });
  const line = made("div", { className: "more" }, count, next, all);
  table.parentElement.after(line);
  next.addEventListener("click", () => { state.limit += NEXT; state.show(); });
  all.addEventListener("click", () => { state.limit = Infinity; state.show(); });
  const told = state.show;
  state.show = (shown, found, rows) => {
    line.hidden = shown === found && rows === found && state.limit === Infinity;
    count.textContent = `${shown.toLocaleString("en")} of ${found.toLocaleString("en")}`;
    next.textContent = `Show next ${Math.min(NEXT, found - shown)}`;
    next.hidden = found - shown <= 0;
    all.hidden = found - shown <= NEXT;
    told(shown, found, rows);
  };
}

const duel = ({ wins, ties, labels }, row, column) => {
  const [won, lost, tied] = [wins[row][column], wins[column][row], ties.length ? ties[row][column] : 0];
  const counts = won + lost + tied ? `${won} to ${lost}${tied ? `, ${tied} tied` : ""}` : "never compared";
  return `${labels[row]} against ${labels[column]}: ${counts}`;
};

function telling(picture) {
  const heat = JSON.parse(picture.dataset.heat);
  const { size, left, top, labels } = heat;
  const told = picture.closest("figure").querySelector(".told");
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const scale = picture.viewBox.baseVal.width / box.width;
    const column = Math.floor(((event.clientX - box.left) * scale - left) / size);
    const row = Math.floor(((event.clientY - box.top) * scale - top) / size);
    const known = row >= 0 && column >= 0 && row < labels.length && column < labels.length && row !== column;
    told.hidden = false;
    if (known) told.textContent = duel(heat, row, column);
  });
}

function titled(table) {
  const heat = JSON.parse(table.dataset.heat);
  table.addEventListener("pointerover", ({ target }) => {
    const cell = target.closest("tbody td");
    if (!cell || cell.title || cell.classList.contains("self")) return;
    cell.title = duel(heat, cell.parentElement.sectionRowIndex, cell.cellIndex - 1);
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
  root.querySelectorAll("table[data-sort], table[data-filter], table[data-page]").forEach(tabular);
  root.querySelectorAll("svg[data-heat]").forEach(telling);
  root.querySelectorAll("table[data-heat]").forEach(titled);
}

addEventListener("hashchange", openTarget);
if (!document.documentElement.dataset.app) {
  enliven(document);
  openTarget();
}
