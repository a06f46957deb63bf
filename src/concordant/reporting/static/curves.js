// Curves over time: choose items, change the period, read values. Without this script, the page shows a drawing of the
// chosen items. In the web app, the choice goes into the address, and items that the page does not know are asked for.

const COLOURS = 6;
const LETTER = 6.8;
const LINE = 14; // pixels between the names of curves
const BEYOND = 0.3; // of the height of the lines: how far bands may reach beyond them
const FEW = 12; // items offered as buttons before a search
const LONG = 80; // points from which a curve may be thinned
const DAY = 86400000;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MINUS = "−";

const svg = (name, attributes = {}, ...children) => {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => one.setAttribute(key, value));
  one.append(...children);
  return one;
};

const html = (name, properties = {}, ...children) => {
  const one = Object.assign(document.createElement(name), properties);
  one.append(...children);
  return one;
};

const text = (shown, x, y, kind) => svg("text", { x, y, class: kind }, shown);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const isApp = () => Boolean(document.documentElement.dataset.app);

// ---- times and numbers ----
const iso = (time) => new Date(Math.floor(time) * DAY).toISOString().slice(0, 10);
const written = (value) => value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) < 1000 ? 3 : 4 }).replace("-", MINUS);

function moment(time, dated) {
  if (!dated) return String(Math.round(time * 1e6) / 1e6);
  const day = new Date(Math.floor(time) * DAY);
  const minutes = Math.round(1440 * (time - Math.floor(time)));
  const at = minutes > 0 && minutes < 1440 ? ` ${clock(minutes)}` : "";
  return `${day.getUTCDate()} ${MONTHS[day.getUTCMonth()]} ${day.getUTCFullYear()}${at}`;
}

const clock = (minutes) => [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");
const dayOf = (day) => moment(day, true).split(" ").slice(0, 2).join(" ");

function ticks(low, high, most) {
  const order = Math.floor(Math.log10(Math.max(high - low, 1e-300) / most));
  for (const factor of [1, 2, 5, 10, 20]) {
    const step = factor * 10 ** order;
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    if (last - first < most) return Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
  }
  return [low, high];
}

// Round dates between two days: of every nth day, month or year, the shortest steps that fit.
function timeTicks([begin, end], dated, most) {
  if (!dated) return ticks(begin, end, most).map((time) => [time, moment(time, false)]);
  const [first, last] = [begin, end].map((time) => new Date(time * DAY));
  const days = (at) => at / DAY;
  for (const step of end - begin < 3 ? [1, 3, 6, 12] : []) {
    const found = [];
    for (let hour = Math.ceil((24 * begin) / step) * step; hour <= 24 * end; hour += step) found.push(hour);
    if (found.length <= most) return found.map((hour) => [hour / 24, hour % 24 ? clock(60 * (hour % 24)) : dayOf(hour / 24)]);
  }
  for (const step of [1, 2, 7, 14]) {
    const found = [];
    for (let day = Math.ceil(begin / step) * step; day <= end && found.length <= most; day += step) found.push(day);
    if (found.length && found.length <= most) return found.map((day) => [day, dayOf(day)]);
  }
  for (const step of [1, 3, 6]) {
    const found = [];
    for (let month = first.getUTCFullYear() * 12; month <= last.getUTCFullYear() * 12 + 11 && found.length <= most + 12; month += step) {
      const time = days(Date.UTC(Math.floor(month / 12), month % 12, 1));
      if (time >= begin && time <= end) found.push([time, month % 12 ? MONTHS[month % 12] : String(month / 12)]);
    }
    if (found.length && found.length <= most) {
      if (!/\d/.test(found[0][1])) found[0][1] += ` ${new Date(found[0][0] * DAY).getUTCFullYear()}`;
      return found;
    }
  }
  for (const step of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]) {
    const found = [];
    for (let year = Math.floor(first.getUTCFullYear() / step) * step; year <= last.getUTCFullYear(); year += step) {
      const time = days(new Date(0).setUTCFullYear(year, 0, 1));
      if (time >= begin && time <= end) found.push([time, String(year)]);
    }
    if (found.length <= most) return found;
  }
  return [];
}

// ---- parts of the drawing ----
function lively(figure) {
  const data = JSON.parse(figure.dataset.curves);
  const slots = Array.from({ length: COLOURS }, (_, k) => data.chosen[k] ?? null); // the curve of each colour
  const state = { figure, data, slots, shown: [...data.shown], at: null };
  figure.querySelectorAll("svg").forEach((one) => one.remove());
  state.plot = html("div", { className: "plot", tabIndex: 0 });
  state.plot.setAttribute("role", "group");
  state.plot.setAttribute("aria-label", "Curves: the left and right arrow keys read the values");
  state.strip = html("div", { className: "strip" });
  state.told = figure.querySelector(".told");
  state.told.hidden = false;
  state.told.textContent = "Point at the chart, or use the left and right arrow keys in it, to read the values.";
  figure.querySelector("figcaption").after(picker(state), state.plot, state.strip, zoom(state), state.told);
  reading(state);
  dragging(state);
  new ResizeObserver(() => draw(state)).observe(state.plot);
  draw(state);
}

const chosenOf = ({ slots, data }) => slots.flatMap((curve, k) => (curve === null ? [] : [[data.curves[curve], k + 1, curve]]));

function lastUntil(curve, time) {
  let [low, high] = [0, curve.times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function valueRange({ data, shown: [begin, end] }, chosen) {
  const drawn = chosen.length ? chosen.map(([curve]) => curve) : data.curves;
  const [inside, ends] = [[], []];
  for (const curve of drawn) {
    for (let k = Math.max(lastUntil(curve, begin), 0); k < curve.times.length && curve.times[k] <= end; k += 1) {
      inside.push(curve.values[k]);
      if (curve.low.length) ends.push(curve.low[k], curve.high[k]);
    }
  }
  if (!inside.length) inside.push(...drawn.flatMap((curve) => curve.values));
  let [low, high] = [Math.min(...inside), Math.max(...inside)];
  const height = high - low || Math.max(Math.abs(high), 1) * 0.1;
  [low, high] = [Math.max(Math.min(low, ...ends), low - BEYOND * height), Math.min(Math.max(high, ...ends), high + BEYOND * height)];
  const margin = 0.05 * (high - low || height);
  return [low - margin, high + margin];
}

// The parts of a curve without long interruptions: [first point, end, time until which it is dashed].
function runs(curve, gap, end) {
  const found = [];
  let start = 0;
  for (let k = 1; k <= curve.times.length; k += 1) {
    if (k < curve.times.length && curve.times[k] - curve.times[k - 1] <= gap) continue;
    const until = k < curve.times.length ? curve.times[k] : curve.lasts ? end : curve.times[k - 1];
    found.push([start, k, until]);
    start = k;
  }
  return found;
}

function scaled(box, times, [low, high]) {
  const x = (time) => box.left + ((box.right - box.left) * (time - times[0])) / (times[1] - times[0]);
  const y = (value) => box.bottom - ((box.bottom - box.top) * (value - low)) / (high - low);
  const point = (time, value) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
  const path = (curve, values, [start, stop]) => {
    const points = [];
    for (let k = start; k < stop; k += 1) points.push(point(curve.times[k], values[k]));
    return points;
  };
  return { x, y, path };
}

function lines(state, chosen, at, end) {
  const { data: { curves, gap }, slots } = state;
  const of = (curve) => runs(curve, gap, end);
  const solid = (curve) => of(curve).map((run) => `M${at.path(curve, curve.values, run).join("L")}`).join("");
  const grey = curves.filter((_, k) => !slots.includes(k)).map((curve) => svg("path", { class: "thin", d: solid(curve) }, svg("title", {}, curve.shown)));
  const bands = chosen.filter(([curve]) => curve.low.length).map(([curve, colour]) => {
    const d = of(curve).map((run) => `M${[...at.path(curve, curve.high, run), ...at.path(curve, curve.low, run).reverse()].join("L")}Z`);
    return svg("path", { class: `band f${colour}`, d: d.join("") });
  });
  const drawn = chosen.flatMap(([curve, colour]) => {
    const dashes = of(curve).filter(([, stop, until]) => until > curve.times[stop - 1]).map(([, stop, until]) => (
      `M${at.x(curve.times[stop - 1]).toFixed(1)} ${at.y(curve.values[stop - 1]).toFixed(1)}H${at.x(until).toFixed(1)}`));
    const line = svg("path", { class: `line c${colour}`, d: solid(curve) }, svg("title", {}, curve.shown));
    return dashes.length ? [line, svg("path", { class: `line dash c${colour}`, d: dashes.join("") })] : [line];
  });
  return [...grey, ...bands, ...drawn];
}

function spread(places, top, bottom) {
  const out = [];
  places.forEach((place) => out.push(out.length ? Math.max(place, out.at(-1) + LINE) : Math.max(place, top)));
  for (let k = out.length - 1, limit = bottom; k >= 0; k -= 1) {
    out[k] = Math.min(out[k], limit);
    limit = out[k] - LINE;
  }
  return out;
}

// The end of a curve in the period: its last point, or where it leaves the period.
function lastIn(curve, k, end, gap) {
  const [time, value] = [curve.times[k], curve.values[k]];
  if (k === curve.times.length - 1) return [curve.lasts ? end : time, value];
  const [next, goal] = [curve.times[k + 1], curve.values[k + 1]];
  return [end, next - time > gap ? value : value + ((goal - value) * (end - time)) / (next - time)];
}

function names(state, chosen, at, box, isNarrow) {
  const [begin, end] = state.shown;
  const [parts, atEdge] = [[], []];
  for (const [curve, colour] of chosen) {
    const k = lastUntil(curve, end);
    if (k < 0) continue;
    const isAtEdge = curve.lasts || k < curve.times.length - 1 || curve.times[k] > end - 0.08 * (end - begin);
    if (curve.times[k] < begin && !isAtEdge) continue;
    const [time, value] = lastIn(curve, k, end, state.data.gap);
    const x = at.x(time);
    const y = clamp(at.y(value), box.top, box.bottom);
    parts.push(svg("circle", { class: `f${colour}`, cx: x, cy: y, r: 4 }));
    if (isAtEdge) atEdge.push([y, nameOf(curve, isNarrow)]);
    else parts.push(text(nameOf(curve, isNarrow), x + 7, y + 4, "b halo"));
  }
  atEdge.sort(([a], [b]) => a - b);
  const places = spread(atEdge.map(([y]) => y), box.top, box.bottom);
  return [...parts, ...atEdge.map(([, name], k) => text(name, box.right + 9, places[k] + 4, "b"))];
}

const nameOf = (curve, isNarrow) => (isNarrow ? curve.short : curve.shown.length > 18 ? `${curve.shown.slice(0, 17)}…` : curve.shown);

function peak(state, at, box, isNarrow) {
  const { data, shown } = state;
  if (!data.peak || !state.slots.includes(data.peak[0])) return [];
  const [number, time, value] = data.peak;
  if (time < shown[0] || time > shown[1]) return [];
  const when = data.dated ? moment(time, true).split(" ").slice(1, 3).join(" ") : moment(time, false);
  const more = isNarrow ? "" : ` peak of ${nameOf(data.curves[number], false)}, ${when}`;
  const label = written(value);
  const half = (LETTER * (label + more).length) / 2;
  const [x, y] = [at.x(time), at.y(value)];
  const near = text("", clamp(x, box.left + half, box.right - half), Math.max(y - 12, box.top + 10), "mid halo");
  near.append(svg("tspan", { class: "b" }, label), more);
  return [svg("circle", { class: "hollow", cx: x, cy: y, r: 5 }), near];
}

function draw(state) {
  const { data, shown, plot } = state;
  const width = Math.max(Math.round(plot.clientWidth), 200);
  const isNarrow = width < 560;
  const height = isNarrow ? 260 : 380;
  const chosen = chosenOf(state);
  const range = valueRange(state, chosen);
  const values = ticks(...range, isNarrow ? 6 : 8);
  const labels = values.map((value) => value.toLocaleString("en", { maximumSignificantDigits: 6 }).replace("-", MINUS));
  const longest = (all) => Math.max(0, ...all.map((one) => one.length));
  const left = 10 + LETTER * longest(labels);
  const visible = chosen.filter(([curve]) => curve.times[0] <= shown[1] && (curve.lasts || curve.times.at(-1) >= shown[0]));
  const right = 14 + LETTER * longest(visible.map(([curve]) => nameOf(curve, isNarrow)));
  const box = { left, top: 14, right: width - right, bottom: height - 28 };
  const at = scaled(box, shown, range);
  const axes = values.flatMap((value, k) => [
    svg("line", { class: "gl", x1: box.left, x2: box.right, y1: at.y(value), y2: at.y(value) }),
    text(labels[k], box.left - 7, at.y(value) + 4, "q t end"),
  ]);
  for (const [time, label] of timeTicks(shown, data.dated, isNarrow ? 5 : 9)) {
    axes.push(svg("line", { class: "gl", x1: at.x(time), x2: at.x(time), y1: box.bottom, y2: box.bottom + 5 }));
    axes.push(text(label, at.x(time), box.bottom + 18, "q t mid"));
  }
  const clip = svg("clipPath", { id: "curves-live" }, svg("rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }));
  const drawn = svg("g", { "clip-path": "url(#curves-live)" }, ...lines(state, chosen, at, shown[1]));
  state.cursor = svg("g");
  const shownNames = chosen.map(([curve]) => curve.shown).join(", ") || "nobody";
  const about = `${data.title}: ${shownNames}, ${moment(shown[0], data.dated)} to ${moment(shown[1], data.dated)}.`;
  const picture = svg("svg", { class: "live", viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": about }, svg("defs", {}, clip),
    ...axes, drawn, ...peak(state, at, box, isNarrow), ...names(state, chosen, at, box, isNarrow), state.cursor);
  plot.replaceChildren(picture);
  Object.assign(state, { box, at, width });
  drawStrip(state);
  point(state);
  state.redrawn?.();
}

// ---- the strip below: the whole time, and the period shown ----
function drawStrip(state) {
  const { data: { curves, whole, gap }, box, width, shown } = state;
  const all = { left: box.left, right: box.right, top: 4, bottom: 42 };
  const values = curves.flatMap((curve) => curve.values);
  const at = scaled(all, whole, [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b)) + 1e-9]);
  const grey = curves.map((curve) => svg("path", { class: "thin", d: runs(curve, gap, whole[1]).map((run) => `M${at.path(curve, curve.values, run).join("L")}`).join("") }));
  const [from, to] = shown.map(at.x);
  const veil = (x, wide) => svg("rect", { class: "veil", x, y: 0, width: Math.max(wide, 0), height: 46 });
  const handle = (x) => svg("rect", { class: "hollow handle", x: x - 5, y: 12, width: 10, height: 22, rx: 4 });
  state.strip.replaceChildren(svg("svg", { viewBox: `0 0 ${width} 46`, width, "aria-hidden": "true" },
    svg("rect", { class: "shade", x: all.left, y: 0, width: all.right - all.left, height: 46, rx: 4 }), ...grey,
    veil(all.left, from - all.left), veil(to, all.right - to),
    svg("rect", { class: "window", x: from, y: 1, width: Math.max(to - from, 2), height: 44, rx: 4 }), handle(from), handle(to)));
  state.along = at.x;
}

const timeAt = ({ data: { whole }, box }, x) => clamp(whole[0] + ((whole[1] - whole[0]) * (x - box.left)) / (box.right - box.left), ...whole);
const smallest = ({ data: { whole, dated } }) => Math.max((whole[1] - whole[0]) / 200, dated ? 1 : 0);

function dragging(state) {
  let hold = null;
  const place = (event) => {
    const box = state.strip.getBoundingClientRect();
    return ((event.clientX - box.left) * state.width) / box.width;
  };
  state.strip.addEventListener("pointerdown", (event) => {
    const x = place(event);
    const [from, to] = state.shown.map(state.along);
    const isWhole = state.shown[0] <= state.data.whole[0] && state.shown[1] >= state.data.whole[1];
    const side = Math.abs(x - from) < 10 ? "from" : Math.abs(x - to) < 10 ? "to" : x > from && x < to && !isWhole ? "both" : "new";
    hold = { side, start: timeAt(state, x), shown: [...state.shown] };
    state.strip.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  state.strip.addEventListener("pointermove", (event) => {
    if (!hold) return;
    const { whole } = state.data;
    const time = timeAt(state, place(event));
    const [from, to] = hold.shown;
    const move = clamp(time - hold.start, whole[0] - from, whole[1] - to);
    const wanted = { from: [time, to], to: [from, time], both: [from + move, to + move], new: [hold.start, time] }[hold.side];
    wanted.sort((a, b) => a - b);
    if (wanted[1] - wanted[0] >= smallest(state)) {
      state.shown = wanted;
      draw(state);
    }
  });
  const release = () => {
    if (hold) zoomed(state);
    hold = null;
  };
  state.strip.addEventListener("pointerup", release);
  state.strip.addEventListener("pointercancel", release);
}

function zoom(state) {
  const { data: { whole, dated } } = state;
  const field = (label, k) => {
    const input = html("input", { type: dated ? "date" : "number", id: `curves-${label.toLowerCase()}` });
    if (dated) Object.assign(input, { min: iso(whole[0]), max: iso(whole[1]) });
    else input.step = "any";
    input.addEventListener("change", () => {
      const time = dated ? Date.parse(input.value) / DAY + (k ? 1 - 1e-6 : 0) : parseFloat(input.value);
      const wanted = [...state.shown];
      wanted[k] = Number.isFinite(time) ? clamp(time, ...whole) : whole[k];
      if (wanted[1] - wanted[0] > 0) state.shown = wanted;
      draw(state);
      zoomed(state);
    });
    return input;
  };
  const [from, to] = [field("From", 0), field("Until", 1)];
  const all = html("button", { type: "button", className: "button small", textContent: "Show the whole time" });
  all.addEventListener("click", () => {
    state.shown = [...whole];
    draw(state);
    zoomed(state);
    from.focus();
  });
  state.redrawn = () => {
    const [begin, end] = state.shown;
    from.value = dated ? iso(begin) : String(Number(begin.toPrecision(8)));
    to.value = dated ? iso(end) : String(Number(end.toPrecision(8)));
    all.hidden = begin <= whole[0] && end >= whole[1];
  };
  return html("div", { className: "zoom" }, html("label", {}, "From", from), html("label", {}, "Until", to), all);
}

function zoomed(state) {
  const { shown: [begin, end], data: { whole, dated } } = state;
  const ends = dated ? [iso(begin), iso(end)] : [begin, end].map((time) => String(Number(time.toPrecision(8))));
  const span = begin <= whole[0] && end >= whole[1] ? "" : ends.join("..");
  // Long curves are thinned: the web app has more of their points in a shorter period.
  if (isApp() && chosenOf(state).some(([curve]) => curve.times.length >= LONG)) ask(state.figure, "span", span);
  else tell("span", span);
}

const tell = (name, value) => document.dispatchEvent(new CustomEvent("concordant:state", { detail: { name, value } }));

// ---- reading values ----
function reading(state) {
  state.plot.addEventListener("pointermove", (event) => {
    const box = state.plot.getBoundingClientRect();
    const x = ((event.clientX - box.left) * state.width) / box.width;
    const { box: { left, right }, shown } = state;
    const wanted = shown[0] + ((shown[1] - shown[0]) * (x - left)) / (right - left);
    const times = timesOf(state);
    if (times.length) read(state, times.reduce((best, time) => (Math.abs(time - wanted) < Math.abs(best - wanted) ? time : best)));
  });
  state.plot.addEventListener("pointerleave", () => { state.time = null; point(state); });
  state.plot.addEventListener("keydown", (event) => {
    const times = timesOf(state);
    const here = times.indexOf(state.time);
    const next = { ArrowLeft: here < 0 ? times.length - 1 : here - 1, ArrowRight: here + 1, Home: 0, End: times.length - 1 }[event.key];
    if (next === undefined || !times.length) return;
    event.preventDefault();
    read(state, times[clamp(next, 0, times.length - 1)]);
  });
}

const timesOf = (state) => [...new Set(chosenOf(state).flatMap(([curve]) => curve.times))]
  .filter((time) => time >= state.shown[0] && time <= state.shown[1]).sort((a, b) => a - b);

function read(state, time) {
  if (state.time === time) return;
  state.time = time;
  const pieces = [html("strong", { textContent: `${moment(time, state.data.dated)}: ` })];
  valuesAt(state).forEach(([curve, , k], number) => {
    const interval = curve.low.length ? ` (${written(curve.low[k])} to ${written(curve.high[k])})` : "";
    pieces.push(number ? "; " : "", html("bdi", { textContent: curve.shown }), ` ${written(curve.values[k])}${interval}`);
  });
  state.told.replaceChildren(...pieces);
  point(state);
}

// The chosen curves that have a value at the time of the cursor: [curve, colour, point].
function valuesAt({ time, ...state }) {
  return chosenOf(state).map(([curve, colour]) => [curve, colour, lastUntil(curve, time)])
    .filter(([curve, , k]) => k >= 0 && (curve.lasts || k < curve.times.length - 1 || time - curve.times[k] <= state.data.gap));
}

function point(state) {
  if (state.time === null || state.time === undefined) {
    state.cursor.replaceChildren();
    return;
  }
  const { at, box, time } = state;
  const dots = valuesAt(state).map(([curve, colour, k]) => svg("circle", { class: `f${colour}`, cx: at.x(time), cy: at.y(curve.values[k]), r: 4 }));
  state.cursor.replaceChildren(svg("line", { class: "cursor", x1: at.x(time), x2: at.x(time), y1: box.top, y2: box.bottom }), ...dots);
}

// ---- which items ----
function picker(state) {
  const { data, slots, figure } = state;
  const [one, many] = data.noun;
  const chips = html("div", { className: "chips" });
  chips.setAttribute("role", "group");
  chips.setAttribute("aria-label", `Coloured ${many}`);
  const buttons = data.curves.map((curve, number) => {
    const dot = html("i");
    const button = html("button", { type: "button", className: "chip" }, dot, html("bdi", { textContent: curve.shown }));
    button.addEventListener("click", () => toggle(number));
    return { button, dot, curve, number };
  });
  chips.append(...buttons.map(({ button }) => button));
  const search = finder(figure, data, one);
  let wanted = "";
  const show = () => {
    let free = FEW;
    for (const { button, dot, curve, number } of buttons) {
      const slot = slots.indexOf(number);
      button.setAttribute("aria-pressed", String(slot >= 0));
      dot.className = slot >= 0 ? `dot k${slot + 1}` : "dot";
      const isLike = wanted ? curve.label.toLowerCase().includes(wanted) : free > 0;
      button.hidden = slot < 0 && !isLike;
      if (!button.hidden) free -= 1;
    }
  };
  const say = (said) => { state.told.textContent = said; };
  const toggle = (number) => {
    const [slot, free] = [slots.indexOf(number), slots.indexOf(null)];
    if (slot < 0 && free < 0) {
      say(`${COLOURS} ${many} are coloured at most: remove one first.`);
      return;
    }
    if (slot >= 0) slots[slot] = null;
    else slots[free] = number;
    show();
    draw(state);
    tell("curve", labels());
  };
  const labels = () => chosenOf(state).map(([curve]) => curve.label);
  search?.addEventListener("input", () => { wanted = search.value.trim().toLowerCase(); show(); });
  search?.addEventListener("change", (event) => {
    event.stopPropagation(); // the choice is added to the others; it does not replace them
    const typed = search.value.trim().toLowerCase();
    if (!typed) return;
    const like = buttons.filter(({ curve }) => curve.label.toLowerCase().includes(typed));
    const known = buttons.find(({ curve }) => curve.label.toLowerCase() === typed) || (!isApp() && like.length === 1 && like[0]);
    if (known) {
      search.value = "";
      wanted = "";
      if (slots.includes(known.number)) show();
      else toggle(known.number);
    } else if (!isApp()) say(like.length ? `${like.length} ${many} found: choose one.` : `No ${one} found.`);
    else if (slots.indexOf(null) < 0) say(`${COLOURS} ${many} are coloured at most: remove one first.`);
    else ask(figure, "curve", [...labels(), search.value.trim()].join("\n"));
  });
  show();
  const field = search?.closest(".field");
  return field ? html("div", { className: "half" }, chips, field) : chips;
}

// The text field that finds an item: that of the web app, or else a new one where there are many items.
function finder(figure, data, one) {
  const given = figure.parentElement.querySelector('input[data-setting="curve"]');
  if (given || data.curves.length <= FEW) return given;
  const list = html("datalist", { id: "curves-known" }, ...data.curves.map((curve) => html("option", { value: curve.label })));
  const input = html("input", { type: "search", id: "curves-find", autocomplete: "off" });
  input.setAttribute("list", list.id);
  html("div", { className: "field screen" }, html("label", { htmlFor: input.id, textContent: `Add another ${one} to the curves` }), input, list);
  return input;
}

// Set a setting of the web app, which then asks for this section again.
function ask(figure, name, value) {
  const input = html("input", { type: "hidden", value });
  input.dataset.setting = name;
  figure.append(input);
  input.dispatchEvent(new Event("change", { bubbles: true }));
  input.remove();
}

export function curves(root) {
  root.querySelectorAll("figure[data-curves]").forEach(lively);
}

if (!isApp()) curves(document);
