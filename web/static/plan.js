// The plan: which document is in view, reading or editing, and comments on its
// lines until they are sent.

const wait = (ms) => new Promise((r) => setTimeout(r, ms));

export class Plan {
  constructor(ui) {
    this.ui = ui;
    this.now = "";
    this.editing = false;
    this.saving = new Map();
    this.list = [];
    document.addEventListener("input", (e) => {
      if (e.target.matches?.(".edit textarea")) this.typed(e.target);
      if (e.target.closest?.(".plan-note")) this.note(e.target);
    });
  }

  reset() { this.now = ""; this.editing = false; this.list = []; }

  get open() { return this.ui.$("plan").dataset.open !== undefined; }
  area(doc) { return document.querySelector(`.edit textarea[data-doc="${CSS.escape(doc)}"]`); }
  get areas() { return [...document.querySelectorAll(".edit textarea")]; }
  dirty(a) { return a.value !== a.defaultValue; }

  // restore puts the page's own state back onto what the server rendered.
  restore() {
    const tabs = [...document.querySelectorAll('#plan [role="tab"]')];
    if (!tabs.length) return;
    if (!tabs.some((t) => t.dataset.doc === this.now)) this.now = tabs[0].dataset.doc;
    if (!this.open) this.editing = false;
    for (const t of tabs) {
      const on = t.dataset.doc === this.now;
      t.setAttribute("aria-selected", String(on));
      t.tabIndex = on ? 0 : -1;
      const panel = this.ui.$(`doc-${t.dataset.doc}`);
      if (panel) panel.hidden = !on;
      const read = this.ui.$(`read-${t.dataset.doc}`), edit = this.ui.$(`edit-${t.dataset.doc}`);
      if (read) read.hidden = this.editing;
      if (edit) edit.hidden = !this.editing;
    }
    for (const b of document.querySelectorAll('#plan [data-act="mode"]')) {
      b.setAttribute("aria-pressed", String((b.dataset.mode === "edit") === this.editing));
    }
    const rev = this.ui.$("revdiff");
    if (rev) rev.hidden = this.editing;
    this.showNotes();
  }

  doc(name) { this.now = name; this.restore(); this.ui.$(`tab-${name}`)?.focus({ preventScroll: true }); }

  mode(name) {
    this.editing = name === "edit";
    this.restore();
    if (this.editing) this.area(this.now)?.focus();
    else this.areas.forEach((a) => this.dirty(a) && this.save(a.dataset.doc));
  }

  // ---- editing
  typed(area) {
    this.status("Not saved yet");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(area.dataset.doc), 1200);
  }

  status(text, bad) {
    const s = this.ui.$("saved");
    if (!s) return;
    s.textContent = text;
    s.classList.toggle("no", Boolean(bad));
  }

  save(doc, loud) {
    const area = this.area(doc);
    clearTimeout(this.timer);
    if (!area || !this.dirty(area)) {
      if (loud) this.status("Saved");
      return this.saving.get(doc) ?? Promise.resolve(true);
    }
    const run = (this.saving.get(doc) ?? Promise.resolve(true)).then(() => this.write(doc));
    this.saving.set(doc, run);
    run.finally(() => { if (this.saving.get(doc) === run) this.saving.delete(doc); });
    return run;
  }

  async write(doc) {
    const area = this.area(doc);
    if (!area || !this.dirty(area)) return true;
    const content = area.value;
    const r = await this.ui.net.send("edit", { document: doc, content, base: area.dataset.base ?? "" });
    if (!r.ok) {
      this.status("Not saved", true);
      this.ui.alert(r.why);
      return false;
    }
    const still = this.area(doc);
    if (still) {
      still.defaultValue = content;
      if (r.sha256) still.dataset.base = r.sha256;
      if (still.value !== content) this.typed(still);
    }
    this.saved = true;
    this.status("Saved");
    return true;
  }

  // settle saves what is being edited and waits until the question is about it,
  // so that an approval never names an older text than the one on the screen.
  async settle() {
    const hash = this.ui.$("gate").dataset.hash;
    const touched = this.areas.filter((a) => this.dirty(a)).map((a) => a.dataset.doc);
    const running = [...this.saving.values()];
    if (!touched.length && !running.length) return true;
    const done = await Promise.all([...running, ...touched.map((d) => this.save(d))]);
    if (done.includes(false)) return false;
    for (let i = 0; i < 100; i++) {
      const g = this.ui.$("gate").dataset;
      if (g.kind === "plan" && g.hash !== hash && this.ui.$("plan").dataset.hash === g.hash) return true;
      await wait(50);
    }
    this.ui.alert("Your edit is saved. Look at the plan once more, then approve it.", "info");
    return false;
  }

  // ---- comments on lines
  comment(blk) {
    const doc = blk.closest("[data-doc]").dataset.doc;
    const n = { doc, line: blk.dataset.line, text: blk.dataset.text, value: "" };
    this.list.push(n);
    this.showNotes();
    blk.nextElementSibling?.querySelector("textarea")?.focus();
  }

  note(area) {
    const n = this.list[Number(area.closest(".plan-note").dataset.n)];
    if (n) n.value = area.value;
    this.count();
  }

  drop(el) {
    this.list.splice(Number(el.dataset.n), 1);
    document.querySelectorAll(".plan-note").forEach((x) => x.remove());
    this.showNotes();
  }

  // showNotes puts the boxes below their blocks; they are not of the server, so
  // each patch of the plan takes them away.
  showNotes() {
    const had = document.activeElement?.closest?.(".plan-note")?.dataset.n;
    document.querySelectorAll("#plan .blk.has").forEach((b) => b.classList.remove("has"));
    document.querySelectorAll(".plan-note").forEach((x) => { if (Number(x.dataset.n) >= this.list.length) x.remove(); });
    this.list.forEach((n, i) => {
      const blk = document.querySelector(`#read-${CSS.escape(n.doc)} .blk[data-line="${CSS.escape(n.line)}"]`);
      const old = document.querySelector(`.plan-note[data-n="${i}"]`);
      if (!blk) return old?.remove();
      blk.classList.add("has");
      if (old) return;
      const box = document.createElement("div");
      box.className = "plan-note";
      box.dataset.n = String(i);
      const head = document.createElement("header");
      const b = document.createElement("b");
      b.textContent = "You";
      const x = document.createElement("button");
      x.type = "button"; x.className = "mini"; x.dataset.act = "drop-note"; x.textContent = "Remove";
      head.append(b, ` on line ${n.line}`, x);
      const area = document.createElement("textarea");
      area.setAttribute("aria-label", `Comment on line ${n.line}`);
      area.placeholder = "What should be different here?";
      area.value = n.value;
      box.append(head, area);
      blk.after(box);
      if (had === String(i)) area.focus();
    });
    this.count();
  }

  count() {
    const t = document.querySelector('#gate [data-choice="comment"] .t');
    if (!t) return;
    const n = this.list.filter((x) => x.value.trim()).length;
    const text = n ? `Send comments (${n})` : "Send comments";
    if (t.textContent !== text) t.textContent = text;
  }

  notes() {
    return this.list.filter((n) => n.value.trim())
      .map((n) => `On ${n.doc}.md line ${n.line} ("${n.text}"): ${n.value.trim()}`).join("\n\n");
  }

  sent() { this.list = []; document.querySelectorAll(".plan-note").forEach((x) => x.remove()); this.editing = false; this.restore(); }
}
