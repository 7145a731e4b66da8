// The page: one list of what clicks do, where the session stands, and the box to
// type into. The server has the truth; nothing here decides what is allowed.
import { Net } from "./net.js";
import { Plan } from "./plan.js";
import { Review } from "./review.js";
import { Changes } from "./changes.js";
import { parse } from "./patch.js";
import { runs } from "./runs.js";
import { keys } from "./keys.js";
import { Complete, past } from "./complete.js";
import { run } from "./commands.js";
import { save, remove, rename, find } from "./export.js";
import { pictures } from "./picture.js";

const $ = (id) => document.getElementById(id);
const body = document.body;

let calm = null; // the status pill as it was before the connection broke
const net = new Net({
  changed,
  offline(off) {
    document.documentElement.toggleAttribute("data-offline", off);
    const s = $("status") ?? document.querySelector(".top .pill");
    if (off && !calm) {
      calm = s.cloneNode(true);
      s.textContent = "Reconnecting…";
      document.title = "⚠ Reconnecting · Coderrr";
    } else if (!off && calm) {
      s.replaceChildren(...calm.childNodes);
      calm = null;
      if (top_().dataset.title) document.title = top_().dataset.title;
    }
  },
  lost,
  session() {
    view.chosen = "";
    plan.reset();
    review.reset();
    runs.reset();
    log.pinned = true;
    $("alerts").replaceChildren();
    for (const id of ["items", "plan", "review"]) $(id).replaceChildren();
  },
});

const top_ = () => $("top");

export const ui = {
  net, $, parse, say(text) { $("live").textContent = text; }, alert: toast,
  get state() { return top_().dataset.state || "ready"; },
};

const plan = new Plan(ui);
const review = new Review(ui);
const changes = new Changes(ui, review);

// ---- after each flush ----------------------------------------------------
let before = "";
function changed(snapshot) {
  const d = top_().dataset;
  body.dataset.state = d.state || "ready";
  if (d.title && document.title !== d.title) document.title = d.title;
  const waits = d.waits !== undefined;
  const icon = $("favicon");
  const href = waits ? icon.dataset.wait : icon.dataset.calm;
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  $("confirm").setAttribute("aria-checked", String(d.confirm !== undefined));
  $("request").placeholder = d.hint || "";
  $("n-changes").textContent = $("count")?.dataset.n ?? "";
  const step = `${d.session} ${d.state} ${$("gate").dataset.id ?? ""}`;
  if (step !== before) stepped(before === "", snapshot);
  before = step;
  plan.restore();
  review.restore();
  changes.restore();
  runs.restore();
  find(ui);
  theme.show();
  mod();
  show(body.dataset.view);
  log.follow();
}

// stepped runs when the session stands elsewhere than before.
function stepped(first) {
  const d = top_().dataset;
  keys.quiet();
  view.chosen = "";
  const early = d.phase === "planning" || d.phase === "awaiting_approval" || !d.phase;
  const best = () => {
    if (d.state === "ready") return "chat";
    if (d.state === "plan-ready") return "plan";
    if (d.kind === "write") return "review";
    if (narrow()) return "chat";
    return early ? "plan" : "review";
  };
  view.best = best;
  show(best());
  if (d.waits !== undefined) {
    const asks = $("gate").querySelector("h2")?.textContent.replace(/\s+/g, " ").trim() ?? "";
    ui.say(`${asks} F6 goes to the decision.`);
    if (!first && document.hidden) notify(d.title);
  }
}

// ---- views ---------------------------------------------------------------
const view = { chosen: "", best: () => "chat" };
const narrow = () => matchMedia("(width < 760px)").matches;

function show(name) {
  if (!name) name = "chat";
  if (!narrow() && name === "chat" && ui.state !== "ready") name = "review";
  body.dataset.view = name;
  for (const b of document.querySelectorAll('.tabs [data-act="view"], .pane-tabs [data-act="view"]')) {
    b.toggleAttribute("aria-current", b.dataset.view === name);
    const waits = top_().dataset.waits !== undefined;
    const where = { plan: "plan", write: "review" }[top_().dataset.kind] ?? "chat";
    b.toggleAttribute("data-badge", waits && b.dataset.view === where);
  }
}
matchMedia("(width < 760px)").addEventListener("change", () => show(view.chosen || view.best()));
ui.show = (name) => { view.chosen = name; show(name); };

// ---- the conversation ----------------------------------------------------
const log = {
  pinned: true,
  get el() { return $("log"); },
  bottom() { const e = this.el; return e.scrollHeight - e.scrollTop - e.clientHeight < 40; },
  follow() {
    if (this.pinned) {
      this.el.scrollTop = this.el.scrollHeight;
      lastTop = this.el.scrollTop;
    }
    $("jump").hidden = this.pinned || this.bottom();
  },
};
// Only a reader who scrolls up lets go of the end; content that grows does not.
let lastTop = 0;
$("log").addEventListener("scroll", () => {
  const top = log.el.scrollTop;
  if (log.bottom()) log.pinned = true;
  else if (top < lastTop - 2) log.pinned = false;
  lastTop = top;
  $("jump").hidden = log.pinned;
}, { passive: true });
const grows = new ResizeObserver(() => log.follow());
for (const id of ["items", "after", "log"]) grows.observe($(id));

// ---- composer ------------------------------------------------------------
async function submit() {
  const box = $("request");
  const text = box.value.trim();
  if (!text) return box.focus();
  if (run(text, ui, acts)) { box.value = ""; return; }
  const running = top_().dataset.running !== undefined;
  const r = running ? await net.send("say", { text }) : await net.send("start", { request: text, confirm: $("confirm").getAttribute("aria-checked") === "true" });
  if (!r.ok) return toast(r.why);
  past.add(text);
  box.value = "";
  log.pinned = true;
  log.follow();
}
const complete = new Complete(ui, $("request"));
pictures(ui, $("composer"), $("request"));
$("composer").addEventListener("submit", (e) => { e.preventDefault(); submit(); });
$("request").addEventListener("keydown", (e) => {
  if (e.isComposing || e.keyCode === 229 || complete.key(e)) return;
  const by = { ArrowUp: -1, ArrowDown: 1 }[e.key];
  if (by && past.step(e.target, by)) return e.preventDefault();
  if (e.key === "Enter" && !e.shiftKey && !e.altKey) {
    e.preventDefault();
    if ((e.ctrlKey || e.metaKey) && !$("request").value.trim()) return;
    submit();
  }
});

// ---- clicks --------------------------------------------------------------
const acts = {
  view: (b) => ui.show(b.dataset.view),
  rail: () => body.toggleAttribute("data-rail"),
  async unsay(b) {
    const r = await net.send("unsay", { text: b.dataset.text });
    if (r.ok) ui.say("Message removed.");
    else toast(r.why);
  },
  jump() { log.pinned = true; log.follow(); },
  async ask(type, fields) {
    const r = await net.send(type, fields);
    if (!r.ok) toast(r.why);
  },
  help: () => $("help").showModal(),
  models: () => complete.models(),
  theme: () => theme.next(),
  suggest(b) { $("request").value = b.textContent.trim(); $("request").focus(); },
  async confirm(b) {
    const on = b.getAttribute("aria-checked") !== "true";
    b.setAttribute("aria-checked", String(on));
    const r = await net.send("confirm_writes", { on });
    if (!r.ok) { b.setAttribute("aria-checked", String(!on)); toast(r.why); }
  },
  async stop(b) {
    b.disabled = true;
    const r = await net.send("stop");
    if (!r.ok) { b.disabled = false; toast(r.why); }
  },
  async open(b) {
    body.removeAttribute("data-rail");
    const r = await net.send("open", { target: b.dataset.session });
    if (!r.ok) return toast(r.why);
    if (!b.dataset.session) $("request").focus();
  },
  async undo(b) {
    b.setAttribute("aria-disabled", "true");
    const r = await net.send("undo", { path: b.dataset.path ?? "", task: b.dataset.task ?? "" });
    b.removeAttribute("aria-disabled");
    if (!r.ok) toast(r.why);
  },
  async again(b) {
    const r = await net.send("start", { request: b.dataset.text, confirm: $("confirm").getAttribute("aria-checked") === "true" });
    if (!r.ok) toast(r.why);
  },
  async resume(b) {
    const r = await net.send("resume", { target: b.dataset.session, confirm: $("confirm").getAttribute("aria-checked") === "true" });
    if (!r.ok) toast(r.why);
  },
  save: (b) => save(ui, b.dataset.session, b.dataset.format),
  rename: (b) => rename(ui, b),
  remove: (b) => remove(ui, b),
  goto(b) {
    const el = document.querySelector(`[data-call="${CSS.escape(b.dataset.call)}"].tool`);
    if (!el) return;
    if (narrow()) ui.show("chat");
    body.removeAttribute("data-rail");
    runs.show(el);
    el.querySelector("details").open = true;
    log.pinned = false;
    el.scrollIntoView({ block: "center" });
    el.classList.add("item-flash");
    el.addEventListener("animationend", () => el.classList.remove("item-flash"), { once: true });
  },
  file: (b) => review.file(b.dataset.file),
  layout: (b) => review.layout(b.dataset.layout),
  run: (b) => runs.toggle(b),
  keep: (b) => changes.keep(b),
  "undo-hunk": (b) => changes.undo(b),
  lines: (b) => changes.lines(b),
  hunks: (b) => changes.hunks(b),
  context: (b) => changes.context(b),
  spaces: () => changes.ignore(),
  accept: (b) => review.decide(b.closest(".hunk"), true),
  reject: (b) => review.decide(b.closest(".hunk"), false),
  comment: (b) => review.comment(b.closest(".hunk")),
  doc(b) { ui.show("plan"); plan.doc(b.dataset.doc); body.removeAttribute("data-rail"); },
  mode: (b) => plan.mode(b.dataset.mode),
  "save-plan": (b) => plan.save(b.dataset.doc, true),
  "plan-comment": (b) => plan.comment(b.closest(".blk")),
  "drop-note": (b) => plan.drop(b.closest(".plan-note")),
  "close-alert": (b) => b.parentElement.remove(),
  answer: (b) => answer(b),
};

document.addEventListener("input", (e) => { if (e.target.id === "find-session") find(ui); });
document.addEventListener("click", (e) => {
  const b = e.target.closest?.("[data-act]");
  if (!b || b.disabled || b.getAttribute("aria-disabled") === "true") {
    if (!e.target.closest?.(".pop")) for (const d of document.querySelectorAll(".pop[open]")) d.open = false;
    return;
  }
  // A key that was meant for something else must not decide: keys count only
  // when the question has been there for a moment.
  if (e.isTrusted && e.detail === 0 && b.closest("#gate, #pending") && keys.early()) return;
  acts[b.dataset.act]?.(b);
});

// answer sends a decision about exactly what is on the screen.
let deciding = false;
async function answer(b) {
  if (deciding) return;
  let choice = b.dataset.choice;
  const gate = $("gate");
  const kind = gate.dataset.kind;
  let text = $("say-in")?.value.trim() ?? "";
  const fields = {};
  if (kind === "plan" && choice === "comment") {
    text = [plan.notes(), text].filter(Boolean).join("\n\n");
    if (!text) { $("say-in").focus(); return toast("Write a comment first, here or beside a line of the plan.", "info"); }
  }
  if (choice === "text" && !text) return $("say-in").focus();
  if (kind === "write") {
    fields.hunks = review.hunks();
    if (choice === "apply" && fields.hunks.length && !fields.hunks.some((h) => h.accepted)) choice = "send_back";
  }
  deciding = true;
  b.classList.add("sent");
  try {
    if (choice === "approve" && !(await plan.settle())) return;
    const q = $("gate").dataset;
    const r = await net.send("answer", { question: q.id, hash: q.hash ?? "", choice, text, session: q.session, ...fields });
    if (!r.ok) return toast(r.why);
    if (kind === "plan") plan.sent();
    review.forget(q.id);
    ui.say("Decision sent.");
  } finally {
    deciding = false;
    b.classList.remove("sent");
  }
}
ui.answer = (choice) => {
  const b = $("gate").querySelector(`[data-act="answer"][data-choice="${CSS.escape(choice)}"]`);
  if (b) answer(b);
};
ui.primary = () => { const b = $("gate").querySelector("[data-primary]"); if (b) answer(b); };

// ---- messages ------------------------------------------------------------
function toast(text, level = "error") {
  const div = document.createElement("div");
  div.className = level;
  const span = document.createElement("span");
  span.textContent = text || "It did not work.";
  const x = document.createElement("button");
  x.type = "button";
  x.className = "mini";
  x.dataset.act = "close-alert";
  x.textContent = "Close";
  div.append(span, x);
  $("alerts").replaceChildren(div);
  if (level === "info") setTimeout(() => div.remove(), 6000);
}

// notices are asked for by the person only, and only for a tab that is not seen.
const notices = {
  get on() { try { return localStorage.getItem("coderrr-notify") === "on" && globalThis.Notification?.permission === "granted"; } catch { return false; } },
  async turn(on) {
    const yes = on && (await globalThis.Notification?.requestPermission()) === "granted";
    try { localStorage.setItem("coderrr-notify", yes ? "on" : "off"); } catch { /* off */ }
    if (on && !yes) toast("The browser does not allow this page to notify you. Its settings for this address say why.", "info");
    $("notify").checked = this.on;
  },
};
$("notify").checked = notices.on;
$("notify").addEventListener("change", (e) => notices.turn(e.target.checked));

function notify(text) {
  if (notices.on) new Notification("Coderrr", { body: text, tag: "coderrr" });
}

function lost(why) {
  const div = document.createElement("div");
  div.className = "lost";
  const h = document.createElement("h2");
  const p = document.createElement("p");
  h.textContent = why === "missing" ? "This page needs its key" : "This address is no longer valid";
  p.textContent = why === "missing"
    ? "Open the whole address that coderrr ui printed: its last part, after #token=, is the key to your session."
    : "Coderrr was started again since, or the address was cut. Run coderrr ui and open the address it prints.";
  div.append(h, p);
  $("items").replaceChildren(div);
  const s = document.querySelector(".top .pill");
  s?.classList.add("bad");
  if (s) s.textContent = "Error · not connected";
  $("composer").hidden = true;
}

// ---- theme, keys, clocks -------------------------------------------------
const theme = {
  names: ["", "light", "dark"],
  get now() { return document.documentElement.dataset.theme || ""; },
  next() {
    const t = this.names[(this.names.indexOf(this.now) + 1) % 3];
    if (t) document.documentElement.dataset.theme = t;
    else delete document.documentElement.dataset.theme;
    try { localStorage.setItem("coderrr-theme", t); } catch { /* off */ }
    this.show();
    ui.say(`Theme: ${t || "system"}`);
  },
  show() { $("theme")?.setAttribute("aria-label", `Theme: ${this.now || "system"}`); },
};

function mod() {
  const apple = /Mac|iPhone|iPad/.test(navigator.platform);
  if (!apple) return;
  for (const k of document.querySelectorAll("kbd.mod")) if (k.textContent.startsWith("Ctrl")) k.textContent = "⌘↵";
}

setInterval(() => {
  for (const el of document.querySelectorAll("[data-until]")) {
    const s = Math.ceil((Number(el.dataset.until) - Date.now()) / 1000);
    el.textContent = s > 0 ? `in ${s} s` : "now";
  }
}, 500);

keys.start(ui, review);
net.connect();
