// What can be done with a stored session: save its log, or delete it.

export async function save(ui, session) {
  const r = await fetch(`/api/sessions/${encodeURIComponent(session)}/events`, {
    headers: { Authorization: `Bearer ${ui.net.token}` },
  });
  if (!r.ok) return ui.alert("The session's log could not be read.");
  const url = URL.createObjectURL(await r.blob());
  const a = document.createElement("a");
  a.href = url;
  a.download = `${session}.jsonl`;
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
