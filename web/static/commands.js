// Commands that are typed with a slash. Their names come from the same table as
// the terminal's, which the help lists; what they do here is a click that is on
// the page too.

const rows = () => [...document.querySelectorAll("#commands dt")];

// names are the commands that begin with a word, for completion.
export function names(word) {
  return rows().map((r) => r.dataset.names.split(" ")[0]).filter((n) => n.startsWith(word)).map((n) => `/${n}`);
}

// run does a command and reports whether the text was one. A path or a sentence
// that begins with a slash is a message.
export function run(text, ui, acts) {
  const m = /^\/([a-z?]+)(?:\s+(\S.*))?$/.exec(text);
  if (!m) return false;
  const row = rows().find((r) => r.dataset.names.split(" ").includes(m[1]));
  if (!row) {
    if (m[2]) return false;
    ui.alert(`There is no command /${m[1]} here. /help lists them.`, "info");
    return true;
  }
  const arg = m[2] ?? "";
  const press = (b, why) => { if (b && !b.disabled) b.click(); else ui.alert(why, "info"); };
  const does = {
    help: () => acts.help(),
    plan: () => ui.show("plan"),
    reject: () => press(document.querySelector('#gate[data-kind="plan"] [data-choice="discard"]'), "No plan waits."),
    stop: () => press(document.querySelector(".top .stop"), "Nothing runs."),
    undo: () => press(arg ? document.querySelector(`[data-act="undo"][data-path="${CSS.escape(arg)}"]`) : document.querySelector('[data-act="undo"][data-path=""]'), "There is nothing to undo here."),
    confirm() {
      const b = ui.$("confirm");
      if (!["on", "off"].includes(arg)) return ui.alert("Say /confirm on or /confirm off.", "info");
      if ((b.getAttribute("aria-checked") === "true") !== (arg === "on")) b.click();
    },
    compact: () => acts.ask("compact", {}),
    model: () => arg ? acts.ask("model", { text: arg }) : ui.alert("Say /model MODEL or /model PROVIDER/MODEL.", "info"),
    new: () => acts.open({ dataset: { session: "" } }),
  };
  does[row.dataset.names.split(" ")[0]]?.();
  return true;
}
