// Choose light or dark before the page is drawn: what the user chose here, otherwise what the system says (see the CSS).
const KEY = "jetsql.theme";

function apply(theme: string | null): void {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

apply(localStorage.getItem(KEY));

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element) || event.target.closest("[data-theme-toggle]") === null) return;
  const chosen = document.documentElement.dataset.theme;
  const isDark = chosen === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
  const next = isDark ? "light" : "dark";
  localStorage.setItem(KEY, next);
  apply(next);
  document.dispatchEvent(new CustomEvent("themechange"));
});
