// What changed, afterwards: keep or undo a hunk, more lines, white space. What is
// kept is a note of the reader in this browser; undo is the server's.

const most = 4000; // notes that are kept

export class Changes {
  constructor(ui, review) {
    this.ui = ui;
    this.review = review;
    this.spaces = read("coderrr-spaces", false);
    this.kept = new Set(read("coderrr-kept", []));
    // Lines are fetched a little before they are seen.
    this.near = new IntersectionObserver((seen) => {
      for (const s of seen) if (s.isIntersecting) s.target.querySelector("button")?.click();
    }, { root: ui.$("review"), rootMargin: "400px 0px" });
    this.watched = new WeakSet();
  }

  // restore brings the reader's notes back after a patch.
  restore() {
    document.documentElement.toggleAttribute("data-ignore-space", this.spaces);
    for (const b of document.querySelectorAll('[data-act="spaces"]')) b.setAttribute("aria-pressed", String(this.spaces));
    for (const m of document.querySelectorAll("#review [data-auto]")) {
      if (this.watched.has(m)) continue;
      this.watched.add(m);
      this.near.observe(m);
    }
    this.mark();
  }

  // ---- keep ----
  mark() {
    const files = [...document.querySelectorAll("#diffs > .file:not(.undone)")];
    for (const f of files) {
      const whole = this.kept.has(f.dataset.key);
      const hunks = [...f.querySelectorAll(".hunk[data-key]")];
      for (const h of hunks) {
        const yes = whole || this.kept.has(h.dataset.key);
        h.classList.toggle("kept", yes);
        press(h.querySelector(".keep"), yes);
      }
      const all = whole || (hunks.length > 0 && !f.querySelector(".more-hunks") && hunks.every((h) => h.classList.contains("kept")));
      f.classList.toggle("kept", all);
      press(f.querySelector(":scope > header .keep"), all);
      const row = document.querySelector(`.tree [data-file="${f.id}"]`);
      row?.classList.toggle("kept", all);
    }
    press(document.querySelector("#rev-head .keep"), files.length > 0 && files.every((f) => f.classList.contains("kept")));
    for (const b of document.querySelectorAll('#tasks .keep')) {
      const own = this.ofTask(b.dataset.task);
      press(b, own.length > 0 && own.every((f) => f.classList.contains("kept")));
    }
  }

  ofTask(task) {
    return [...document.querySelectorAll("#diffs > .file:not(.undone)")]
      .filter((f) => [...f.querySelectorAll(".badge.task")].some((t) => t.textContent === task));
  }

  keep(b) {
    const yes = b.getAttribute("aria-pressed") !== "true";
    const file = b.closest(".file");
    const hunk = b.closest(".hunk");
    if (hunk) this.keepHunk(file, hunk, yes);
    else if (file) this.keepFile(file, yes);
    else for (const f of b.dataset.task ? this.ofTask(b.dataset.task) : document.querySelectorAll("#diffs > .file:not(.undone)")) this.keepFile(f, yes);
    write("coderrr-kept", [...this.kept].slice(-most));
    this.mark();
    this.ui.say(`${b.dataset.name.replace(/^Keep ?/, "") || "Change"} ${yes ? "kept" : "open again"}.`);
  }

  keepHunk(file, hunk, yes) {
    if (yes) return void this.kept.add(hunk.dataset.key);
    // A file that is kept as a whole is now kept but for this hunk.
    if (this.kept.delete(file.dataset.key)) for (const h of file.querySelectorAll(".hunk[data-key]")) this.kept.add(h.dataset.key);
    this.kept.delete(hunk.dataset.key);
  }

  keepFile(file, yes) {
    if (yes) return void this.kept.add(file.dataset.key);
    this.kept.delete(file.dataset.key);
    for (const h of file.querySelectorAll(".hunk[data-key]")) this.kept.delete(h.dataset.key);
  }

  // ---- undo ----
  async undo(b) {
    const r = await this.ask(b, "undo_hunk", { n: Number(b.closest(".hunk").dataset.n) });
    if (r?.ok) this.ui.say("Hunk undone.");
  }

  // ask sends a command about the file that a button stands in.
  async ask(b, type, fields) {
    if (b.getAttribute("aria-disabled") === "true") return null;
    const box = b.closest(".hunks");
    const question = b.closest("[data-question]")?.dataset.question ?? "";
    b.setAttribute("aria-disabled", "true");
    const r = await this.ui.net.send(type, {
      path: box?.dataset.path ?? "", after: box?.dataset.after ?? "", question, whole: box?.dataset.whole !== undefined, ...fields,
    });
    b.removeAttribute("aria-disabled");
    if (!r.ok) this.ui.alert(r.why);
    return r;
  }

  // ---- more lines ----
  async lines(b) {
    const bar = b.parentElement;
    const r = await this.ask(b, "lines", { n: Number(b.closest(".hunk").dataset.n), from: Number(b.dataset.from) });
    if (!r?.ok || !bar.isConnected) return;
    this.put(bar, r.html);
  }

  async hunks(b) {
    const bar = b.parentElement;
    const whole = b.dataset.whole !== undefined;
    const box = b.closest(".hunks");
    const first = Number(b.dataset.from) === 0;
    const r = await this.ask(b, "hunks", { from: Number(b.dataset.from), whole });
    if (!r?.ok || !bar.isConnected) return;
    if (whole) box.dataset.whole = "";
    if (first) for (const p of box.querySelectorAll(":scope > .piece")) p.remove();
    this.put(bar, r.html);
  }

  // put replaces a bar with what it stood for.
  put(bar, html) {
    const held = bar.contains(document.activeElement);
    const fresh = this.ui.parse(html);
    const first = fresh.firstElementChild;
    bar.replaceWith(fresh);
    this.review.relayout();
    this.restore();
    if (held) (first?.matches("[tabindex]") ? first : first?.querySelector("[tabindex], button"))?.focus({ preventScroll: true });
  }

  async context(b) {
    const gap = b.closest(".gap");
    const from = Number(gap.dataset.from), to = Number(gap.dataset.to);
    const way = b.dataset.way;
    const step = 20;
    const ask = {
      from: way === "up" ? Math.max(from, to - step + 1) : from,
      to: way === "down" ? (to ? Math.min(to, from + step - 1) : from + step - 1) : to,
    };
    const r = await this.ask(b, "context", { ...ask, shift: Number(gap.dataset.shift) });
    if (!r?.ok || !gap.isConnected) return;
    if (r.html) {
      const fresh = this.ui.parse(r.html);
      if (way === "up") gap.after(fresh);
      else gap.before(fresh);
    }
    let left = ask.from - from;
    if (way === "up") gap.dataset.to = String(ask.from - 1);
    else {
      const next = (ask.to || r.total) + 1;
      gap.dataset.from = String(next);
      left = (to || r.total) - next + 1;
    }
    if (left <= 0) return void gap.remove();
    const all = gap.querySelector('[data-way="all"]');
    all.textContent = left === 1 ? "1 line" : `${left} lines`;
    all.setAttribute("aria-label", `Show all ${all.textContent} between`);
    this.review.relayout();
  }

  // ---- white space ----
  ignore() {
    this.spaces = !this.spaces;
    write("coderrr-spaces", this.spaces);
    this.restore();
    this.review.rebuild();
    this.ui.say(this.spaces ? "White space is ignored." : "White space is shown.");
  }
}

function press(b, yes) {
  if (!b) return;
  b.setAttribute("aria-pressed", String(yes));
  const text = b.querySelector(".txt");
  const want = yes ? b.dataset.short?.replace("Keep", "Kept") : b.dataset.short;
  if (text && text.textContent !== want) text.textContent = want;
}

function read(key, none) {
  try { return JSON.parse(localStorage.getItem(key)) ?? none; } catch { return none; }
}

function write(key, value) {
  try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* off */ }
}
