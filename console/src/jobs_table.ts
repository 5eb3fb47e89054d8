// The jobs table: changes from the engine, search, filter, sort, and the selection for actions.
import { announce } from "./dialogs";
import { keepingFocus } from "./focus";
import { listen } from "./live";
import { loadPage } from "./refresh";
import { showTimes, sinceElement } from "./times";

type Cell = [text: string, value: number | null, warns: boolean];
interface Changes {
  rows: Record<string, string>;
  cells: Record<string, Record<string, Cell> & { spark: string }>;
  gone: string[];
  all: boolean; // the engine does not know what the page has
}
const DROPPED = "DROPPED";
type Order = { key: string; descending: boolean };

const MOVING = ["uptime", "rate", "lag", "commit", "batch", "state", "restarts"];
// Cells whose value is a time, of which the page shows how long ago it was.
const TIMES: Record<string, string> = { uptime: "", commit: "ago" };
// A browser keeps the choices of a page in its address, so that they survive a reload and can be shared.
const PARAMETERS = { search: "q", filter: "status", sort: "sort" };

export function startJobsTable(form: HTMLFormElement): void {
  const table = new JobsTable(form);
  const version = form.dataset.version ?? "";
  listen((lastId) => `${form.dataset.events}?after=${encodeURIComponent(lastId || version)}`, {
    jobs: (data) => table.apply(JSON.parse(data) as Changes),
  });
}

class JobsTable {
  private readonly body: HTMLTableSectionElement;
  private readonly search: HTMLInputElement;
  private readonly filter: HTMLSelectElement;
  private readonly all: HTMLInputElement;
  private order: Order = { key: "", descending: false };

  constructor(private readonly form: HTMLFormElement) {
    this.body = form.querySelector("[data-rows]")!;
    this.search = form.querySelector("[data-search]")!;
    this.filter = form.querySelector("[data-filter]")!;
    this.all = form.querySelector("[data-select-all]")!;
    this.readAddress();
    this.search.addEventListener("input", () => this.arrange());
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault();
    });
    this.filter.addEventListener("change", () => this.arrange());
    form.querySelector("[data-clear]")!.addEventListener("click", () => this.showAll());
    for (const button of form.querySelectorAll<HTMLButtonElement>("[data-sort]")) {
      button.addEventListener("click", () => this.sortBy(button.dataset.sort!));
    }
    this.all.addEventListener("change", () => this.selectAll(this.all.checked));
    this.body.addEventListener("change", () => this.showSelection());
    document.addEventListener("keydown", (event) => {
      // With a modifier: speech input types single letters, and WCAG (2.1.4) wants those to be switched off.
      if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.search.focus();
      }
    });
    this.arrange();
    // The next frame draws the first screen, and the one after it all rows.
    requestAnimationFrame(() => requestAnimationFrame(() => (this.body.dataset.drawn = "")));
  }

  apply(changes: Changes): void {
    if (changes.all) void this.reload();
    for (const [id, html] of Object.entries(changes.rows)) this.replaceRow(id, html);
    for (const [id, cells] of Object.entries(changes.cells)) this.move(id, cells);
    for (const id of changes.gone) this.row(id)?.remove();
    this.arrange();
  }

  /** Replace all rows: another engine leads, or this one has started again, and jobs have ended meanwhile. */
  private async reload(): Promise<void> {
    const page = await loadPage();
    const rows = page?.querySelector<HTMLTableSectionElement>("[data-rows]")?.rows;
    if (rows === undefined) return;
    const kept = new Set([...rows].map((row) => row.id));
    for (const row of [...this.body.rows].filter((each) => !kept.has(each.id))) row.remove();
    for (const row of [...rows].reverse()) this.replaceRow(row.dataset.job!, row.outerHTML);
    this.arrange();
  }

  private row(id: string): HTMLTableRowElement | null {
    return document.getElementById(`job-${id}`) as HTMLTableRowElement | null;
  }

  private replaceRow(id: string, html: string): void {
    const template = document.createElement("template");
    template.innerHTML = html;
    const row = template.content.querySelector("tr")!;
    showTimes(row);
    const before = this.row(id);
    if (before === null) {
      this.body.prepend(row);
      return;
    }
    const box = boxOf(row);
    box.checked = boxOf(before).checked && !box.disabled;
    if (before.dataset.status !== row.dataset.status) announceStatus(row);
    keepingFocus(before, () => {
      before.replaceWith(row);
      return row;
    });
  }

  private move(id: string, cells: Changes["cells"][string]): void {
    const row = this.row(id);
    if (row === null) return;
    for (const name of MOVING) {
      const cell = row.querySelector<HTMLElement>(`[data-cell="${name}"]`)!;
      const [text, value, warns] = cells[name]!;
      const place = cell.querySelector(".text")!;
      const before = cell.dataset.value;
      cell.dataset.value = value === null ? "" : String(value);
      const suffix = TIMES[name];
      if (suffix === undefined) place.textContent = text;
      else if (before !== cell.dataset.value) place.replaceChildren(...(value === null ? [] : [sinceElement(value, suffix)]));
      cell.classList.toggle("warns", warns);
    }
    row.querySelector("polyline")!.setAttribute("points", cells.spark);
  }

  private sortBy(key: string): void {
    const again = this.order.key === key;
    this.order = { key, descending: again ? !this.order.descending : MOVING.includes(key) && !(key in TIMES) };
    this.arrange();
  }

  private selectAll(checked: boolean): void {
    for (const row of this.body.rows) {
      const box = boxOf(row);
      if (!row.hidden && !box.disabled) box.checked = checked;
    }
    this.showSelection();
  }

  private showAll(): void {
    this.search.value = "";
    this.filter.value = "all";
    this.arrange();
    this.search.focus();
  }

  /** Show the rows that match, in their order. */
  private arrange(): void {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of this.body.rows) {
      const text = `${row.dataset.name} ${row.querySelector(".last-error")?.textContent ?? ""}`.toLowerCase();
      const matches = words.every((word) => text.includes(word)) && this.passesFilter(row);
      row.hidden = !matches;
      // An action must never reach a job that is not shown.
      if (!matches) boxOf(row).checked = false;
      shown += Number(matches);
    }
    this.sort();
    const hidesDropped = this.filter.value === "";
    const total = [...this.body.rows].filter((row) => !hidesDropped || row.dataset.status !== DROPPED).length;
    const counted = `${total} job${total === 1 ? "" : "s"}`;
    this.form.querySelector("[data-count]")!.textContent = shown === total ? counted : `${shown} of ${counted}`;
    const isEmpty = this.body.rows.length === 0;
    this.form.querySelector<HTMLElement>("[data-empty]")!.hidden = !isEmpty;
    this.form.querySelector<HTMLElement>("[data-no-match]")!.hidden = isEmpty || shown > 0;
    this.showSelection();
    this.writeAddress();
  }

  private passesFilter(row: HTMLTableRowElement): boolean {
    const wanted = this.filter.value;
    if (wanted === "live") return row.dataset.live === "true";
    if (wanted === "trouble") return row.dataset.trouble === "true";
    if (wanted === "") return row.dataset.status !== DROPPED;
    return wanted === "all" || row.dataset.status === wanted;
  }

  private sort(): void {
    for (const button of this.form.querySelectorAll<HTMLButtonElement>("[data-sort]")) {
      const direction = this.order.descending ? "descending" : "ascending";
      if (button.dataset.sort === this.order.key) button.closest("th")!.setAttribute("aria-sort", direction);
      else button.closest("th")!.removeAttribute("aria-sort");
    }
    if (this.order.key === "") return;
    const rows = [...this.body.rows];
    const sorted = [...rows].sort((one, other) => compare(one, other, this.order));
    if (sorted.every((row, index) => row === rows[index])) return;
    // Moving a row takes the focus from it, so it is put back.
    const focused = document.activeElement;
    this.body.append(...sorted);
    if (focused instanceof HTMLElement && focused !== document.activeElement && this.body.contains(focused)) focused.focus();
  }

  private showSelection(): void {
    const boxes = [...this.body.rows].filter((row) => !row.hidden).map(boxOf).filter((box) => !box.disabled);
    const selected = boxes.filter((box) => box.checked).length;
    this.all.checked = boxes.length > 0 && selected === boxes.length;
    this.all.indeterminate = selected > 0 && selected < boxes.length;
    for (const button of this.form.querySelectorAll<HTMLButtonElement>("[data-bulk]")) button.disabled = selected === 0;
  }

  private readAddress(): void {
    const parameters = new URLSearchParams(location.search);
    this.search.value = parameters.get(PARAMETERS.search) ?? "";
    this.filter.value = parameters.get(PARAMETERS.filter) ?? "";
    if (this.filter.selectedIndex < 0) this.filter.value = "";
    const sort = parameters.get(PARAMETERS.sort) ?? "";
    this.order = { key: sort.replace(/^-/, ""), descending: sort.startsWith("-") };
  }

  private writeAddress(): void {
    const parameters = new URLSearchParams();
    if (this.search.value) parameters.set(PARAMETERS.search, this.search.value);
    if (this.filter.value) parameters.set(PARAMETERS.filter, this.filter.value);
    if (this.order.key) parameters.set(PARAMETERS.sort, (this.order.descending ? "-" : "") + this.order.key);
    const query = parameters.toString();
    const address = location.pathname + (query ? `?${query}` : "");
    if (address !== location.pathname + location.search) history.replaceState(null, "", address);
  }
}

function boxOf(row: HTMLTableRowElement): HTMLInputElement {
  return row.querySelector<HTMLInputElement>("input[type=checkbox]")!;
}

function announceStatus(row: HTMLTableRowElement): void {
  announce(`${row.dataset.name}: ${row.querySelector(".status")?.textContent?.trim()}`);
}

function compare(one: HTMLTableRowElement, other: HTMLTableRowElement, order: Order): number {
  const direction = order.descending ? -1 : 1;
  if (!MOVING.includes(order.key)) {
    const first = one.dataset[order.key] ?? "";
    const second = other.dataset[order.key] ?? "";
    return direction * first.localeCompare(second) || (one.dataset.job! < other.dataset.job! ? 1 : -1);
  }
  const first = valueOf(one, order.key);
  const second = valueOf(other, order.key);
  // Jobs without a value are last in both directions.
  if (first === null || second === null) return Number(first === null) - Number(second === null);
  return direction * (first - second);
}

function valueOf(row: HTMLTableRowElement, name: string): number | null {
  const text = row.querySelector<HTMLElement>(`[data-cell="${name}"]`)?.dataset.value;
  return text ? Number(text) : null;
}
