// A chart of a result: one column on the x axis, numbers as lines or bars.
import uPlot from "uplot";
import type { ColumnInfo, Row } from "./grid";
import { resolved } from "./plots";

const NUMERIC = /^(tinyint|smallint|int|bigint|float|double|decimal)/;
const TIME = /^(timestamp|date)/;
const COLOURS = ["--plot-1", "--plot-2", "--plot-3", "--plot-4", "--plot-5", "--plot-6", "--plot-7"];
const POINTS_MOST = 5000;

export function canChart(columns: ColumnInfo[], rows: Row[]): boolean {
  return rows.length > 0 && columns.some((column) => NUMERIC.test(column.type));
}

export function drawChart(place: HTMLElement, columns: ColumnInfo[], rows: Row[], kind: "line" | "bar"): void {
  place.replaceChildren();
  const shown = rows.slice(0, POINTS_MOST);
  const time = columns.findIndex((column) => TIME.test(column.type));
  const words = columns.findIndex((column) => !NUMERIC.test(column.type) && !TIME.test(column.type));
  const numbers = columns.map((_, index) => index).filter((index) => NUMERIC.test(columns[index]!.type));
  // Without times and words, the first number is the x axis, if another one is left.
  const first = time >= 0 ? time : words >= 0 ? -1 : numbers.length > 1 ? numbers[0]! : -1;
  const lines = numbers.filter((index) => index !== first).slice(0, COLOURS.length);
  const x = shown.map((row, index) => xValue(row[first], index, time >= 0));
  const order = x.map((_, index) => index).sort((one, other) => x[one]! - x[other]!);
  const data = [
    order.map((index) => x[index]!),
    ...lines.map((line) => order.map((index) => (shown[index]![line] === null ? null : Number(shown[index]![line])))),
  ] as uPlot.AlignedData;
  const axis = { stroke: resolved("--soft"), grid: { stroke: resolved("--plot-grid"), width: 1 } };
  const label = (index: number): string => (words >= 0 && shown[index] ? String(shown[index][words]) : String(index + 1));
  const names = { ...axis, values: (_: uPlot, values: number[]) => values.map((value) => (Number.isInteger(value) ? label(value) : "")) };
  const bars = kind === "bar" ? { paths: uPlot.paths.bars!({ size: [0.7, 60] }), points: { show: false } } : {};
  new uPlot(
    {
      width: Math.max(place.clientWidth - 8, 240),
      height: 280,
      scales: { x: { time: time >= 0 } },
      axes: [first === -1 ? names : axis, { ...axis, size: 70 }],
      series: [
        { label: first === -1 ? (columns[words]?.name ?? "row") : columns[first]!.name },
        ...lines.map((line, index) => ({
          label: columns[line]!.name,
          stroke: resolved(COLOURS[index]!),
          fill: kind === "bar" ? resolved(COLOURS[index]!) : undefined,
          width: 1.5,
          ...bars,
        })),
      ],
    },
    data,
    place,
  );
}

function xValue(value: unknown, index: number, isTime: boolean): number {
  if (value === undefined) return index;
  // JavaScript takes a date without a time for one in UTC.
  if (isTime) return value === null ? NaN : new Date(/T/.test(String(value)) ? String(value) : `${String(value)}T00:00`).getTime() / 1000;
  return value === null ? NaN : Number(value);
}
