// Load the page again, to replace parts of it. This prolongs no session.
import { dialog } from "./dialogs";
import { keepingFocus } from "./focus";
import { showTimes } from "./times";

/** Load something for the page; undefined without a user, and without an engine, which the connection reports. */
export async function load(url: string): Promise<Response | undefined> {
  try {
    const response = await fetch(url, { headers: { accept: "text/html", "x-jetsql-refresh": "true" } });
    return response.ok && !response.redirected ? response : undefined;
  } catch {
    return undefined;
  }
}

/** Load this page as the engine has it now; undefined as for `load`. */
export async function loadPage(): Promise<Document | undefined> {
  const response = await load(location.href);
  if (response === undefined) return undefined;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  showTimes(page);
  return page;
}

/**
 * Replace the sections of the page that differ from those of another page, unless a dialog is open: it returns to the
 * button that opened it, and its end refreshes the page.
 */
export function replaceSections(root: HTMLElement, page: Document): void {
  if (dialog().open) return;
  for (const part of page.querySelectorAll<HTMLElement>("[data-section]")) {
    const shown = root.querySelector<HTMLElement>(`[data-section="${part.dataset.section}"]`);
    if (shown === null || shown.innerHTML === part.innerHTML || shown.querySelector("input:focus")) continue;
    keepingFocus(shown, () => {
      shown.innerHTML = part.innerHTML;
      return shown;
    });
    window.htmx.process(shown);
  }
}
