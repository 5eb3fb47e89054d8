// The plots of a job: one time axis and one crosshair for all. Dragging zooms, a double click shows the range again;
// so do buttons and keys. Without a crosshair, the legends have the newest values.
import uPlot from "uplot";

export type Column = (number | null)[];
export type Measures = Record<string, Column> & { time: Column };

interface Line {
  column: string;
  label: string;
  colour: number; // an index of COLOURS
}
interface Plan {
  title: string;
  lines: Line[];
  format: (value: number) => string;
}

// The custom properties of the colours, which differ in light and dark.
const COLOURS = ["--plot-1", "--plot-2", "--plot-3", "--plot-4", "--plot-5", "--plot-6", "--plot-7"];
const HEIGHT = 170;
const SPAN_LEAST = 5; // seconds

const scaled = (value: number, base: number, units: string[]): string => {
  let power = 0;
  while (Math.abs(value) >= base && power < units.length - 1) {
    value /= base;
    power += 1;
  }
  return `${Number(value.toPrecision(3))}${units[power]}`;
};
const count = (value: number): string => scaled(value, 1000, ["", "k", "M", "G", "T"]);
const bytes = (value: number): string => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
const seconds = (value: number): string => {
  if (value === 0) return "0 s";
  if (Math.abs(value) < 1) return `${Number((value * 1000).toPrecision(3))} ms`;
  return Math.abs(value) < 120 ? `${Number(value.toPrecision(3))} s` : `${Number((value / 60).toPrecision(3))} min`;
};

const PLANS: Plan[] = [
  {
    title: "Rows per second",
    format: count,
    lines: [
      { column: "input_rate", label: "read", colour: 0 },
      { column: "output_rate", label: "written", colour: 1 },
    ],
  },
  {
    title: "Batch duration by phase",
    format: seconds,
    lines: [
      { column: "trigger", label: "whole batch", colour: 0 },
      { column: "add_batch", label: "query and sink", colour: 1 },
      { column: "query_planning", label: "planning", colour: 2 },
      { column: "latest_offset", label: "newest offsets", colour: 3 },
      { column: "get_batch", label: "sources", colour: 4 },
      { column: "wal_commit", label: "log of offsets", colour: 5 },
      { column: "commit_offsets", label: "commit", colour: 6 },
    ],
  },
  { title: "Lag in rows", format: count, lines: [{ column: "lag_rows", label: "rows", colour: 0 }] },
  { title: "Lag in time", format: seconds, lines: [{ column: "lag_seconds", label: "waiting", colour: 0 }] },
  { title: "Watermark delay", format: seconds, lines: [{ column: "watermark_delay", label: "delay", colour: 0 }] },
  { title: "Rows in the state", format: count, lines: [{ column: "state_rows", label: "rows", colour: 0 }] },
  { title: "Memory of the state", format: bytes, lines: [{ column: "state_bytes", label: "memory", colour: 0 }] },
  { title: "Late rows per batch", format: count, lines: [{ column: "late_rows", label: "dropped", colour: 0 }] },
];

const clock = (time: number): string => new Date(time * 1000).toLocaleTimeString();

/** Return a colour of the styles as a canvas takes it, for light or dark. */
export function resolved(property: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

export type Change = "in" | "out" | "earlier" | "later";

export class Plots {
  /** Called with the range that is shown up to now; with 0 after a zoom. */
  onRange: (range: number) => void = () => {};
  private measures: Measures = { time: [] };
  private plots: uPlot[] = [];
  private range = 300;
  private zoomed: { min: number; max: number } | undefined;
  private crosshair = -1; // the index of a measure; -1 for none

  constructor(
    private readonly place: HTMLElement,
    private readonly empty: HTMLElement,
    private readonly spoken: HTMLElement,
  ) {
    place.addEventListener("keydown", (event) => this.key(event));
    place.addEventListener("focusout", () => this.moveCrosshair(-1));
    document.addEventListener("themechange", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.resize()).observe(place);
    window.setInterval(() => this.follow(), 1000);
  }

  /** The time of the newest batch, in seconds. */
  get newest(): number {
    return this.measures.time.at(-1) ?? 0;
  }

  add(more: Measures): void {
    const before = this.shownPlans().length;
    for (const [name, values] of Object.entries(more)) (this.measures[name] ??= []).push(...values);
    this.empty.hidden = this.measures.time.length > 0;
    if (this.shownPlans().length !== before || this.plots.length === 0) this.draw();
    else this.update();
  }

  show(range: number): void {
    this.range = range;
    this.zoomed = undefined;
    this.onRange(range);
    this.follow();
  }

  /** Zoom, or move the time that is shown. */
  change(change: Change): void {
    const now = Date.now() / 1000;
    const { min, max } = this.zoomed ?? { min: now - this.range, max: now };
    const span = max - min;
    if (change === "in") this.zoomTo(min + span / 4, max - span / 4);
    else if (change === "out") this.zoomTo(min - span / 2, max + span / 2);
    else this.zoomTo(min + (change === "later" ? span / 2 : -span / 2), max + (change === "later" ? span / 2 : -span / 2));
  }

  /** A plot without any value is left out. */
  private shownPlans(): Plan[] {
    return PLANS.filter((plan) => plan.lines.some((line) => this.measures[line.column]?.some((value) => value !== null)));
  }

  private data(plan: Plan): uPlot.AlignedData {
    const columns = plan.lines.map((line) => this.measures[line.column] ?? []);
    return [this.measures.time as number[], ...columns];
  }

  private draw(): void {
    for (const plot of this.plots) plot.destroy();
    this.place.replaceChildren();
    this.plots = this.shownPlans().map((plan) => this.plot(plan));
    this.follow();
  }

  private update(): void {
    this.shownPlans().forEach((plan, index) => this.plots[index]!.setData(this.data(plan), false));
    this.follow();
  }

  /** Show the newest part, unless the user has zoomed. */
  private follow(): void {
    const now = Date.now() / 1000;
    const shown = this.zoomed ?? { min: now - this.range, max: now };
    for (const plot of this.plots) plot.setScale("x", shown);
    if (this.crosshair >= 0) this.moveCrosshair(this.crosshair);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const changes: Record<string, Change> = { "+": "in", "=": "in", "-": "out", PageUp: "earlier", PageDown: "later" };
    const change = changes[event.key];
    if (change !== undefined) this.change(change);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.stepCrosshair(event.key === "ArrowLeft" ? -1 : 1);
    else if (event.key === "Escape") this.moveCrosshair(-1);
    else if (event.key === "0") this.show(this.range);
    else return;
    event.preventDefault();
  }

  /** Move the crosshair to the next measure that is shown, in one direction, and say its values. */
  private stepCrosshair(step: number): void {
    const scale = this.plots[0]?.scales.x;
    if (scale?.min === undefined || scale.max === undefined) return;
    const { time } = this.measures;
    const first = time.findIndex((each) => each !== null && each >= scale.min!);
    const last = time.findLastIndex((each) => each !== null && each <= scale.max!);
    if (first < 0 || last < first) return;
    const from = this.crosshair < 0 ? (step < 0 ? last + 1 : first - 1) : this.crosshair;
    this.moveCrosshair(Math.min(Math.max(from + step, first), last));
    this.spoken.textContent = this.description();
  }

  private moveCrosshair(index: number): void {
    if (index < 0 && this.crosshair < 0) return;
    this.crosshair = index;
    for (const plot of this.plots) {
      const left = index < 0 ? -10 : plot.valToPos(this.measures.time[index]!, "x");
      plot.setCursor({ left, top: index < 0 ? -10 : 0 });
    }
  }

  /** Return the values at the crosshair as a text. */
  private description(): string {
    const index = this.crosshair;
    const values = this.shownPlans().flatMap((plan) =>
      plan.lines.map((line) => {
        const value = this.measures[line.column]?.[index] ?? null;
        return value === null ? "" : `${plan.title}, ${line.label}: ${plan.format(value)}`;
      }),
    );
    return [clock(this.measures.time[index]!), ...values.filter(Boolean)].join("; ");
  }

  private resize(): void {
    for (const plot of this.plots) plot.setSize({ width: this.width(), height: HEIGHT });
  }

  private width(): number {
    const card = this.place.querySelector(".plot");
    return Math.max((card?.clientWidth ?? this.place.clientWidth) - 16, 200);
  }

  private plot(plan: Plan): uPlot {
    const card = document.createElement("figure");
    card.className = "plot";
    const title = document.createElement("figcaption");
    title.textContent = plan.title;
    card.append(title);
    this.place.append(card);
    const axis = { stroke: resolved("--soft"), grid: { stroke: resolved("--plot-grid"), width: 1 } };
    const lines = plan.lines.map((line) => ({
      label: line.label,
      stroke: resolved(COLOURS[line.colour]!),
      width: 1.5,
      spanGaps: true,
      value: (_: uPlot, value: number | null) => (value === null ? "–" : plan.format(value)),
    }));
    const newest = (shown: uPlot): void => {
      if (shown.cursor.idx == null && shown.data[0].length > 0) shown.setLegend({ idx: shown.data[0].length - 1 }, false);
    };
    const plot: uPlot = new uPlot(
      {
        width: this.width(),
        height: HEIGHT,
        cursor: { sync: { key: "job", scales: ["x", null] }, drag: { setScale: false, x: true, y: false } },
        scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
        axes: [axis, { ...axis, size: 76, values: (_, values) => values.map((value) => plan.format(value)) }],
        series: [{ value: (_, time) => (time === null ? "–" : clock(time)) }, ...lines],
        hooks: { setSelect: [(from) => this.zoom(from)], setLegend: [newest] },
      },
      this.data(plan),
      card,
    );
    plot.over.addEventListener("dblclick", () => this.show(this.range));
    return plot;
  }

  private zoom(from: uPlot): void {
    if (from.select.width < 4) return;
    const min = from.posToVal(from.select.left, "x");
    const max = from.posToVal(from.select.left + from.select.width, "x");
    this.zoomTo(min, max);
    from.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  }

  private zoomTo(min: number, max: number): void {
    const centre = (min + max) / 2;
    const half = Math.max(max - min, SPAN_LEAST) / 2;
    this.zoomed = { min: centre - half, max: centre + half };
    this.onRange(0);
    this.follow();
  }
}
