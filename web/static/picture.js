// Pictures that are pasted or dropped: the server keeps them, and the message names
// them as it names files.
const most = 5 << 20;

export function pictures(ui, form, box) {
  box.addEventListener("paste", (e) => take(ui, box, e, e.clipboardData));
  form.addEventListener("dragover", (e) => { if (e.dataTransfer?.types.includes("Files")) e.preventDefault(); });
  form.addEventListener("drop", (e) => take(ui, box, e, e.dataTransfer));
}

async function take(ui, box, e, from) {
  const files = [...(from?.files ?? [])];
  if (!files.length) return;
  e.preventDefault();
  for (const f of files) {
    const name = f.name || "The picture";
    if (f.size > most) {
      ui.alert(`${name} is too large: ${(f.size / (1 << 20)).toFixed(1)} MB, at most 5 MB.`);
      continue;
    }
    const r = await ui.net.send("picture", { data: await base64(f) });
    if (!r.ok) {
      ui.alert(`${name} is not taken: ${r.why}`);
      continue;
    }
    const before = box.value.slice(0, box.selectionStart);
    box.setRangeText(`${/\S$/.test(before) ? " " : ""}@${r.files[0]} `, box.selectionStart, box.selectionEnd, "end");
    ui.say("Picture added.");
  }
  box.focus();
}

function base64(file) {
  return new Promise((done) => {
    const r = new FileReader();
    r.onloadend = () => done(String(r.result ?? "").split(",")[1] ?? "");
    r.readAsDataURL(file);
  });
}
