// Pages whose sections are fetched again when a job has changed, after an action, and every few seconds.
import { dialog } from "./dialogs";
import { listen } from "./live";
import { loadPage, replaceSections } from "./refresh";

const EVERY_MS = 5000;
const LEAST_MS = 1000;

interface Changes {
  rows: Record<string, string>;
  gone: string[];
}

export function startLiveSections(root: HTMLElement): void {
  let refreshed = performance.now();
  let isWaiting = false;

  const refresh = async (): Promise<void> => {
    isWaiting = false;
    refreshed = performance.now();
    const page = await loadPage();
    if (page !== undefined) replaceSections(root, page);
  };

  /** Refresh the page soon: many jobs can change together. */
  const refreshSoon = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    window.setTimeout(() => void refresh(), Math.max(0, refreshed + LEAST_MS - performance.now()));
  };

  listen((lastId) => `/console/events/jobs?after=${encodeURIComponent(lastId || root.dataset.version!)}`, {
    jobs: (data) => {
      const changes = JSON.parse(data) as Changes;
      if (Object.keys(changes.rows).length > 0 || changes.gone.length > 0) refreshSoon();
    },
  });
  dialog().addEventListener("close", refreshSoon);
  window.setInterval(() => {
    if (!document.hidden && performance.now() - refreshed >= EVERY_MS) refreshSoon();
  }, LEAST_MS);
}
