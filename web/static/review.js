// Reviewing hunks: what is accepted, rejected and said about each, until it is
// sent. It is kept for this tab, so that a reload loses nothing.

export class Review {
  constructor(ui) {
    this.ui = ui;
    this.at = -1;
    this.split = false;
    try { this.split = localStorage.getItem("coderrr-layout") === "split"; } catch { /* off */ }
  }

  get box() { return this.ui.$("pending"); }
  get list() { return [...document.querySelectorAll("#pending .hunk")]; }
  key() { const q = document.querySelector("#pending .proposed"); return q ? `hunks ${this.box.dataset.keep}` : ""; }

  reset() { this.at = -1; }

  // restore brings decisions back after a patch or a reload.
  restore() {
    const key = this.key();
    if (key && key !== this.shown) {
      this.at = -1;
      let saved = {};
      try { saved = JSON.parse(sessionStorage.getItem(key) || "{}"); } catch { /* off */ }
      for (const h of this.list) {
        const s = saved[h.dataset.n];
        if (!s) continue;
        this.mark(h, s.accepted);
        if (s.comment) { h.querySelector(".note").hidden = false; h.querySelector("textarea").value = s.comment; }
      }
      this.box.addEventListener("input", () => this.save());
    }
    this.shown = key;
    this.count();
    this.relayout();
  }

  hunks() {
    return this.list.map((h) => ({
      n: Number(h.dataset.n), accepted: !h.classList.contains("no"), comment: h.querySelector("textarea").value.trim(),
    }));
  }

  save() {
    const out = {};
    for (const h of this.hunks()) out[h.n] = h;
    try { sessionStorage.setItem(this.key(), JSON.stringify(out)); } catch { /* off */ }
    this.count();
  }

  forget(id) {
    try { for (const k of Object.keys(sessionStorage)) if (k.startsWith(`hunks ${id} `)) sessionStorage.removeItem(k); } catch { /* off */ }
  }

  mark(h, yes) {
    h.classList.toggle("no", !yes);
    h.classList.toggle("yes", yes);
    h.querySelector('[data-act="accept"]').setAttribute("aria-pressed", String(yes));
    h.querySelector('[data-act="reject"]').setAttribute("aria-pressed", String(!yes));
  }

  decide(h, yes) {
    if (!h) return;
    this.focus(h, false);
    this.mark(h, yes);
    this.save();
    this.ui.say(`Hunk ${Number(h.dataset.n) + 1} ${yes ? "accepted" : "rejected"}.`);
  }

  comment(h) {
    if (!h) return;
    this.focus(h, false);
    const note = h.querySelector(".note");
    note.hidden = false;
    note.querySelector("textarea").focus();
  }

  count() {
    const el = this.ui.$("hunk-count");
    const all = this.hunks();
    if (!el || !all.length) return;
    const yes = all.filter((h) => h.accepted).length;
    const notes = all.filter((h) => h.comment).length;
    const text = `${yes} of ${all.length} ${all.length === 1 ? "hunk" : "hunks"} accepted${notes ? `, ${notes} ${notes === 1 ? "comment" : "comments"}` : ""}.`;
    if (el.textContent !== text) el.textContent = text;
  }

  focus(h, scroll = true) {
    for (const o of this.list) o.classList.toggle("cur", o === h);
    this.at = this.list.indexOf(h);
    if (!scroll) return;
    h.focus({ preventScroll: true });
    h.scrollIntoView({ block: "nearest" });
  }

  current() { return this.list[this.at] ?? this.list[0]; }

  step(by) {
    const all = this.list;
    if (!all.length) return;
    this.at = Math.max(0, Math.min(all.length - 1, this.at < 0 ? 0 : this.at + by));
    this.focus(all[this.at]);
  }

  file(id) {
    this.ui.show("review");
    const el = this.ui.$(id);
    el?.scrollIntoView({ block: "start" });
    for (const b of document.querySelectorAll(".tree .f")) b.classList.toggle("on", b.dataset.file === id);
  }

  stepFile(by) {
    const all = [...document.querySelectorAll(".tree .f")];
    if (!all.length) return;
    const at = all.findIndex((b) => b.classList.contains("on"));
    all[Math.max(0, Math.min(all.length - 1, at + by))].click();
  }

  layout(name) {
    this.split = name === "split";
    try { localStorage.setItem("coderrr-layout", name); } catch { /* off */ }
    this.relayout();
  }

  // relayout builds the two columns from the lines of the unified view, which
  // stays in place, hidden: patches go there.
  relayout() {
    document.documentElement.dataset.layout = this.split ? "split" : "unified";
    for (const b of document.querySelectorAll('[data-act="layout"]')) {
      b.setAttribute("aria-pressed", String((b.dataset.layout === "split") === this.split));
    }
    for (const code of document.querySelectorAll("#review .hunk > .code, #review .hunks > .between")) {
      const has = code.nextElementSibling?.classList.contains("split-code");
      if (!this.split) {
        code.hidden = false;
        if (has) code.nextElementSibling.remove();
      } else if (!has) {
        code.after(columns(code));
        code.hidden = true;
      }
    }
  }

  // rebuild is for lines that are shown in another way now.
  rebuild() {
    for (const s of document.querySelectorAll("#review .split-code")) s.remove();
    this.relayout();
  }
}

function columns(code) {
  const out = document.createElement("div");
  out.className = "split-code";
  const sides = [0, 1].map(() => {
    const c = document.createElement("div");
    c.className = "code";
    c.tabIndex = 0;
    c.setAttribute("role", "group");
    c.setAttribute("aria-label", "Lines");
    out.append(c);
    return c;
  });
  let dels = [], ins = [];
  const flush = () => {
    for (let i = 0; i < Math.max(dels.length, ins.length); i++) {
      sides[0].append(dels[i] ?? blank());
      sides[1].append(ins[i] ?? blank());
    }
    dels = []; ins = [];
  };
  const ignore = document.documentElement.hasAttribute("data-ignore-space");
  for (const l of code.querySelectorAll(".l")) {
    if (ignore && l.classList.contains("w")) {
      if (l.classList.contains("d")) continue;
      flush(); sides[0].append(side(l, 0)); sides[1].append(side(l, 1));
    } else if (l.classList.contains("d")) dels.push(side(l, 0));
    else if (l.classList.contains("a")) ins.push(side(l, 1));
    else { flush(); sides[0].append(side(l, 0)); sides[1].append(side(l, 1)); }
  }
  flush();
  return out;
}

function side(l, n) {
  const c = l.cloneNode(true);
  c.children[1 - n].remove();
  return c;
}

function blank() {
  const l = document.createElement("div");
  l.className = "l none";
  for (const name of ["no", "s"]) {
    const s = document.createElement("span");
    s.className = name;
    s.textContent = "\u00a0";
    l.append(s);
  }
  l.append(document.createElement("code"));
  return l;
}
