// Keys. Letters act only while the review or the decision has the focus, never
// while something is typed, and not in the first moment of a question: a key
// that was meant for something else must not decide.

const dead = 350; // ms

export const keys = {
  since: 0,
  quiet() { this.since = performance.now(); },
  early() { return performance.now() - this.since < dead; },

  start(ui, review) {
    const single = document.getElementById("single-keys");
    try { single.checked = localStorage.getItem("coderrr-keys") !== "off"; } catch { /* off */ }
    single.addEventListener("change", () => {
      try { localStorage.setItem("coderrr-keys", single.checked ? "on" : "off"); } catch { /* off */ }
    });
    document.addEventListener("keydown", (e) => this.press(e, ui, review, single.checked), true);
    document.addEventListener("keydown", (e) => tabs(e));
  },

  press(e, ui, review, single) {
    if (e.isComposing || e.keyCode === 229 || document.querySelector("dialog[open]")) return;
    const early = this.early();
    if (early && !e.repeat) this.since = performance.now(); // each key begins the moment anew
    const act = (f) => { e.preventDefault(); f(); };
    const typing = e.target.matches?.("textarea, input, select, [contenteditable]");
    const inGate = Boolean(e.target.closest?.("#gate, #review, #plan"));
    if (e.key === "F6") return act(() => this.gate(ui));
    if (e.key === "Escape" && typing) return void e.target.blur();
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      if (e.target.id === "request" && e.target.value.trim()) return;
      return early ? e.preventDefault() : act(() => ui.primary());
    }
    if (typing || e.ctrlKey || e.metaKey || e.altKey || !single) return;
    if (e.key === "/") return act(() => ui.$("request").focus());
    if (e.key === "?") return act(() => ui.$("help").showModal());
    if (e.key === "g") return act(() => this.gate(ui));
    if (e.key === ".") return act(() => this.stop());
    if (inGate && !early) this.letter(e, ui, review, act);
  },

  letter(e, ui, review, act) {
    const h = () => review.current();
    const list = {
      j: () => review.step(1), k: () => review.step(-1), n: () => review.stepFile(1), p: () => review.stepFile(-1),
      a: () => review.decide(h(), true), r: () => review.decide(h(), false), u: () => review.decide(h(), true), c: () => review.comment(h()),
      d: () => review.layout(review.split ? "unified" : "split"), x: () => { for (const d of h()?.querySelectorAll("details") ?? []) d.open = !d.open; },
      A: () => ui.answer("accept_all"), R: () => ui.answer(ui.$("gate").dataset.kind === "plan" ? "comment" : "send_back"),
    };
    if (list[e.key]) return act(list[e.key]);
    if (/^[1-9]$/.test(e.key) && e.target.closest("#gate")) {
      const b = ui.$("gate").querySelectorAll(".opt-b")[Number(e.key) - 1];
      if (b) act(() => b.click());
    }
  },

  gate(ui) {
    const gate = ui.$("gate");
    if (gate.hidden) return;
    const kind = gate.dataset.kind;
    if (kind === "write") { ui.show("review"); return review_(ui); }
    (gate.querySelector(".opt-b") ?? gate.querySelector("[data-primary], .btn"))?.focus();
  },

  stop() {
    const b = document.querySelector(".stop");
    b?.focus();
  },
};

function review_(ui) {
  const h = document.querySelector("#pending .hunk");
  (h ?? ui.$("review")).focus({ preventScroll: true });
  h?.classList.add("cur");
}

// tabs moves between the plan's documents with the arrow keys.
function tabs(e) {
  if (e.target.getAttribute?.("role") !== "tab") return;
  const all = [...e.target.closest('[role="tablist"]').querySelectorAll('[role="tab"]')];
  const to = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (to) { e.preventDefault(); all[(all.indexOf(e.target) + to + all.length) % all.length].click(); }
}
