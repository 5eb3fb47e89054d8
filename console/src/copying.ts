// Buttons that copy a statement. Browsers have a clipboard on localhost and with TLS; elsewhere, they copy a selection.
import { announce, dialog } from "./dialogs";

export function startCopying(): void {
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const button = event.target.closest<HTMLElement>("[data-copy]");
    if (button?.dataset.copy !== undefined) copyText(button.dataset.copy);
  });
}

export function copyText(text: string): void {
  void (async () => {
    const isCopied = (await write(text)) || copySelection(text);
    announce(isCopied ? "Copied." : "The browser has refused to copy. Select the text.");
  })();
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // there is none, or the user has refused
  }
}

function copySelection(text: string): boolean {
  const focused = document.activeElement;
  const place = document.createElement("textarea");
  place.className = "visually-hidden";
  place.value = text;
  (dialog().open ? dialog() : document.body).append(place); // behind an open dialog, nothing can be selected
  place.select();
  const isCopied = document.execCommand("copy");
  place.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
