// The connection: one websocket, frames in order, commands with an answer each.
import { apply } from "./patch.js";

const store = {
  get(k) { try { return sessionStorage.getItem(k); } catch { return null; } },
  set(k, v) { try { v === null ? sessionStorage.removeItem(k) : sessionStorage.setItem(k, v); } catch { /* off */ } },
};

// token takes the token out of the address bar before anything is asked for.
function token() {
  const m = /^#token=([A-Za-z0-9_-]+)$/.exec(location.hash);
  if (m) {
    store.set("coderrr-token", m[1]);
    history.replaceState(null, "", location.pathname);
  }
  return m ? m[1] : store.get("coderrr-token");
}

export class Net {
  // on: changed() after each flush, offline(bool), lost(why), session(id)
  constructor(on) {
    this.on = on;
    this.token = token();
    this.epoch = "";
    this.frame = 0;
    this.session = store.get("coderrr-session") ?? undefined;
    this.tries = 0;
    this.queue = [];
    this.waiting = new Map();
    this.n = 0;
    addEventListener("online", () => this.soon(0));
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.soon(0); });
  }

  get open() { return this.ws?.readyState === WebSocket.OPEN && this.ready; }

  connect() {
    if (!this.token) return this.on.lost("missing");
    if (this.ws && this.ws.readyState <= WebSocket.OPEN) return;
    const ws = new WebSocket(`ws://${location.host}/ws`);
    this.ws = ws;
    this.ready = false;
    ws.onopen = () => ws.send(JSON.stringify({
      type: "hello", token: this.token, epoch: this.epoch, after: this.frame, session: this.session,
    }));
    ws.onmessage = (e) => { if (ws === this.ws) this.receive(JSON.parse(e.data)); };
    ws.onclose = (e) => { if (ws === this.ws) this.closed(e); };
  }

  closed(e) {
    this.ready = false;
    for (const [, w] of this.waiting) w({ ok: false, why: "The connection broke before the answer came. Look before you repeat it." });
    this.waiting.clear();
    if (e.code === 4401) {
      store.set("coderrr-token", null);
      return this.on.lost("refused");
    }
    clearTimeout(this.late);
    this.late = setTimeout(() => { if (!this.open) this.on.offline(true); }, 1000);
    this.soon(Math.min(5000, 100 * 2 ** this.tries++) * (0.7 + Math.random() * 0.6));
  }

  soon(ms) {
    if (this.open || !this.token) return;
    clearTimeout(this.again);
    this.again = setTimeout(() => this.connect(), ms);
  }

  receive(m) {
    this.live();
    if (m.type === "ack") {
      const done = this.waiting.get(m.id);
      this.waiting.delete(m.id);
      return void done?.(m);
    }
    if (m.type === "snapshot") {
      this.queue = [];
      this.epoch = m.epoch;
      this.frame = m.frame;
      this.remember(m.session);
    } else if (m.type === "patch") {
      if (m.frame <= this.frame) return;
      if (m.frame !== this.frame + 1) return void this.ws.close(4000, "a frame is missing");
      this.frame = m.frame;
    } else return;
    this.queue.push(m);
    if (this.queue.length > 1) return;
    // requestAnimationFrame never comes in a hidden tab, and the title must change there.
    if (document.hidden) setTimeout(() => this.flush(), 0);
    else {
      let done = false;
      const run = () => { if (!done) { done = true; this.flush(); } };
      requestAnimationFrame(run);
      setTimeout(run, 200);
    }
  }

  live() {
    if (this.ready) return;
    this.ready = true;
    this.tries = 0;
    clearTimeout(this.late);
    this.on.offline(false);
  }

  remember(id) {
    if (id === undefined) return;
    const changed = this.session !== id;
    this.session = id;
    store.set("coderrr-session", id);
    if (changed) this.on.session(id);
  }

  flush() {
    const frames = this.queue;
    this.queue = [];
    // A put that a later one of the same element replaces is not worth doing.
    const last = new Map();
    frames.forEach((f, i) => f.patch.forEach((p) => last.set(p.id, i)));
    frames.forEach((f, i) => f.patch.forEach((p) => {
      if (last.get(p.id) === i || !document.getElementById(p.id)) apply(p);
    }));
    this.on.changed(frames.some((f) => f.type === "snapshot"));
  }

  // send gives the server's answer. A decision is never kept for later: without
  // a connection it fails at once.
  send(type, fields = {}) {
    if (!this.open) return Promise.resolve({ ok: false, why: "Not connected. Nothing was sent." });
    const id = `c${++this.n}-${Math.random().toString(36).slice(2, 8)}`;
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.waiting.delete(id);
        resolve({ ok: false, why: "No answer came within 30 seconds. Look before you repeat it." });
      }, 30_000);
      this.waiting.set(id, (m) => { clearTimeout(late); resolve(m); });
      this.ws.send(JSON.stringify({ type, id, session: this.session, ...fields }));
    });
  }
}
