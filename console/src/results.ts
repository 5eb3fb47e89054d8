// The results of statements: rows as they arrive, errors with their hint, charts, graphs, and files.
import { canChart, drawChart } from "./chart";
import { Grid, type ColumnInfo, type Row } from "./grid";
import { post, tryPost, type Report } from "./requests";
import { asCsv, asJson, parseLine } from "./values";

const ROWS_MOST = 100_000;
const LIVE_ROWS_MOST = 10_000;
const RESULTS_MOST = 20;
const ERROR_BYTES_MOST = 1_000_000;
const ARROW_END = [255, 255, 255, 255, 0, 0, 0, 0];

interface Line {
  columns?: ColumnInfo[];
  live?: "append" | "replace";
  rows?: Row[];
  batch?: { number: number; rows: number };
  end?: { rows: number };
  error?: Report;
}

export type Outcome = "done" | "failed" | "cancelled";

/** A statement, and the place of its result in the page. */
export class Result {
  private readonly card = document.createElement("section");
  private readonly status = document.createElement("span");
  private readonly tools = document.createElement("span");
  private readonly content = document.createElement("div");
  private readonly id = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}-console-statement`;
  private readonly abort = new AbortController();
  private grid: Grid | undefined;
  private columns: ColumnInfo[] = [];
  private rows: Row[] = [];
  private batch: Row[] = [];
  private live: Line["live"];
  private wasCancelled = false;
  private dropped = 0;

  constructor(
    place: HTMLElement,
    readonly statement: string,
    private readonly onError: (report: Report) => void,
  ) {
    this.card.className = "result";
    const head = document.createElement("div");
    head.className = "title-row";
    const title = document.createElement("code");
    title.className = "result-title";
    title.textContent = statement.replace(/\s+/g, " ").slice(0, 160);
    title.title = statement;
    this.status.className = "note";
    this.status.setAttribute("role", "status");
    this.tools.className = "actions";
    head.append(title, this.status, this.tools);
    this.card.append(head, this.content);
    place.prepend(this.card);
    while (place.children.length > RESULTS_MOST) place.lastElementChild!.remove();
  }

  async run(): Promise<Outcome> {
    const started = performance.now();
    const took = (): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;
    const clock = window.setInterval(() => this.say(`Running for ${took()}${this.rows.length ? `, ${this.count()}` : ""}`), 500);
    this.say("Running …");
    try {
      const body = { statement: this.statement, id: this.id, live: true };
      const response = await post("run", body, { signal: this.abort.signal, accept: "application/x-ndjson" });
      if (response.headers.get("x-jetsql-session") === "new") {
        this.note("The session was closed after some time without use: this is a new one, without the settings and temporary views of the last one.");
      }
      if (response.status === 401) return this.fail(loggedOut());
      const outcome = await this.read(response);
      window.clearInterval(clock);
      if (outcome === "done") this.say(this.live ? `Ended after ${took()}, ${this.count()}` : `${this.count()} in ${took()}`);
      if (outcome === "cancelled") this.say(`Cancelled after ${took()}${this.rows.length ? `, ${this.count()}` : ""}`);
      if (outcome !== "failed") this.finish();
      return outcome;
    } catch (error) {
      return this.fail(lost(error));
    } finally {
      window.clearInterval(clock);
    }
  }

  cancel(): void {
    this.wasCancelled = true;
    void tryPost("cancel", { id: this.id });
  }

  private async read(response: Response): Promise<Outcome> {
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let received = 0;
    let sent: number | undefined;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const message = parseLine(line, this.columns) as Line;
        if (message.error) return this.end(message.error);
        received += message.rows?.length ?? 0;
        sent = message.end?.rows ?? sent;
        this.take(message);
      }
    }
    // The error of a statement without rows is a response of its own.
    const last = rest ? (parseLine(rest, []) as Line) : {};
    if (last.error) return this.end(last.error);
    if (sent === undefined) return this.fail(lost("the connection ended"));
    return sent === received ? "done" : this.fail(lost(`${received} of ${sent} rows arrived`));
  }

  private end(report: Report): Outcome {
    if (this.wasCancelled && report.condition === "JETSQL.STATEMENT_CANCELLED") return "cancelled";
    return this.fail(report);
  }

  private take(message: Line): void {
    if (message.columns) {
      this.columns = message.columns;
      this.live = message.live;
    }
    if (message.rows) this.takeRows(message.rows);
    if (message.batch && this.live === "replace") {
      this.rows = this.batch;
      this.batch = [];
      this.show();
    }
  }

  private takeRows(rows: Row[]): void {
    if (this.live === "replace") {
      this.batch.push(...rows);
      return;
    }
    this.rows.push(...rows);
    if (this.live === "append" && this.rows.length > LIVE_ROWS_MOST) {
      const surplus = this.rows.length - LIVE_ROWS_MOST;
      this.rows.splice(0, surplus);
      this.dropped += surplus;
    } else if (this.live === undefined && this.rows.length >= ROWS_MOST && !this.wasCancelled) {
      this.rows.length = ROWS_MOST;
      this.note(`Only the first ${ROWS_MOST.toLocaleString()} rows are shown. Add LIMIT or WHERE, or use the command line for all of them.`);
      this.cancel();
    }
    this.show();
  }

  private show(): void {
    const explained = this.columns.length === 1 && this.columns[0]!.name === "plan" && this.rows.length === 1;
    if (explained && this.grid === undefined) {
      this.explain(String(this.rows[0]![0]));
      return;
    }
    if (this.columns.length === 0) return;
    if (this.grid === undefined) {
      this.grid = new Grid(this.content, "Rows of the result");
      this.grid.setColumns(this.columns);
    }
    this.grid.setRows(this.rows);
    if (this.live === "append") this.grid.scrollToEnd();
  }

  private explain(text: string): void {
    const plan = document.createElement("pre");
    plan.className = "code";
    plan.tabIndex = 0;
    plan.textContent = text;
    this.content.append(plan);
    void tryPost("graph", { text }, { accept: "text/html" }).then(async (response) => {
      if (response?.status !== 200) return;
      const box = document.createElement("div");
      box.className = "scroller graph-box";
      box.tabIndex = 0;
      box.innerHTML = await response.text();
      this.content.prepend(box);
    });
  }

  private finish(): void {
    if (this.columns.length > 0 && this.rows.length === 0) this.note("The result has no rows.");
    if (this.rows.length === 0) return;
    if (this.grid && canChart(this.columns, this.rows)) {
      const place = document.createElement("div");
      place.className = "chart";
      this.content.append(place);
      for (const [title, kind] of [["Line chart", "line"], ["Bar chart", "bar"]] as const) {
        this.tool(title, () => drawChart(place, this.columns, this.rows, kind));
      }
    }
    this.tool("CSV", () => save("result.csv", "text/csv", asCsv(this.columns, this.rows)));
    this.tool("JSON", () => save("result.json", "application/json", asJson(this.columns, this.rows)));
    if (/^\s*(select|with|values|from|table)\b/i.test(this.statement) && !this.live) {
      this.tool("Arrow", () => void this.export("run", "arrows", "application/vnd.apache.arrow.stream"));
      if (document.querySelector("#sql")!.hasAttribute("data-parquet")) {
        this.tool("Parquet", () => void this.export("parquet", "parquet", "application/vnd.apache.parquet"));
      }
    }
  }

  private tool(title: string, act: () => void): void {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small";
    button.textContent = title;
    button.addEventListener("click", act);
    this.tools.append(button);
  }

  /** Run the query again for a file with all its rows and their types. */
  private async export(path: string, ending: string, accept: string): Promise<void> {
    const body = { statement: this.statement, id: `${this.id}-${ending}`, live: false };
    const response = await tryPost(path, body, { accept });
    if (response === undefined) {
      this.fail(lost("no response"));
      return;
    }
    try {
      if (!response.ok) throw (await response.json()) as Line;
      const file = await response.blob();
      if (ending === "arrows") await checkArrow(file);
      save(`result.${ending}`, accept, file);
    } catch (error) {
      this.fail((error as Line).error ?? lost(error));
    }
  }

  private count(): string {
    const count = this.rows.length + this.dropped;
    const shown = this.dropped ? ` (the newest ${this.rows.length.toLocaleString()} are shown)` : "";
    return `${count.toLocaleString()} row${count === 1 ? "" : "s"}${shown}`;
  }

  private say(text: string): void {
    this.status.textContent = text;
  }

  private note(text: string): void {
    const note = document.createElement("p");
    note.className = "warning";
    note.textContent = text;
    this.card.insertBefore(note, this.content);
  }

  private fail(report: Report): Outcome {
    this.say("Failed");
    const box = document.createElement("div");
    box.className = "error";
    box.setAttribute("role", "alert");
    const place = report.line ? ` · line ${report.line}, column ${report.column}` : "";
    const parts: [string, string][] = [
      ["error-message", report.message],
      ["hint", report.hint && `What to do: ${report.hint}`],
      ["error-code", `${report.condition} · SQLSTATE ${report.sqlstate}${place}`],
    ];
    for (const [name, text] of parts) {
      if (!text) continue;
      const line = document.createElement("p");
      line.className = name;
      line.textContent = text;
      box.append(line);
    }
    this.card.insertBefore(box, this.content);
    this.onError(report);
    return "failed";
  }
}

function report(condition: string, message: string, hint: string): Report {
  return { condition, sqlstate: "08006", message, hint, line: null, column: null };
}

function loggedOut(): Report {
  return report("LOGGED_OUT", "You are logged out.", "Copy your statements, reload the page, and log in.");
}

function lost(error: unknown): Report {
  const hint = "Check the effect of the statement before you repeat it: it may have been executed.";
  return report("CONNECTION_LOST", `The connection to the engine was lost: ${String(error)}.`, hint);
}

/** Throw the error that ends an Arrow stream, which has no end marker then. */
async function checkArrow(stream: Blob): Promise<void> {
  const end = new Uint8Array(await stream.slice(-ARROW_END.length).arrayBuffer());
  if (ARROW_END.every((byte, index) => byte === end[index])) return;
  const text = await stream.slice(-ERROR_BYTES_MOST).text();
  const start = text.lastIndexOf('{"error":');
  throw start < 0 ? new Error("the rows have no end") : (JSON.parse(text.slice(start)) as Line);
}

function save(name: string, type: string, content: string | Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
