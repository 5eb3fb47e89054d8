// The page of a standby: it is loaded again when another engine leads, or this one does.
const EVERY_MS = 3_000;

export function watchLeader(shown: HTMLElement): void {
  const look = async (): Promise<void> => {
    try {
      const response = await fetch("/console/", { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const now = page.querySelector<HTMLElement>("[data-standby]");
      if (now?.dataset.standby !== shown.dataset.standby) location.reload();
    } catch {
      // The engine starts again, or is gone: the page keeps what it knows.
    }
    window.setTimeout(() => void look(), EVERY_MS);
  };
  window.setTimeout(() => void look(), EVERY_MS);
}
