// Sets the theme before the first paint. It runs in the head, so it is tiny.
(() => {
  let theme = "";
  try { theme = localStorage.getItem("coderrr-theme") || ""; } catch { /* storage is off: the system's theme */ }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();
