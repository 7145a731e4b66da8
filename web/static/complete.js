import { names } from "./commands.js";

// Completion of @file names and /commands in the message box: the server knows the files, the
// list belongs to the box (aria-activedescendant), so the focus never leaves it.

export class Complete {
  constructor(ui, box) {
    this.ui = ui;
    this.box = box;
    this.list = document.getElementById("files");
    this.at = 0;
    this.n = 0;
    box.addEventListener("input", () => this.look());
    box.addEventListener("blur", () => setTimeout(() => {
      if (document.activeElement === box) return;
      this.hide();
      this.back();
    }, 150));
    this.list.addEventListener("mousedown", (e) => {
      const o = e.target.closest("[role=option]");
      if (o) { e.preventDefault(); this.take(o.dataset.value); }
    });
  }

  get open() { return !this.list.hidden; }

  // word is what stands between the last @ and the caret, null for none.
  word() {
    const before = this.box.value.slice(0, this.box.selectionStart);
    return /(?:^|\s)@([^\s@]{0,120})$/.exec(before)?.[1] ?? null;
  }

  // models opens the list of models; what was typed comes back after it.
  models() {
    this.draft ??= this.box.value;
    this.box.value = "/model ";
    this.box.focus();
    this.look();
  }

  // back gives the box what was in it before models.
  back() {
    if (this.draft === undefined) return;
    if (this.box.value.startsWith("/model")) this.box.value = this.draft;
    this.draft = undefined;
  }

  // choices are the models whose names hold some letters; they are asked for once
  // while one is being chosen.
  async choices(word) {
    if (!this.open || !this.known) {
      const r = await this.ui.net.send("models");
      if (!r.ok) this.ui.alert(r.why, "info");
      this.known = r.models ?? [];
    }
    return this.known.filter((m) => m.name.toLowerCase().includes(word.toLowerCase()));
  }

  async lookModels(word) {
    const n = ++this.n;
    const list = await this.choices(word);
    if (n !== this.n) return;
    if (!list.length) return this.hide();
    const now = document.querySelector(".top [data-model]")?.dataset.model;
    this.fill("Models", list.map((m) => ({
      value: `/model ${m.ref}`,
      text: `${m.name}${m.name === now ? " (current)" : ""} · context ${m.context} · price ${m.price}`,
    })));
  }

  async look() {
    const model = /^\/model\s+(\S*)$/.exec(this.box.value);
    if (model) return this.lookModels(model[1]);
    const command = /^\/[a-z]*$/.test(this.box.value);
    const word = command ? this.box.value.slice(1) : this.word();
    if (word === null) return this.hide();
    const n = ++this.n;
    let list = command ? names(word) : [];
    if (!command) {
      const r = await this.ui.net.send("files", { text: word });
      if (n !== this.n || this.word() !== word) return;
      list = (r.ok && r.files) || [];
    }
    if (!list.length || list[0] === this.box.value) return this.hide();
    this.fill(command ? "Commands" : "Files", list.map((f) => ({ value: f, text: f })));
  }

  fill(name, list) {
    this.list.setAttribute("aria-label", name);
    this.at = 0;
    this.list.replaceChildren(...list.map(({ value, text }, i) => {
      const o = document.createElement("li");
      o.id = `file-${i}`;
      o.dataset.value = value;
      o.setAttribute("role", "option");
      o.textContent = text;
      return o;
    }));
    this.list.hidden = false;
    this.mark();
  }

  mark() {
    [...this.list.children].forEach((o, i) => o.setAttribute("aria-selected", String(i === this.at)));
    this.box.setAttribute("aria-activedescendant", `file-${this.at}`);
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  hide() {
    this.n++;
    if (!this.open) return;
    this.list.hidden = true;
    this.box.removeAttribute("aria-activedescendant");
  }

  take(file) {
    if (file.startsWith("/model ")) {
      this.box.value = file;
      this.hide();
      this.box.form.requestSubmit();
      this.box.value = this.draft ?? "";
      this.draft = undefined;
      return;
    }
    if (file.startsWith("/") && this.box.value.startsWith("/")) {
      this.box.value = file;
      return this.hide();
    }
    const end = this.box.selectionStart, word = this.word();
    if (word === null) return this.hide();
    this.box.setRangeText(`${file} `, end - word.length, end, "end");
    this.hide();
    this.box.focus();
  }

  // key reports whether it used the key.
  key(e) {
    if (!this.open) return false;
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    const n = this.list.children.length;
    if (by) { this.at = (this.at + by + n) % n; this.mark(); }
    else if ((e.key === "Enter" && !e.ctrlKey && !e.metaKey) || e.key === "Tab") this.take(this.list.children[this.at].dataset.value);
    else if (e.key === "Escape") { this.hide(); this.back(); }
    else return false;
    e.preventDefault();
    e.stopPropagation();
    return true;
  }
}

// past keeps what was sent from this tab, for the arrow keys in an empty box.
export const past = {
  get list() { try { return JSON.parse(sessionStorage.getItem("coderrr-past") || "[]"); } catch { return []; } },
  add(text) {
    const list = [...this.list.filter((t) => t !== text), text].slice(-50);
    try { sessionStorage.setItem("coderrr-past", JSON.stringify(list)); } catch { /* off */ }
    this.at = null;
  },
  at: null,
  // step goes to an older (-1) or newer text; it takes the key only from an empty
  // box or from a text of its own.
  step(box, by) {
    const list = this.list;
    const at = this.at ?? list.length;
    if (!list.length || (box.value !== "" && box.value !== list[at])) return false;
    this.at = Math.max(0, Math.min(list.length, at + by));
    box.value = list[this.at] ?? "";
    return true;
  },
};
