// The page of a job: its parts are fetched again when it has changed, and its graph and plots move with each batch.
import { listen } from "./live";
import { announce, dialog } from "./dialogs";
import { load, loadPage, replaceSections } from "./refresh";
import { Plots, type Change, type Measures } from "./plots";

interface Numbers {
  measures: Measures;
  graph?: string;
}

async function start(root: HTMLElement): Promise<void> {
  const measures = await load(root.dataset.measures!);
  const plots = new Plots(
    root.querySelector("[data-plots]")!,
    root.querySelector("[data-no-measures]")!,
    root.querySelector("[data-plot-values]")!,
  );
  startPlotButtons(root, plots);
  plots.add(measures === undefined ? { time: [] } : ((await measures.json()) as Measures));
  const address = (): string => {
    const parameters = new URLSearchParams({ state: root.dataset.state!, after: String(plots.newest) });
    return `${root.dataset.events}?${parameters}`;
  };
  listen(address, {
    changed: () => void refresh(root),
    numbers: (data) => {
      const numbers = JSON.parse(data) as Numbers;
      plots.add(numbers.measures);
      if (numbers.graph) root.querySelector("[data-graph]")!.innerHTML = numbers.graph;
    },
  });
  // The user has closed the outcome of an action; snapshots change nothing of the job that an event would report.
  dialog().addEventListener("close", () => void refresh(root));
}

/** Start the buttons that choose the time of the plots. */
function startPlotButtons(root: HTMLElement, plots: Plots): void {
  const ranges = [...root.querySelectorAll<HTMLButtonElement>("[data-range]")];
  for (const button of ranges) button.addEventListener("click", () => plots.show(Number(button.dataset.range)));
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-zoom]")) {
    button.addEventListener("click", () => plots.change(button.dataset.zoom as Change));
  }
  plots.onRange = (range) => {
    for (const button of ranges) button.setAttribute("aria-pressed", String(Number(button.dataset.range) === range));
  };
}

/** Fetch the page, and replace the parts that have changed. */
async function refresh(root: HTMLElement): Promise<void> {
  const page = await loadPage();
  if (page === undefined || dialog().open) return;
  const status = root.querySelector(".status")?.textContent;
  root.dataset.state = page.querySelector<HTMLElement>("#job")?.dataset.state ?? "";
  replaceSections(root, page);
  const now = root.querySelector(".status")?.textContent;
  if (now !== status) announce(`The job is ${now?.trim().toLowerCase()}.`);
}

const root = document.querySelector<HTMLElement>("#job");
if (root !== null) void start(root);
