// A table of which only the visible cells are in the page: 100,000 rows, or 1,000 columns, scroll as smoothly as ten.
import { copyText } from "./copying";
import { showInDialog } from "./dialogs";
import { cellText, longText, shortText } from "./values";

export type Row = unknown[];
export interface ColumnInfo {
  name: string;
  type: string;
}

const ROW_HEIGHT = 28;
const MARGIN_ROWS = 10;
const MARGIN_PIXELS = 200;
// A browser limits the height of an element; above it, the scroll bar stands for more rows per pixel.
const HEIGHT_MOST = 8_000_000;
const SAMPLED_ROWS = 200;
const NUMERIC = /^(tinyint|smallint|int|bigint|float|double|decimal)/;

export class Grid {
  private readonly root = document.createElement("div");
  private readonly head = document.createElement("div");
  private readonly canvas = document.createElement("div");
  private readonly body = document.createElement("div");
  private columns: ColumnInfo[] = [];
  private rows: Row[] = [];
  private widths: number[] = [];
  private measuredRows = 0;
  private active: [row: number, column: number] = [0, 0];
  private pending = 0;
  private template = ""; // of the columns, as it is drawn
  private edges: number[] = []; // the left edge of each column, and the right one of the last, in pixels

  constructor(place: HTMLElement, label: string) {
    this.root.className = "grid";
    this.root.tabIndex = 0;
    this.root.setAttribute("role", "grid");
    this.root.setAttribute("aria-label", label);
    this.head.className = "grid-head";
    this.head.setAttribute("role", "row");
    this.head.setAttribute("aria-rowindex", "1");
    this.canvas.className = "grid-canvas";
    this.canvas.setAttribute("role", "rowgroup");
    this.body.className = "grid-body";
    this.body.setAttribute("role", "presentation");
    this.canvas.append(this.body);
    const headGroup = document.createElement("div");
    headGroup.className = "grid-head-group";
    headGroup.setAttribute("role", "rowgroup");
    headGroup.append(this.head);
    this.root.append(headGroup, this.canvas);
    place.append(this.root);
    this.root.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.click(event));
    this.body.addEventListener("dblclick", () => this.open());
    new ResizeObserver(() => this.schedule()).observe(this.root);
  }

  setColumns(columns: ColumnInfo[]): void {
    this.columns = columns;
    this.widths = columns.map((column) => column.name.length + 2);
    this.measuredRows = 0;
    this.root.setAttribute("aria-colcount", String(columns.length));
    this.schedule();
  }

  /** Show rows. The array may grow later: call it again then. */
  setRows(rows: Row[]): void {
    this.rows = rows;
    if (rows.length < this.measuredRows) this.measuredRows = 0;
    this.root.setAttribute("aria-rowcount", String(rows.length + 1));
    this.active[0] = Math.min(this.active[0], Math.max(rows.length - 1, 0));
    this.schedule();
  }

  scrollToEnd(): void {
    this.root.scrollTop = this.root.scrollHeight;
  }

  private schedule(): void {
    if (this.pending === 0) this.pending = requestAnimationFrame(() => ((this.pending = 0), this.draw()));
  }

  private measure(): void {
    const until = Math.min(this.rows.length, SAMPLED_ROWS);
    for (; this.measuredRows < until; this.measuredRows += 1) {
      const row = this.rows[this.measuredRows]!;
      row.forEach((value, index) => (this.widths[index] = Math.max(this.widths[index]!, shortText(value).length)));
    }
  }

  private get height(): number {
    return this.rows.length * ROW_HEIGHT;
  }

  private get scale(): number {
    const most = HEIGHT_MOST;
    const view = this.root.clientHeight;
    return this.height > most ? (this.height - view) / (most - view) : 1;
  }

  private draw(): void {
    this.measure();
    this.drawHead();
    this.canvas.style.height = `${Math.min(this.height, HEIGHT_MOST)}px`;
    this.canvas.style.minWidth = `${this.head.scrollWidth}px`;
    const top = Math.max(this.root.scrollTop, 0);
    const first = Math.max(Math.floor((top * this.scale) / ROW_HEIGHT) - MARGIN_ROWS, 0);
    const last = Math.min(first + Math.ceil(this.root.clientHeight / ROW_HEIGHT) + 2 * MARGIN_ROWS, this.rows.length);
    const offset = this.scale === 1 ? first * ROW_HEIGHT : Math.max(top - (top * this.scale - first * ROW_HEIGHT), 0);
    this.body.style.transform = `translateY(${offset}px)`;
    const [from, to] = this.visibleColumns();
    const drawn: HTMLElement[] = [];
    for (let index = first; index < last; index += 1) drawn.push(this.row(index, from, to));
    this.body.replaceChildren(...drawn);
    const active = this.body.querySelector(".active");
    if (active === null) this.root.removeAttribute("aria-activedescendant");
    else this.root.setAttribute("aria-activedescendant", active.id);
  }

  /** Draw the names of the columns when they, or their widths, have changed. */
  private drawHead(): void {
    const template = this.widths.map((width) => `${Math.min(Math.max(width, 4), 48) + 2}ch`).join(" ");
    if (template === this.template && this.head.childElementCount === this.columns.length) return;
    this.template = template;
    this.head.style.gridTemplateColumns = template;
    this.head.replaceChildren(...this.columns.map((column, index) => this.headCell(column, index)));
    const cells = [...this.head.children] as HTMLElement[];
    const last = cells.at(-1);
    this.edges = [...cells.map((cell) => cell.offsetLeft), last === undefined ? 0 : last.offsetLeft + last.offsetWidth];
  }

  /** Return the first visible column, and the one after the last. */
  private visibleColumns(): [from: number, to: number] {
    const left = this.root.scrollLeft - MARGIN_PIXELS;
    const right = this.root.scrollLeft + this.root.clientWidth + MARGIN_PIXELS;
    const from = this.columns.findIndex((_, index) => this.edges[index + 1]! > left);
    const to = this.columns.findIndex((_, index) => this.edges[index]! >= right);
    return [Math.max(from, 0), to < 0 ? this.columns.length : to];
  }

  private headCell(column: ColumnInfo, index: number): HTMLElement {
    const cell = document.createElement("div");
    cell.setAttribute("role", "columnheader");
    cell.setAttribute("aria-colindex", String(index + 1));
    cell.className = NUMERIC.test(column.type) ? "cell number" : "cell";
    cell.textContent = column.name;
    cell.title = `${column.name}: ${column.type}`;
    return cell;
  }

  private row(index: number, from: number, to: number): HTMLElement {
    const row = document.createElement("div");
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", String(index + 2));
    row.className = "grid-row";
    row.style.gridTemplateColumns = this.template;
    const values = this.rows[index]!;
    for (let at = from; at < to; at += 1) {
      const value = values[at];
      const cell = document.createElement("div");
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-colindex", String(at + 1));
      cell.style.gridColumn = String(at + 1);
      cell.id = `${this.id}-${index}-${at}`;
      cell.className = "cell";
      if (NUMERIC.test(this.columns[at]?.type ?? "")) cell.classList.add("number");
      if (value === null) cell.classList.add("null");
      if (index === this.active[0] && at === this.active[1]) cell.classList.add("active");
      cell.dataset.row = String(index);
      cell.dataset.column = String(at);
      cell.textContent = shortText(value);
      row.append(cell);
    }
    return row;
  }

  private readonly id = `grid-${Math.random().toString(36).slice(2)}`;

  private click(event: MouseEvent): void {
    const cell = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>(".cell") : null;
    if (cell === null) return;
    this.active = [Number(cell.dataset.row), Number(cell.dataset.column)];
    this.schedule();
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(Math.floor(this.root.clientHeight / ROW_HEIGHT) - 2, 1);
    const moves: Record<string, [number, number]> = {
      ArrowDown: [1, 0],
      ArrowUp: [-1, 0],
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
      PageDown: [page, 0],
      PageUp: [-page, 0],
      End: event.ctrlKey ? [this.rows.length, 0] : [0, this.columns.length],
      Home: event.ctrlKey ? [-this.rows.length, 0] : [0, -this.columns.length],
    };
    const move = moves[event.key];
    if (move !== undefined) {
      event.preventDefault();
      this.active = [
        Math.min(Math.max(this.active[0] + move[0], 0), Math.max(this.rows.length - 1, 0)),
        Math.min(Math.max(this.active[1] + move[1], 0), Math.max(this.columns.length - 1, 0)),
      ];
      this.reveal();
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.open();
    } else if (event.key === "c" && (event.ctrlKey || event.metaKey) && !getSelection()?.toString()) {
      copyText(cellText(this.rows[this.active[0]]?.[this.active[1]]));
    }
  }

  private reveal(): void {
    const top = (this.active[0] * ROW_HEIGHT) / this.scale;
    const visible = this.root.clientHeight - 2 * ROW_HEIGHT;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top > this.root.scrollTop + visible) this.root.scrollTop = top - visible;
    const [left, right] = [this.edges[this.active[1]]!, this.edges[this.active[1] + 1]!];
    if (left < this.root.scrollLeft) this.root.scrollLeft = left;
    else if (right > this.root.scrollLeft + this.root.clientWidth) this.root.scrollLeft = right - this.root.clientWidth;
    this.draw();
  }

  /** Show the whole value of the active cell. */
  private open(): void {
    const [row, column] = this.active;
    const info = this.columns[column];
    if (info === undefined || this.rows[row] === undefined) return;
    const value = document.createElement("pre");
    value.className = "code value";
    value.tabIndex = 0;
    value.textContent = longText(this.rows[row][column]);
    showInDialog(`${info.name}, row ${row + 1}`, value);
  }
}
