// Patches: the server sends whole elements, and only what differs is touched, so
// that a selection, an open card, the focus and what is typed stay.

const policy = globalThis.trustedTypes
  ? trustedTypes.createPolicy("coderrr", { createHTML: (html) => html })
  : { createHTML: (html) => html };

// parse makes nodes of HTML that came over the websocket. It is the only place
// where a string becomes markup.
export function parse(html) {
  const t = document.createElement("template");
  t.innerHTML = policy.createHTML(html);
  return t.content;
}

// apply carries out one patch: put an element (in place, or at the end of its
// container), or remove it.
export function apply(p) {
  const old = document.getElementById(p.id);
  if (p.op === "remove") return void old?.remove();
  const fresh = parse(p.html).firstElementChild;
  if (!fresh) return;
  if (old) morph(old, fresh);
  else document.getElementById(p.in)?.append(fresh);
}

export function morph(from, to) {
  if (from.nodeName !== to.nodeName) return void from.replaceWith(to);
  if (from.dataset.keep && from.dataset.keep === to.dataset.keep) return;
  const replaced = from.dataset.keep !== undefined && from.dataset.keep !== to.dataset.keep;
  const hint = from.dataset.hint;
  const area = from.nodeName === "TEXTAREA";
  const dirty = area && from.value !== from.defaultValue;
  for (const a of [...from.attributes]) {
    if (!to.hasAttribute(a.name) && !kept(from, a.name)) from.removeAttribute(a.name);
  }
  for (const a of to.attributes) {
    if (kept(from, a.name) || (dirty && a.name === "data-base")) continue;
    if (from.getAttribute(a.name) !== a.value) from.setAttribute(a.name, a.value);
  }
  // The server may open a card once, when what it is about changes (it failed).
  if (from.nodeName === "DETAILS" && hint !== to.dataset.hint) from.open = to.open;
  if (area) {
    if (!dirty && from.defaultValue !== to.defaultValue) from.value = from.defaultValue = to.defaultValue;
    else if (dirty && to.dataset.base && from.dataset.base !== to.dataset.base) from.dataset.moved = "";
    return;
  }
  if (from.nodeName === "INPUT" || from.nodeName === "SELECT") return;
  if (replaced) from.replaceChildren(...to.childNodes);
  else children(from, to);
}

// kept names what belongs to the reader: whether a card is open.
function kept(el, name) {
  return el.nodeName === "DETAILS" && name === "open";
}

function children(from, to) {
  const byID = new Map();
  for (const el of from.children) if (el.id) byID.set(el.id, el);
  const used = new Set();
  let cur = from.firstChild;
  for (const n of [...to.childNodes]) {
    while (cur && used.has(cur)) cur = cur.nextSibling;
    const mine = n.id ? byID.get(n.id) : null;
    if (mine) {
      if (mine === cur) cur = cur.nextSibling;
      else from.insertBefore(mine, cur);
      used.add(mine);
      morph(mine, n);
    } else if (!n.id && cur && !cur.id && cur.nodeType === n.nodeType && cur.nodeName === n.nodeName) {
      const next = cur.nextSibling;
      used.add(cur);
      if (n.nodeType === Node.ELEMENT_NODE) morph(cur, n);
      else text(cur, n);
      cur = next;
    } else {
      used.add(n);
      from.insertBefore(n, cur);
    }
  }
  for (const n of [...from.childNodes]) if (!used.has(n)) n.remove();
}

// text keeps a selection inside text that only grows.
function text(from, to) {
  if (from.data === to.data) return;
  if (to.data.startsWith(from.data)) from.appendData(to.data.slice(from.data.length));
  else from.data = to.data;
}
