"use strict";
// Everything works on what the server rendered; nothing here fetches from elsewhere.
const say = JSON.parse(document.body.dataset.words);
const one = (selector, from = document) => from.querySelector(selector);
const all = (selector, from = document) => [...from.querySelectorAll(selector)];

function tell(text) { one("#told").textContent = text; if (text) setTimeout(() => { if (one("#told").textContent === text) one("#told").textContent = ""; }, 6000); }

async function ask(method, path, body) {
  const options = { method, headers: {} };
  if (body instanceof FormData) options.body = body;
  else if (body !== undefined) { options.body = JSON.stringify(body); options.headers["content-type"] = "application/json"; }
  const answer = await fetch(path, options);
  const text = await answer.text();
  const value = text ? JSON.parse(text) : null;
  if (!answer.ok) throw new Error(value && value.error ? value.error.message : `${say.failed} (${answer.status})`);
  return value;
}

// --- live ---
// By which the element of a newer table is found that stands where the reader is.
const same = (element) => element.matches(".scroll") ? ".scroll" : element.matches("input") ? `[value="${CSS.escape(element.value)}"]` : `[href="${CSS.escape(element.getAttribute("href"))}"]`;
async function refreshed() {
  const text = await (await fetch(location.href, { headers: { accept: "text/html" } })).text();
  const page = new DOMParser().parseFromString(text, "text/html");
  const chosen = new Set(all("#runs input:checked").map((box) => box.value));
  const own = one("#runs"), other = one("#runs", page);
  if (own && other && own.innerHTML !== other.innerHTML) {
    const at = own.contains(document.activeElement) ? same(document.activeElement) : null;
    const left = one(".scroll", own)?.scrollLeft;
    own.replaceWith(other);
    if (left) one(".scroll", other)?.scrollTo(left, 0);
    for (const box of all("#runs input")) box.checked = chosen.has(box.value);
    if (at) one(at, other)?.focus({ preventScroll: true });
  }
  return one("[data-live]", page) !== null;
}
async function live() {
  try { if (await refreshed()) setTimeout(live, 2000); } catch (error) { setTimeout(live, 5000); }
}
if (one("[data-live]")) setTimeout(live, 1500);
const reloading = one("[data-reload]");
if (reloading) setTimeout(() => location.reload(), Number(reloading.dataset.reload));

const waiting = one("[data-load]");
if (waiting) fetch(waiting.dataset.load).then((answer) => answer.text()).then((text) => {
  waiting.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
}).catch((error) => tell(error.message));

const state = one("[data-events]");
if (state) {
  const events = new EventSource(state.dataset.events);
  const show = (event) => {
    const now = JSON.parse(event.data);
    const bar = one("progress", state);
    if (bar && now.total) { bar.hidden = false; bar.max = now.total; bar.value = now.done; }
    const label = one(".status", state);
    label.textContent = say.status[now.status];
    label.className = `status ${now.status}`;
    const count = one(".number", state);
    if (count && now.total) count.textContent = `${now.done.toLocaleString()}/${now.total.toLocaleString()}`;
    if (now.tokens) one("#spent", state).textContent = say.spent.replace("{tokens}", now.tokens.toLocaleString()) + (now.usd === null ? "" : ` $${now.usd.toFixed(4)}`);
    one("#eta", state).textContent = now.eta_s === null ? "" : `~ ${Math.ceil(now.eta_s)} s`;
    if (!bar && now.total) { events.close(); location.reload(); }
  };
  events.addEventListener("progress", show);
  events.addEventListener("end", () => { events.close(); location.reload(); });
}

// --- what a button does ---
for (const button of all("[data-post], [data-delete]")) button.addEventListener("click", async () => {
  try {
    if (button.dataset.delete) {
      if (!confirm(say.sure)) return;
      await ask("DELETE", button.dataset.delete);
      location.href = "/";
    } else { await ask("POST", button.dataset.post); location.reload(); }
  } catch (error) { tell(error.message); }
});
const tags = one("[data-tags]");
if (tags) tags.addEventListener("submit", async (event) => {
  event.preventDefault();
  const names = tags.elements.tags.value.split(",").map((name) => name.trim()).filter(Boolean);
  try { await ask("PUT", tags.dataset.tags, { tags: names }); tell(say.saved); } catch (error) { tell(error.message); }
});
const choice = one("#choice");
if (choice) choice.addEventListener("submit", (event) => {
  if (!all("#runs input:checked").length) { event.preventDefault(); tell(say.one); }
});

// --- side by side: j and k go from case to case ---
const cases = all(".case");
let at = -1;
const isTyping = (event) => event.target.closest("input:not([type=radio]), textarea, select") || event.ctrlKey || event.metaKey || event.altKey;
if (cases.length) {
  document.addEventListener("keydown", (event) => {
    if (isTyping(event)) return;
    const step = { j: 1, k: -1 }[event.key];
    if (step) { at = Math.min(cases.length - 1, Math.max(0, at + step)); cases[at].focus(); cases[at].scrollIntoView({ block: "nearest" }); }
    else if (event.key === "o" && at >= 0) for (const part of all("details", cases[at])) part.open = !part.open;
    else if (event.key === "n") one(".pages [rel=next]")?.click();
    else if (event.key === "p") one(".pages [rel=prev]")?.click();
  });
}
for (const radio of all(".shows input")) radio.addEventListener("change", () => {
  try { sessionStorage.setItem("at", "shows"); } catch (error) { /* nothing is kept */ }
  radio.form.requestSubmit();
});
try { if (sessionStorage.getItem("at")) one(".shows input:checked")?.focus(); sessionStorage.removeItem("at"); } catch (error) { /* nothing was kept */ }

// --- labels ---
const rater = one("#rater"), sheet = one("#sheet");
if (rater) {
  let answers = [], place = 0, rubric = "", name = "";
  const path = `/evaluation/runs/${encodeURIComponent(sheet.dataset.run)}/labels`;
  try { rater.elements.rater.value ||= localStorage.getItem("rater") || ""; } catch (error) { /* nothing is kept */ }
  const rated = () => answers.filter((each) => each.rating !== "").length;
  function show() {
    const answer = answers[place];
    one("#place").textContent = `${place + 1}/${answers.length} · ${say.rated} ${rated()}`;
    one("#rated").max = answers.length; one("#rated").value = rated();
    one("#question").textContent = answer.question;
    one("#text").textContent = answer.answer;
    one("#references").textContent = (answer.answers || []).length ? `${say.reference}: ${answer.answers.join(" / ")}` : "";
    one("#history").textContent = (answer.history || []).map((turn) => `${turn.role}: ${turn.text}`).join("\n");
    one("#contexts").replaceChildren(...(answer.contexts || []).map((context) => {
      const item = document.createElement("li");
      item.textContent = typeof context === "string" ? context : [context.title, context.text].filter(Boolean).join(": ");
      return item;
    }));
    one("#comment").value = answer.comment;
    for (const button of all("[data-rating]")) button.setAttribute("aria-pressed", String(answer.rating !== "" && Number(answer.rating) === Number(button.dataset.rating)));
    one("#answer").lang = answer.language || "";
  }
  // One after another, so that a rating and a comment that are sent at once do not undo each other.
  let saving = Promise.resolve(), isRating = false;
  const save = (answer, part) => saving = saving.catch(() => {}).then(() => saved(answer, part));
  async function saved(answer, part) {
    const next = { rating: answer.rating, comment: answer.comment, ...part };
    const body = { rubric, rater: name, case_id: answer.id, rating: next.rating === "" ? null : Number(next.rating), comment: next.comment };
    try {
      await ask("PUT", path, body);
      Object.assign(answer, next);
      tell(rated() === answers.length ? say.done : say.saved);
      if (answer === answers[place]) show();
    } catch (error) { tell(error.message); throw error; }
  }
  function go(step) { place = Math.min(answers.length - 1, Math.max(0, place + step)); show(); one("#question").focus(); }
  // A key that is pressed twice, or held, rates no answer that nobody has seen.
  async function rate(value) {
    if (isRating) return;
    isRating = true;
    const answer = answers[place];
    try {
      await save(answer, { rating: value, comment: one("#comment").value });
      if (answer === answers[place] && place < answers.length - 1) go(1);
    } catch (error) { /* told above */ } finally { isRating = false; }
  }
  rater.addEventListener("submit", async (event) => {
    event.preventDefault();
    const asked = Object.fromEntries(new FormData(rater));
    try {
      ({ answers, rubric, rater: name } = await ask("POST", path, { ...asked, n: Number(asked.n) }));
      try { localStorage.setItem("rater", name); } catch (error) { /* nothing is kept */ }
      place = Math.max(0, answers.findIndex((each) => each.rating === ""));
      sheet.hidden = false;
      show();
      one("#question").focus();
    } catch (error) { tell(error.message); }
  });
  for (const button of all("[data-rating]")) button.addEventListener("click", () => rate(button.dataset.rating));
  one("#before").addEventListener("click", () => go(-1));
  one("#after").addEventListener("click", () => go(1));
  one("#comment").addEventListener("change", (event) => { save(answers[place], { comment: event.target.value }).catch(() => {}); });
  one("#calibrate").addEventListener("click", async () => {
    try { location.href = `/calibrations/${encodeURIComponent((await ask("POST", path.replace(/labels$/, "calibrations"), { rubric })).id)}`; } catch (error) { tell(error.message); }
  });
  document.addEventListener("keydown", (event) => {
    if (sheet.hidden || isTyping(event)) return;
    const button = one(`[data-key="${CSS.escape(event.key)}"]`, sheet);
    if (button) { event.preventDefault(); if (!event.repeat) rate(button.dataset.rating); }
    else if (event.key === "ArrowLeft") go(-1);
    else if (event.key === "ArrowRight") go(1);
    else if (event.key === "c") { event.preventDefault(); one("#comment").focus(); }
  });
}

// --- start ---
const start = one("#start");
if (start) {
  const form = JSON.parse(start.dataset.form);
  const plan = one("#plan"), go = one("#go"), cost = one("#cost");
  let planned = null;
  const several = (value) => value === null || value === undefined ? [] : [].concat(value);
  const ticked = (group) => all(`[data-group="${group}"] input:checked`, start).map((box) => box.value);
  // Groups that the evaluation has, and those that come with what is chosen of them: what is chosen of each.
  function chosen() {
    const data = start.elements.dataset_id.selectedOptions[0], groups = new Map();
    const visit = (group, fallback) => {
      if (groups.has(group)) return;
      const own = data && group === data.dataset.group ? [data.dataset.choice] : ticked(group);
      groups.set(group, own.length ? own : several(fallback));
      for (const choice of groups.get(group)) {
        for (const [other, name] of Object.entries(form.brings[`${group}=${choice}`] || {})) visit(other, name);
      }
    };
    for (const [group, name] of Object.entries(form.uses[start.elements.evaluation_type.value])) visit(group, name);
    return groups;
  }
  function fit() {
    const uses = form.uses[start.elements.evaluation_type.value];
    const wanted = "scenario" in uses ? "scenario" : "dataset";
    for (const option of start.elements.dataset_id.options) option.hidden = option.disabled = option.dataset.group !== wanted;
    const data = start.elements.dataset_id.selectedOptions[0];
    if (!data || data.disabled) {
      const fitting = [...start.elements.dataset_id.options].filter((each) => !each.disabled);
      start.elements.dataset_id.value = (fitting.find((each) => each.dataset.choice === uses[wanted]) || fitting[0]).value;
    }
    const groups = chosen();
    for (const part of all("[data-group]:not(option)", start)) {
      part.hidden = !groups.has(part.dataset.group);
      const own = ticked(part.dataset.group);
      one("[data-default]", part).textContent = part.hidden || own.length ? "" : `${say.configured}: ${(groups.get(part.dataset.group)).join(", ") || "–"}`;
    }
    for (const part of all("[data-when]", start)) {
      const [group, choice] = part.dataset.when.split("=");
      part.hidden = !(groups.get(group) || []).includes(choice);
    }
  }
  function asked() {
    const overrides = start.elements.k ? [`k=${start.elements.k.value.replaceAll(" ", "")}`] : [];
    for (const part of all("[data-group]:not(option, [hidden])", start)) {
      const names = ticked(part.dataset.group).join(",");
      if (names) overrides.push(`${part.dataset.group}=${part.dataset.group === "metric" ? `[${names}]` : names}`);
    }
    const set = new Map(all("[data-key]", start).filter((each) => each.value.trim() && !each.closest("[hidden]")).map((each) => [each.dataset.key, each.value.trim()]));
    for (const [key, value] of set) overrides.push(`${key}=${value}`);
    overrides.push(...start.elements.more.value.split("\n").map((line) => line.trim()).filter(Boolean));
    if (start.dataset.language && !overrides.some((each) => each.startsWith("report.language="))) overrides.push(`report.language=${start.dataset.language}`);
    return { dataset_id: start.elements.dataset_id.value, evaluation_type: start.elements.evaluation_type.value, overrides };
  }
  function table(reply) {
    const list = document.createElement("table");
    for (const run of reply.runs) for (const cell of run.asked) {
      const row = list.insertRow();
      for (const text of [run.overrides.join(" "), cell.role, cell.model, cell.requests.toLocaleString(), cell.usd === null ? "?" : `$${cell.usd.toFixed(4)}`]) row.insertCell().textContent = text;
    }
    const line = document.createElement("p");
    line.textContent = `${reply.runs.length} × ${reply.runs[0].cases.toLocaleString()}: ${reply.line}`;
    cost.replaceChildren(...(list.rows.length ? [line, list] : [line]));
  }
  start.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    cost.textContent = say.planning;
    try {
      planned = asked();
      const reply = await ask("POST", "/evaluation/plan", planned);
      table(reply);
      planned.isSweep = reply.runs.length > 1;
      go.disabled = false;
    } catch (error) { cost.textContent = error.message; cost.className = "bad"; return; }
    cost.className = "";
  });
  start.addEventListener("input", () => { go.disabled = true; });
  start.addEventListener("change", () => { go.disabled = true; fit(); });
  go.addEventListener("click", async () => {
    go.disabled = true;
    one("#told").textContent = say.starting;
    const { dataset_id, evaluation_type, overrides, isSweep } = planned;
    const kind = isSweep ? "sweeps" : "runs";
    try {
      const made = await ask("POST", `/evaluation/datasets/${encodeURIComponent(dataset_id)}/${kind}`, { evaluation_type, overrides });
      location.href = `/${kind}/${encodeURIComponent(made.id)}`;
    } catch (error) { tell(error.message); }
  });
  one("#upload").addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    for (const [key, value] of [...form]) if (value instanceof File ? !value.size : !value) form.delete(key);
    const button = event.submitter || one("#upload p button");
    button.disabled = true;
    one("#told").textContent = say.reading;
    try { location.href = `/start?dataset=${encodeURIComponent((await ask("POST", "/evaluation/datasets", form)).id)}`; } catch (error) { tell(error.message); button.disabled = false; }
  });
  fit();
}
