// Reading calls in a row are one line. Which of them the reader has opened is kept
// here: a patch of the line does not know.
const open = new Set();

export const runs = {
  toggle(head) {
    if (open.has(head.id)) open.delete(head.id);
    else open.add(head.id);
    this.restore();
  },
  // show opens the run that a card stands in.
  show(card) {
    const head = card.closest(".run")?.querySelector(".run-head");
    if (head) open.add(head.id);
    this.restore();
  },
  restore() {
    for (const id of open) document.getElementById(id)?.setAttribute("aria-expanded", "true");
    for (const h of document.querySelectorAll('.run-head[aria-expanded="true"]')) if (!open.has(h.id)) h.setAttribute("aria-expanded", "false");
  },
  reset() { open.clear(); },
};
