// The page of a job: its parts are fetched again when it has changed, and its graph and plots move with each batch.
import { showTimes } from "./times";
import { listen } from "./live";
import { announce } from "./dialogs";
import { Plots, type Measures } from "./plots";

interface Numbers {
  measures: Measures;
  graph?: string;
}

async function start(root: HTMLElement): Promise<void> {
  const response = await fetch(root.dataset.measures!);
  const plots = new Plots(root.querySelector("[data-plots]")!, root.querySelector("[data-no-measures]")!);
  plots.add(response.ok ? ((await response.json()) as Measures) : { time: [] });
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-range]")) {
    button.addEventListener("click", () => {
      plots.show(Number(button.dataset.range));
      for (const other of root.querySelectorAll("[data-range]")) other.setAttribute("aria-pressed", String(other === button));
    });
  }
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
  document.querySelector("#dialog")!.addEventListener("close", () => void refresh(root));
}

/** Fetch the page, and replace the parts that have changed. */
async function refresh(root: HTMLElement): Promise<void> {
  const response = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!response.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const status = root.querySelector(".status")?.textContent;
  showTimes(page);
  root.dataset.state = page.querySelector<HTMLElement>("#job")?.dataset.state ?? "";
  for (const part of page.querySelectorAll<HTMLElement>("[data-section]")) {
    const shown = root.querySelector<HTMLElement>(`[data-section="${part.dataset.section}"]`);
    if (shown !== null && shown.innerHTML !== part.innerHTML && !shown.querySelector("input:focus")) {
      shown.innerHTML = part.innerHTML;
      window.htmx.process(shown);
    }
  }
  const now = root.querySelector(".status")?.textContent;
  if (now !== status) announce(`The job is ${now?.trim().toLowerCase()}.`);
}

const root = document.querySelector<HTMLElement>("#job");
if (root !== null) void start(root);
