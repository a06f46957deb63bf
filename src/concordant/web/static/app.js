// The page of the web app. The server renders; this script sends settings, waits for updates, and inserts them.

import { enliven } from "./report.js";

const at = (id) => document.getElementById(id);
const key = location.pathname.startsWith("/d/") ? location.pathname.slice(3) : null;
let settings = {};
let version = -1;
let touched = false;
let waiting = null;

// Send a request; if the server is busy, send it again after the requested delay, unless it is no longer needed.
async function request(path, options = {}, wanted = () => true) {
  for (let tries = 0; ; tries += 1) {
    const answer = await fetch(path, { credentials: "same-origin", ...options });
    if (answer.ok) {
      if (tries) problem("");
      return answer;
    }
    const told = await answer.json().catch(() => ({ error: `The server rejected the request (${answer.status}).` }));
    const text = told.error || `The server rejected the request (${answer.status}).`;
    const seconds = Number(answer.headers.get("Retry-After"));
    if (answer.status !== 503 || !seconds || tries >= 100) throw new Error(text);
    problem(`${text} This page retries automatically.`);
    await new Promise((resolve) => { setTimeout(resolve, 1000 * seconds * (0.5 + Math.random())); });
    if (!wanted()) return null;
  }
}

async function ask(path, options, wanted) {
  const answer = await request(path, options, wanted);
  return answer && answer.json();
}

function problem(text) {
  const shown = at(key ? "problem" : "trouble");
  shown.textContent = text || "";
  shown.hidden = !text;
}

// ---- opening data ----
async function send(path, file) {
  return ask(path, { method: "POST", body: file, headers: { "X-File-Name": encodeURIComponent(file.name || "rows.csv") } });
}

async function openFiles(files) {
  const all = [...files];
  if (!all.length) return;
  try {
    at("name").textContent = at("status").textContent = `Uploading ${all.length} file${all.length > 1 ? "s" : ""} …`;
    const opened = await send("/api/data", all[0]);
    for (const file of all.slice(1)) await send(`/api/data/${opened.key}/file`, file);
    location.href = `/d/${opened.key}`;
  } catch (error) {
    at("name").textContent = "";
    problem(error.message);
  }
}

async function addFiles(files, as) {
  try {
    for (const file of files) await send(`/api/data/${key}/file?as=${as}`, file);
    work();
  } catch (error) {
    problem(error.message);
  }
}

function receive(taken) {
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    if (event.dataTransfer.files.length) taken(event.dataTransfer.files);
  });
}

function startPage() {
  at("start").hidden = false;
  at("file").addEventListener("change", (event) => openFiles(event.target.files));
  at("use-pasted").addEventListener("click", () => {
    const rows = at("pasted").value;
    if (rows.trim()) openFiles([new File([rows.endsWith("\n") ? rows : `${rows}\n`], "pasted.csv")]);
  });
  document.querySelectorAll("[data-example]").forEach((button) => button.addEventListener("click", async () => {
    try {
      const opened = await ask(`/api/example/${encodeURIComponent(button.dataset.example)}`, { method: "POST" });
      location.href = `/d/${opened.key}`;
    } catch (error) {
      problem(error.message);
    }
  }));
  receive(openFiles);
}

// ---- settings ----
const typed = ["min-ballots", "methods", "metrics", "scale", "anchor", "centre", "add-columns"];
const setting = (id) => id.replace("-", "_");

function gathered() {
  const params = {};
  document.querySelectorAll("#form [data-param]").forEach((control) => {
    const unchanged = control.tagName === "SELECT" && control.selectedOptions[0]?.defaultSelected;
    if (control.value !== "" && !unchanged) params[control.dataset.param] = control.value;
  });
  return {
    ...settings,
    params,
    ...Object.fromEntries(typed.map((id) => [setting(id), at(id).value])),
    skip_bad_rows: at("skip-bad-rows").checked,
  };
}

async function work() {
  const own = settings = gathered();
  touched = true;
  try {
    await ask(`/api/data/${key}/work`, { method: "POST", body: JSON.stringify(own) }, () => settings === own);
  } catch (error) {
    problem(error.message);
  }
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(work, 150);
}

function fill() {
  document.querySelectorAll("#form [data-param]").forEach((control) => {
    const value = settings.params?.[control.dataset.param];
    if (value !== undefined) control.value = value;
  });
}

// ---- news ----
const last = {};

function place(id, html, then) {
  if (html === undefined || last[id] === html) return;
  last[id] = html;
  const focused = document.activeElement?.id;
  const region = at(id);
  region.innerHTML = html;
  then?.(region);
  if (focused && document.activeElement?.id !== focused) at(focused)?.focus({ preventScroll: true });
}

function show(news) {
  const running = news.state === "running";
  at("name").textContent = news.files.length > 1 ? `${news.name} and ${news.files.length - 1} more` : news.name;
  document.title = `${news.name} – concordant`;
  at("labels-name").textContent = news.labels || "";
  if (!touched) {
    settings = news.settings || {};
    typed.filter((id) => settings[setting(id)]).forEach((id) => { at(id).value = settings[setting(id)]; });
    at("skip-bad-rows").checked = Boolean(settings.skip_bad_rows);
    pressed();
  }
  place("preview", news.preview);
  place("layout", news.layouts);
  at("layout-row").hidden = !news.is_table;
  place("form", news.form, fill);
  place("method", news.methods);
  if (news.method && at("method").value !== news.method && !running) at("method").value = news.method;
  at("about").textContent = news.about || "";
  at("understood").textContent = news.understood || "";
  place("results", news.results, enliven);
  at("results").classList.toggle("stale", news.state === "failed" || Boolean(news.error));
  at("shell").textContent = news.shell || "";
  at("python").textContent = news.python || "";
  at("work").hidden = !running;
  at("progress").textContent = running ? news.progress || "working" : "";
  problem(news.error);
  at("status").textContent = running ? "working" : news.error || (news.results ? "The result is ready." : "");
  document.documentElement.dataset.state = news.state;
}

async function listen() {
  for (;;) {
    try {
      const news = await ask(`/api/data/${key}/news?after=${version}`);
      if (news.version > version) {
        version = news.version;
        show(news);
        if (news.state === "idle" && !touched) work();
      }
    } catch (error) {
      problem(error.message === "Failed to fetch" ? "The server does not respond: restart it." : error.message);
      if (error.message.includes("no longer open")) return;
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
  }
}

// Download the current view; an error is shown on the page.
async function download(event) {
  event.preventDefault();
  try {
    const answer = await request(event.currentTarget.href);
    const name = answer.headers.get("Content-Disposition").split("''")[1];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = decodeURIComponent(name);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  } catch (error) {
    problem(error.message);
  }
}

function pressed() {
  const view = settings.view || "ranking";
  document.querySelectorAll("[data-view]").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.view === view)));
  document.querySelectorAll("[data-only]").forEach((one) => { one.hidden = one.dataset.only !== view; });
}

function workPage() {
  at("workspace").hidden = false;
  at("method").addEventListener("change", (event) => {
    settings = { ...settings, method: event.target.value, params: {} };
    document.querySelectorAll("#form [data-param]").forEach((control) => { control.value = ""; control.removeAttribute("data-param"); });
    delete last.form;
    work();
  });
  at("form").addEventListener("input", soon);
  at("form").addEventListener("submit", (event) => { event.preventDefault(); work(); });
  [...typed, "skip-bad-rows"].forEach((id) => at(id).addEventListener("change", work));
  at("layout").addEventListener("change", (event) => {
    settings = { ...settings, layout: event.target.value, roles: null };
    work();
  });
  at("preview").addEventListener("change", () => {
    const roles = {};
    document.querySelectorAll("#preview [data-column]").forEach((one) => { roles[one.dataset.column] = one.value; });
    settings = { ...settings, roles };
    work();
  });
  document.querySelectorAll("[data-view]").forEach((button) => button.addEventListener("click", () => {
    settings = { ...settings, view: button.dataset.view };
    pressed();
    work();
  }));
  at("cancel").addEventListener("click", () => ask(`/api/data/${key}/cancel`, { method: "POST" }).catch((error) => problem(error.message)));
  at("more").addEventListener("change", (event) => addFiles(event.target.files, "more"));
  at("labels").addEventListener("change", (event) => addFiles(event.target.files, "labels"));
  document.querySelectorAll("[data-download]").forEach((link) => {
    link.href = `/api/data/${key}/download/${link.dataset.download}`;
    link.addEventListener("click", download);
  });
  receive((files) => addFiles(files, settings.view === "evaluate" ? "labels" : "more"));
  listen();
}

if (key) workPage();
else startPage();
