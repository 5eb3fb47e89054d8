// The values of results: numbers with all their digits, and rows as files.
import type { ColumnInfo, Row } from "./grid";

/** A number as the engine wrote it: JavaScript's numbers have 53 bits, and no zeros at the end. */
class Digits {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text;
  }

  toJSON(): unknown {
    return rawJson(this.text);
  }
}

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

const LONG_NUMBER = /\d{16}/;
const SHOWN_MOST = 1000;
const texts = new WeakMap<object, string>();

/** Return the message in a line of a response. columns: those of its rows. */
export function parseLine(line: string, columns: ColumnInfo[]): unknown {
  const isExact = columns.some((column) => column.type.includes("decimal")) || LONG_NUMBER.test(line);
  return JSON.parse(line, isExact ? (keepDigits as Parameters<typeof JSON.parse>[1]) : undefined);
}

// Browsers before 2025 pass no source, and show rounded numbers.
const keepDigits: Reviver = (_, value, context) => {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return String(value) === context.source ? value : new Digits(context.source);
};

function rawJson(text: string): unknown {
  const json = JSON as unknown as { rawJSON?: (text: string) => unknown };
  return json.rawJSON?.(text) ?? Number(text);
}

/** Return the whole text of a value. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "string") return value;
  return value instanceof Digits ? value.toString() : JSON.stringify(value);
}

/** Return the text of a value as far as a cell shows it. */
export function shortText(value: unknown): string {
  if (typeof value !== "object" || value === null) return shortened(cellText(value));
  const known = texts.get(value) ?? shortened(cellText(value));
  texts.set(value, known);
  return known;
}

function shortened(text: string): string {
  return text.length > SHOWN_MOST ? `${text.slice(0, SHOWN_MOST)}…` : text;
}

/** Return the text of a value with its members in lines of their own. */
export function longText(value: unknown): string {
  const hasMembers = typeof value === "object" && value !== null && !(value instanceof Digits);
  return hasMembers ? JSON.stringify(value, null, 2) : cellText(value);
}

// A spreadsheet takes a text that begins so for a formula, and runs it. Numbers are harmless.
const FORMULA = /^(?![+-]?[\d.]+$)[=+\-@\t\r]/;

/** Return rows as CSV. Texts that a spreadsheet would run begin with an apostrophe. */
export function asCsv(columns: ColumnInfo[], rows: Row[]): string {
  const quoted = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const harmless = (text: string): string => quoted(FORMULA.test(text) ? `'${text}` : text);
  const field = (value: unknown): string => {
    if (value === null) return "";
    return typeof value === "string" ? harmless(value) : quoted(cellText(value));
  };
  const lines = rows.map((row) => row.map(field).join(","));
  return [columns.map((column) => harmless(column.name)).join(","), ...lines, ""].join("\r\n");
}

export function asJson(columns: ColumnInfo[], rows: Row[]): string {
  const names = distinct(columns.map((column) => column.name));
  return JSON.stringify(rows.map((row) => Object.fromEntries(row.map((value, index) => [names[index]!, value]))));
}

/** Return names of which none is there twice: a second `id` becomes `id_2`, as in the shell. */
function distinct(names: string[]): string[] {
  const seen = new Set<string>();
  return names.map((name) => {
    let candidate = name;
    for (let number = 2; seen.has(candidate) || (candidate !== name && names.includes(candidate)); number += 1) {
      candidate = `${name}_${number}`;
    }
    seen.add(candidate);
    return candidate;
  });
}
