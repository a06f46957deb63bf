// The pages of the web app. The server renders. This script opens data, keeps the settings in the address, asks for the
// view of an address and inserts its parts as they arrive: one JSON object per line.

import { curves } from "./curves.js";
import { enliven as enlivenTables } from "./report.js";

const root = document.documentElement;
const at = (id) => document.getElementById(id);
const made = (name, properties = {}, ...children) => {
  const one = Object.assign(document.createElement(name), properties);
  one.append(...children);
  return one;
};

// ---- requests ----
class Refused extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}

// Send a request; if the server is busy, send it again after the requested delay, unless it is no longer needed.
async function request(path, options = {}) {
  for (let tries = 0; ; tries += 1) {
    const answer = await fetch(path, { credentials: "same-origin", ...options });
    if (answer.ok) {
      if (tries) problem("");
      return answer;
    }
    const told = await answer.json().catch(() => ({}));
    const text = told.error || `The server rejected the request (${answer.status}).`;
    const seconds = Number(answer.headers.get("Retry-After"));
    if (answer.status !== 503 || !seconds || tries >= 100) throw new Refused(text, answer.status);
    problem(`${text} This page retries automatically.`);
    await new Promise((resolve) => { setTimeout(resolve, 1000 * seconds * (0.5 + Math.random())); });
    if (options.signal?.aborted) throw new DOMException("", "AbortError");
  }
}

const post = (path, body, headers = {}) => request(path, { method: "POST", body, headers }).then((answer) => answer.json());

const send = (path, file) => post(path, file, { "X-File-Name": encodeURIComponent(file.name || "rows.csv") });

function problem(text, ...more) {
  const box = at("problem");
  if (!text) {
    box.replaceChildren();
    return;
  }
  const line = made("p", { textContent: text });
  box.replaceChildren(made("div", { className: "message bad" }, line, ...more));
}

const explain = (error) => (error instanceof TypeError ? "The server does not respond: restart it." : error.message);

// ---- what all pages have ----
function isDark() {
  return root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
}

document.querySelector("[data-theme]")?.addEventListener("click", () => {
  const scheme = isDark() ? "light" : "dark";
  root.classList.remove("light", "dark");
  root.classList.add(scheme);
  try { localStorage.setItem("scheme", scheme); } catch { /* a private window keeps no choice */ }
});

function receive(taken) {
  const drop = at("drop") || document.body;
  addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files.length) taken(event.dataTransfer.files);
  });
}

// ---- the start page ----
async function openFiles(files) {
  const all = [...files];
  if (!all.length) return;
  try {
    problem("");
    at("status").textContent = at("drop-h").textContent = `Uploading ${all.length} file${all.length > 1 ? "s" : ""} …`;
    const opened = await send("/api/data", all[0]);
    for (const file of all.slice(1)) await send(`/api/data/${opened.key}/file`, file);
    location.href = `/d/${opened.key}`;
  } catch (error) {
    at("drop-h").textContent = "Drop files here";
    problem(explain(error));
  }
}

async function openExample(button) {
  try {
    const opened = await post(`/api/example/${encodeURIComponent(button.dataset.example)}`);
    location.href = `/d/${opened.key}${button.dataset.address ? `?${button.dataset.address}` : ""}`;
  } catch (error) {
    problem(explain(error));
  }
}

async function closeData(button) {
  try {
    await post(`/api/data/${button.dataset.close}/close`);
    const row = button.closest("li");
    if (row.parentElement.children.length === 1) at("opened").remove();
    else row.remove();
    (document.querySelector("[data-close]") || at("file")).focus();
  } catch (error) {
    problem(explain(error));
  }
}

function startPage() {
  at("file").addEventListener("change", (event) => openFiles(event.target.files));
  at("use-pasted").addEventListener("click", () => {
    const rows = at("pasted").value;
    if (rows.trim()) openFiles([new File([rows.endsWith("\n") ? rows : `${rows}\n`], "pasted.csv")]);
  });
  document.querySelectorAll("[data-example]").forEach((button) => button.addEventListener("click", () => openExample(button)));
  document.querySelectorAll("[data-close]").forEach((button) => button.addEventListener("click", () => closeData(button)));
  document.querySelectorAll("time").forEach((one) => {
    const moment = new Date(one.dateTime);
    const day = moment.toDateString() === new Date().toDateString() ? {} : { day: "numeric", month: "short" };
    one.textContent = moment.toLocaleString([], { hour: "2-digit", minute: "2-digit", ...day });
  });
  receive(openFiles);
}

// ---- the address ----
// Settings of one part of the page: a change of these asks for this part only.
const PART_OF = { item: "item", query: "query", first: "time", second: "time", curve: "time", span: "time", user: "recommend", rated: "newcomer", like: "similar" };
const key = document.querySelector("[data-key]")?.dataset.key;
const settings = () => new URLSearchParams(location.search);
const MAX_CURVES = 6; // as many as the chart has colours
const PATIENCE = 600; // milliseconds after which work on a ranking is shown above the previous one
let loaded = null; // the settings that the page shows

function change(changes, said = "") {
  const next = settings();
  if (["method", "recommender", "learner", "task"].some((name) => name in changes)) [...next.keys()].filter((name) => name.startsWith("o.")).forEach((name) => next.delete(name));
  if ("layout" in changes) [...next.keys()].filter((name) => name.startsWith("role.")).forEach((name) => next.delete(name));
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null) next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  if (text === settings().toString()) return;
  history.pushState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
  if (said) toast(said);
  show();
}

// Show the view of the address; if only the settings of one part changed, ask for that part.
function show() {
  const now = settings();
  const before = loaded || new URLSearchParams();
  const names = [...new Set([...now.keys(), ...before.keys()])].filter((name) => now.get(name) !== before.get(name));
  if (loaded && !names.length) return;
  const parts = new Set(names.map((name) => PART_OF[name] || ""));
  const part = loaded && parts.size === 1 ? [...parts][0] : "";
  loaded = now;
  if (part === "item" && !now.has("item")) closeItem();
  else view(working ? "" : part);
}

function toast(text) {
  const undo = made("button", { type: "button", className: "button small", textContent: "Undo" });
  undo.addEventListener("click", () => history.back());
  const box = at("toast");
  box.replaceChildren(made("span", { textContent: text }), undo);
  box.hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { box.hidden = true; }, 8000);
}

// ---- the parts of a view ----
let working = null; // the request at work, its number and what it has not brought yet
const last = {};
const away = {}; // what a region had and its content does not have yet: the control with the focus, searched words

function enliven(root) {
  enlivenTables(root);
  curves(root);
}

function put(region, html) {
  if (last[region.id] === html) return;
  last[region.id] = html;
  const kept = away[region.id] || { focused: "", sought: {} };
  if (region.contains(document.activeElement)) kept.focused = document.activeElement.id;
  else if (document.activeElement !== document.body) kept.focused = "";
  const opened = [...region.querySelectorAll("details[open] > summary")].map((one) => one.textContent);
  region.querySelectorAll("[data-search]").forEach((one) => { kept.sought[one.id] = one.value; });
  away[region.id] = kept;
  region.innerHTML = html;
  region.querySelectorAll("details > summary").forEach((one) => { if (opened.includes(one.textContent)) one.parentElement.open = true; });
  Object.entries(kept.sought).forEach(([id, value]) => { if (at(id)) search(Object.assign(at(id), { value })); });
  enliven(region);
  if (!at(kept.focused)) return;
  at(kept.focused).focus({ preventScroll: true });
  kept.focused = "";
}

// Show only what matches the words of a search field.
function search(field) {
  const wanted = field.value.toLowerCase();
  [...at(field.dataset.search).children].forEach((one) => { one.hidden = !one.textContent.toLowerCase().includes(wanted); });
}

const REGIONS = { verdict: "at-verdict", where: "where", offers: "offers", controls: "controls", download: "download", problem: "problem", item: "item" };

function putRegions(regions) {
  for (const [name, html] of Object.entries(regions)) {
    if (name === "problem" && !html) problem("");
    if (name === "problem" && last.problem !== html) last.problem = undefined;
    put(at(REGIONS[name]), html);
  }
  if ("item" in regions) openItem(Boolean(regions.item));
}

// Lay out the sections of a view: those that are on the page already stay until their new content arrives.
function layOut(sections) {
  const box = at("sections");
  const wanted = new Set(sections.map(([name]) => name));
  [...box.children].forEach((one) => { if (!wanted.has(one.id)) one.remove(); });
  for (const [name, title] of sections) {
    const old = [...box.children].find((one) => one.id === name);
    box.append(old || waitingSection(name, title));
    if (old) old.setAttribute("aria-busy", "true");
  }
  const links = sections.map(([name, title]) => made("li", {}, made("a", { href: `#${name}`, textContent: title, className: "busy" })));
  at("tabs").replaceChildren(made("ul", {}, ...links));
  at("tabs").hidden = false;
  at("opening").hidden = true;
  working.missing = wanted;
  working.total = wanted.size;
  expect(working);
  follow();
}

// A section that takes its time gets a progress bar and a button to cancel it, also if it does not report its progress.
function expect(own) {
  clearTimeout(own.slow);
  own.slow = setTimeout(() => {
    const [next] = own.missing || [];
    const section = next && [...at("sections").children].find((one) => one.id === next);
    if (working === own && section && !section.querySelector(".job")) tellJob({ section: next, text: "Computing …", share: null, left: "" });
  }, PATIENCE);
}

function waitingSection(name, title) {
  const head = made("header", {}, made("h2", { textContent: title, id: `${name}-title` }));
  const bones = made("div", { className: "bones" }, made("i"), made("i"), made("i"), made("i"));
  bones.setAttribute("aria-hidden", "true");
  const section = made("section", { id: name, className: "panel waiting" }, head, bones);
  section.setAttribute("aria-labelledby", `${name}-title`);
  section.setAttribute("aria-busy", "true");
  return section;
}

function arrived(name) {
  working?.missing?.delete(name);
  const bar = at("loading");
  if (working?.total) {
    bar.value = 1 - working.missing.size / working.total;
    expect(working);
  }
  document.querySelector(`#tabs a[href="#${name}"]`)?.classList.remove("busy");
}

function putSection(name, html) {
  const old = [...at("sections").children].find((one) => one.id === name);
  if (!old) return;
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const holder = made("template");
  holder.innerHTML = html;
  const section = holder.content.firstElementChild;
  old.replaceWith(section);
  enliven(section);
  if (focused) at(focused)?.focus({ preventScroll: true });
  arrived(name);
  follow();
}

function gone(name) {
  [...at("sections").children].find((one) => one.id === name)?.remove();
  document.querySelector(`#tabs a[href="#${name}"]`)?.parentElement.remove();
  arrived(name);
}

function cancelled(name) {
  const section = [...at("sections").children].find((one) => one.id === name);
  const again = made("button", { type: "button", className: "button small", textContent: "Compute again" });
  again.addEventListener("click", () => { cancelledAgain(section); view(working ? "" : name); });
  const box = made("div", { className: "empty" }, made("strong", { textContent: "Cancelled" }), again);
  section.replaceChildren(section.querySelector("header"), box);
  section.removeAttribute("aria-busy");
  arrived(name);
}

function cancelledAgain(section) {
  const title = section.querySelector("h2").textContent;
  section.replaceWith(waitingSection(section.id, title));
}

// Show how far a section is, with a button that cancels it.
function tellJob({ section, text, share, left }) {
  if (!section) tellOpening(text, share, left);
  const place = section && [...at("sections").children].find((one) => one.id === section);
  if (!place || !text) return;
  let job = place.querySelector(".job");
  if (!job) {
    const cancel = made("button", { type: "button", className: "button small", textContent: "Cancel" });
    cancel.addEventListener("click", () => cancelWork(section));
    const said = made("p", {}, made("strong", { id: `${section}-job` }), " ", made("span", { className: "quiet" }));
    const bar = made("progress");
    bar.setAttribute("aria-labelledby", `${section}-job`);
    job = made("div", { className: "job" }, said, bar, cancel);
    place.querySelector("header").after(job);
  }
  fill(job, text, share, left);
}

function fill(job, text, share, left) {
  job.querySelector("strong").textContent = text;
  job.querySelector("span").textContent = left;
  const bar = job.querySelector("progress");
  if (share === null) bar.removeAttribute("value");
  else bar.value = share;
}

// Show how far the ranking itself is, before there are sections.
const tellOpening = (text, share = null, left = "") => { if (text) fill(at("opening"), text, share, left); };

async function cancelWork(section) {
  if (!working) return;
  try {
    await post(`/api/data/${key}/cancel?id=${working.id}&section=${encodeURIComponent(section)}`);
  } catch (error) {
    problem(explain(error));
  }
}

function update(line) {
  if (line.id) working.id = line.id;
  if (line.progress) {
    tellOpening(`${line.progress} …`);
    at("status").textContent = line.progress;
  }
  if (line.title) document.title = line.title;
  if (line.regions) putRegions(line.regions);
  if (line.sections) layOut(line.sections);
  if (line.html) putSection(line.section, line.html);
  if (line.gone) gone(line.gone);
  if (line.cancelled) cancelled(line.cancelled);
  if (line.job) tellJob(line.job);
  if (line.state) over(line);
}

// The end of a view: all is there, or an error or a cancellation left parts out.
function over({ state, error }) {
  if (error && !at("problem").querySelector(".panel")) {
    const again = made("button", { type: "button", className: "button small", textContent: "Try again" });
    again.addEventListener("click", () => view(""));
    problem(error, again);
  }
  if (state === "cancelled") {
    const way = at("controls").children.length ? "Change a setting to go on, or reload the page." : "Reload the page to go on.";
    problem(`Cancelled. ${way}`);
  }
  at("sections").classList.toggle("stale", state !== "done");
  at("status").textContent = state === "done" ? "The result is ready." : error || "Cancelled.";
  root.dataset.state = state;
}

async function view(part) {
  if (!part) working?.abort.abort();
  const own = { abort: new AbortController(), id: 0, missing: null, total: 0 };
  if (!part || !working) working = own;
  root.dataset.state = "running";
  const bar = at("loading");
  bar.removeAttribute("value");
  bar.hidden = false;
  const isFirst = !at("sections").children.length;
  at("opening").hidden = !isFirst;
  // A new ranking that takes its time says so above the previous result, and can be cancelled.
  own.slow = setTimeout(() => { if (working === own && !own.missing) at("opening").hidden = false; }, PATIENCE);
  try {
    const query = settings();
    if (part) query.set("part", part);
    const answer = await request(`/api/data/${key}/view?${query}`, { signal: own.abort.signal });
    await read(answer.body, own);
  } catch (error) {
    if (error.name === "AbortError" || working !== own) return;
    const home = made("a", { href: "/", className: "button small", textContent: "Open data" });
    problem(explain(error), ...(error.status === 410 ? [home] : []));
    root.dataset.state = "failed";
  }
  clearTimeout(own.slow);
  if (working === own) {
    working = null;
    bar.hidden = true;
    at("opening").hidden = true;
  }
}

async function read(stream, own) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (own.abort.signal.aborted) return;
      update(JSON.parse(line));
    }
  }
  if (root.dataset.state === "running") throw new TypeError("The connection was lost.");
}

// ---- the card of an item, and the settings as a sheet ----
let opener = null; // the link that opened the card or the sheet; it gets the focus back

function openItem(isOpen) {
  at("item").hidden = !isOpen;
  if (isOpen) at("item-h").focus();
}

function closeItem() {
  put(at("item"), "");
  at("item").hidden = true;
  giveBack();
}

function closeSheet() {
  location.hash = "#main";
  giveBack();
}

function giveBack() {
  const link = opener?.isConnected ? opener : opener?.id && at(opener.id);
  link?.focus();
  opener = null;
}

// ---- controls ----
const labelOf = (control) => control.labels?.[0]?.textContent || control.getAttribute("aria-label") || "Setting";

function valueOf(control) {
  if (control.dataset.list !== undefined) {
    const all = [...document.querySelectorAll(`[data-setting="${control.dataset.setting}"][data-list]`)];
    return all.filter((one) => one.checked).map((one) => one.value).join(",");
  }
  if (control.type === "checkbox") return control.checked ? "true" : "";
  return control.value === control.dataset.default ? "" : control.value;
}

function shownValue(control) {
  if (control.dataset.list !== undefined) return control.checked ? "compared" : "no longer compared";
  if (control.type === "checkbox") return control.checked ? "yes" : "no";
  if (control.tagName === "SELECT") return control.selectedOptions[0].textContent;
  return valueOf(control).replaceAll(",", ", ") || "default";
}

document.addEventListener("change", ({ target }) => {
  const name = target.dataset?.setting;
  if (name && target.type !== "button") change({ [name]: valueOf(target) }, PART_OF[name] ? "" : `${labelOf(target).trim()}: ${shownValue(target)}`);
  if (target.id === "more" || target.id === "judgements") addFiles(target.files, target.id === "judgements" ? "labels" : "more");
});

document.addEventListener("input", ({ target }) => {
  if (target.dataset?.search) search(target);
});

document.addEventListener("concordant:state", ({ detail }) => {
  const next = settings();
  const value = Array.isArray(detail.value) ? detail.value.join("\n") : String(detail.value || "");
  if (value) next.set(detail.name, value);
  else next.delete(detail.name);
  loaded = next;
  const text = next.toString();
  history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
});

document.addEventListener("click", (event) => {
  const pick = (what) => event.target.closest?.(what);
  const link = pick('a[href^="?"]');
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    const changes = Object.fromEntries(new URLSearchParams(link.getAttribute("href")));
    if ("item" in changes) opener = link;
    change(changes);
    at(PART_OF[Object.keys(changes)[0]])?.scrollIntoView();
  }
  const set = pick("[data-set]");
  if (set) change(JSON.parse(set.dataset.set), set.textContent.replace("✕", "").trim());
  const press = pick("button[data-setting]");
  if (press?.dataset.setting === "curve") showCurve(press.value);
  else if (press && press.dataset.setting !== "rate-add") change({ [press.dataset.setting]: press.value }, PART_OF[press.dataset.setting] ? "" : press.textContent);
  if (press?.dataset.setting === "rate-add") addRating();
  if (pick("#add-pair")) addPair();
  const isCard = settings().has("item");
  if (pick("[data-close-item]") || (isCard && pick(".scrim"))) { event.preventDefault(); change({ item: "" }); }
  if (pick("[data-dismiss]")) { event.preventDefault(); closeSheet(); }
  const opens = pick("[data-opens]");
  if (opens) openSettings(opens);
  const copied = pick("[data-copy]");
  if (copied) copy(copied.dataset.copy);
  const wanted = pick("[data-download]");
  if (wanted) download(wanted.dataset.download);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (location.hash === "#settings") closeSheet();
  else if (key && settings().has("item")) change({ item: "" });
});

// Go to a control of the settings, by default the first one; on small screens the link has opened the sheet.
function openSettings(link) {
  opener = link;
  if (settings().has("item")) change({ item: "" });
  setTimeout(() => {
    const wanted = link.dataset.opens === "settings" ? null : at(link.dataset.opens);
    const control = wanted || at("controls").querySelector("select, input, summary");
    control?.closest("details:not([open])")?.setAttribute("open", "");
    control?.focus();
  }, 0);
}

async function copy(name) {
  if (navigator.clipboard) await navigator.clipboard.writeText(at(name).textContent);
  else getSelection().selectAllChildren(at(name)); // the page of another machine may only select
  at("status").textContent = navigator.clipboard ? "Copied." : "Selected: copy it with the keyboard.";
}

function addPair() {
  const [first, second] = [at("pair-0").value, at("pair-1").value];
  const roles = { [`role.${first}`]: "covariate" };
  if (second && second !== first) roles[`role.${second}`] = `other side of ${first}`;
  change(roles, `Controlled for ${second && second !== first ? `${first} − ${second}` : first}`);
}

// Add the curve of an item to those that are coloured, and go to the chart.
function showCurve(item) {
  const figure = document.querySelector("#time [data-curves]");
  const labels = figure ? JSON.parse(figure.dataset.curves).curves.map((curve) => curve.label) : [];
  const chips = figure ? [...figure.querySelectorAll(".chip")] : [];
  const coloured = labels.filter((label, k) => chips[k]?.getAttribute("aria-pressed") === "true" && label !== item);
  const isSheet = matchMedia("(max-width: 64rem)").matches; // the card covers the chart
  change({ curve: [...coloured.slice(1 - MAX_CURVES), item].join("\n"), ...(isSheet ? { item: "" } : {}) });
  at("time")?.scrollIntoView();
}

function addRating() {
  const [item, value] = [at("set-rate-item").value.trim(), at("set-rate-value").value];
  if (!item || !at("set-rate-value").reportValidity()) return;
  const before = settings().get("rated");
  change({ rated: `${before ? `${before}; ` : ""}${item}=${value}` });
}

async function addFiles(files, as) {
  try {
    for (const file of files) await send(`/api/data/${key}/file?as=${as}`, file);
    view("");
  } catch (error) {
    problem(explain(error));
  }
}

// ---- downloads ----
function save(blob, name) {
  const link = made("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

async function download(kind) {
  try {
    at("status").textContent = "Preparing the file …";
    const answer = await request(`/api/data/${key}/download/${kind === "png" ? "card" : kind}?${settings()}`);
    const name = decodeURIComponent(answer.headers.get("Content-Disposition").split("''")[1]);
    if (kind === "png") save(await painted(await answer.text()), name.replace(/svg$/, "png"));
    else save(await answer.blob(), name);
    at("status").textContent = "The file is ready.";
  } catch (error) {
    problem(explain(error));
  }
}

// Paint a drawing as a PNG picture, twice as large for sharp screens.
async function painted(svg) {
  const bytes = new TextEncoder().encode(svg);
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const picture = made("img", { src: `data:image/svg+xml;base64,${btoa(text)}` });
  await picture.decode();
  const canvas = made("canvas", { width: 2 * picture.naturalWidth, height: 2 * picture.naturalHeight });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

// ---- the page of a data set ----
// Mark the link of the section on the screen.
const watched = new IntersectionObserver((entries) => entries.forEach((entry) => {
  if (!entry.isIntersecting) return;
  document.querySelectorAll("#tabs a").forEach((link) => {
    if (link.hash === `#${entry.target.id}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
}), { rootMargin: "-25% 0px -65% 0px" });

function follow() {
  watched.disconnect();
  [...at("sections").children].forEach((section) => watched.observe(section));
}

function dataPage() {
  addEventListener("popstate", show);
  at("cancel").addEventListener("click", () => cancelWork(""));
  receive((files) => addFiles(files, "more"));
  show();
}

if (document.body.dataset.page === "data") dataPage();
else if (document.body.dataset.page === "start") startPage();
