// Buttons that copy a statement. The clipboard is there on localhost and with TLS only, so a selection replaces it elsewhere.
import { announce } from "./dialogs";

export function startCopying(): void {
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const text = event.target.closest<HTMLElement>("[data-copy]")?.dataset.copy;
    if (text !== undefined) void copy(text);
  });
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
  } catch {
    announce(text, true);
  }
}
