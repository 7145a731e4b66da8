// What can be done with a session of the list: find it, name it, save its log as
// events or as a document, delete it.

export async function save(ui, session, format = "jsonl") {
  const what = format === "md" ? "markdown" : "events";
  const r = await fetch(`/api/sessions/${encodeURIComponent(session)}/${what}`, {
    headers: { Authorization: `Bearer ${ui.net.token}` },
  });
  if (!r.ok) return ui.alert("The session's log could not be read.");
  const url = URL.createObjectURL(await r.blob());
  const a = document.createElement("a");
  a.href = url;
  a.download = `${session}.${format}`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// remove asks once more on the button itself.
export async function remove(ui, b) {
  if (b.dataset.sure === undefined) {
    b.dataset.sure = "";
    b.textContent = "Delete for good?";
    ui.say("Press again to delete this session's log for good.");
    setTimeout(() => { delete b.dataset.sure; b.textContent = "Delete"; }, 5000);
    return;
  }
  const r = await ui.net.send("remove", { target: b.dataset.session });
  if (r.ok) ui.say("Session deleted.");
  else ui.alert(r.why);
}

// rename puts a box in the place of the buttons; Enter takes what it holds.
export function rename(ui, b) {
  const row = b.parentElement;
  if (row.nextElementSibling?.classList.contains("rename")) return;
  const form = document.createElement("div");
  form.className = "rename";
  const box = document.createElement("input");
  box.type = "text";
  box.maxLength = 150;
  box.value = row.dataset.title;
  box.setAttribute("aria-label", "Title of this session");
  const end = () => { form.remove(); row.hidden = false; ui.$("sessions").querySelector('[data-act="rename"]')?.focus(); };
  box.addEventListener("keydown", async (e) => {
    if (e.isComposing || e.keyCode === 229) return;
    if (e.key === "Escape") { e.stopPropagation(); return end(); }
    if (e.key !== "Enter") return;
    e.preventDefault();
    const r = await ui.net.send("rename", { target: b.dataset.session, text: box.value });
    if (!r.ok) return ui.alert(r.why);
    ui.say("Session renamed.");
    end();
  });
  form.append(box);
  row.after(form);
  row.hidden = true;
  box.focus();
  box.select();
}

// find hides what does not fit the letters in the search box; without any, what is
// far down the list.
export function find(ui) {
  const words = (ui.$("find-session")?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  const all = document.querySelectorAll("#sessions .session");
  for (const b of all) {
    const text = b.querySelector(".t").textContent.toLowerCase();
    const fits = words.every((w) => text.includes(w)) && (words.length > 0 || !b.classList.contains("late"));
    b.hidden = !fits && b.getAttribute("aria-current") !== "true";
    if (fits) found++;
  }
  const none = ui.$("none-found");
  if (none) none.hidden = found > 0 || !words.length;
}
