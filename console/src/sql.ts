// The SQL page: an editor, statements one after the other, and their results.
import { announce, askForText, askToRun } from "./dialogs";
import { openEditor, readStatements, type Statement } from "./editor";
import { toUnits } from "./offsets";
import type { Report } from "./requests";
import { Result } from "./results";
import * as stored from "./sql_history";

const DRAFT_KEY = "jetsql.draft";

function start(root: HTMLElement): void {
  const draft = root.dataset.text || (sessionStorage.getItem(DRAFT_KEY) ?? "");
  const editor = openEditor(root.querySelector("[data-editor]")!, root.dataset.keywords!, draft, (all) => void run(all));
  const results = root.querySelector<HTMLElement>("[data-results]")!;
  const cancel = root.querySelector<HTMLButtonElement>("[data-cancel]")!;
  const starters = [...root.querySelectorAll<HTMLButtonElement>("[data-run], [data-run-all]")];
  let running: Result | undefined;
  let isBusy = false;
  let stopped = false;

  async function run(all: boolean): Promise<void> {
    if (isBusy) {
      announce("A statement is running. Cancel it first.");
      return;
    }
    const text = editor.text();
    const statements = await readStatements(text);
    if (statements === undefined) {
      announce("The engine does not answer, or you are logged out.", true);
      return;
    }
    const chosen = choose(statements, editor.view.state.selection.main, all);
    if (chosen.length === 0) {
      announce("There is no statement at the cursor.");
      return;
    }
    setBusy(true);
    try {
      for (const statement of chosen) {
        if (stopped) break;
        if (statement.question !== undefined && !(await askToRun(statement.question, statement.shown))) {
          announce("Not run.");
          break;
        }
        root.querySelector<HTMLElement>("[data-no-results]")!.hidden = true;
        stored.addToHistory(statement.shown);
        const part = text.slice(statement.start, statement.stop);
        running = new Result(results, part, (report) => mark(statement, part, report));
        if ((await running.run()) !== "done") break;
      }
    } finally {
      setBusy(false);
      showHistory();
    }
  }

  function setBusy(busy: boolean): void {
    isBusy = busy;
    stopped = false;
    if (!busy) running = undefined;
    cancel.disabled = !busy;
    for (const button of starters) button.disabled = busy;
  }

  /** Put the cursor where an error is, unless the text was changed meanwhile. */
  function mark(statement: Statement, part: string, report: Report): void {
    if (report.line === null || editor.text().slice(statement.start, statement.stop) !== part) return;
    const lines = part.split("\n");
    const before = lines.slice(0, report.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const column = toUnits(lines[report.line - 1] ?? "", (report.column ?? 1) - 1);
    const position = Math.min(statement.start + before + column, editor.view.state.doc.length);
    editor.view.dispatch({ selection: { anchor: position }, scrollIntoView: true });
  }

  cancel.addEventListener("click", () => {
    stopped = true;
    running?.cancel();
  });
  root.querySelector("[data-run]")!.addEventListener("click", () => void run(false));
  root.querySelector("[data-run-all]")!.addEventListener("click", () => void run(true));
  let isLeaving = false;
  document.addEventListener("submit", (event) => {
    isLeaving ||= event.target instanceof HTMLFormElement && event.target.hasAttribute("data-logout");
  });
  window.addEventListener("pagehide", () => {
    if (!isLeaving) sessionStorage.setItem(DRAFT_KEY, editor.text());
  });

  const list = root.querySelector<HTMLSelectElement>("[data-history]")!;
  const forget = root.querySelector<HTMLButtonElement>("[data-forget]")!;

  function showHistory(): void {
    const group = (label: string, entries: [value: string, text: string][]): HTMLOptGroupElement => {
      const made = document.createElement("optgroup");
      made.label = label;
      made.append(...entries.map(([value, text]) => new Option(text.replace(/\s+/g, " ").slice(0, 100), value)));
      return made;
    };
    const saved = Object.keys(stored.saved()).sort().map((name): [string, string] => [`saved:${name}`, name]);
    const recent = stored.history().map((text, index): [string, string] => [`history:${index}`, text]);
    list.replaceChildren(new Option("History and saved queries", ""), group("Saved", saved), group("History", recent));
    forget.disabled = true;
  }

  async function save(): Promise<void> {
    const statements = (await readStatements(editor.text())) ?? [];
    const first = statements[0]?.shown.replace(/\s+/g, " ").slice(0, 40);
    if (!first) {
      announce("There is no statement to save.");
      return;
    }
    askForText("Save the text in the editor", "Name", first, (name) => {
      stored.save(name, statements.map((each) => each.shown).join(";\n"));
      showHistory();
      announce("Saved in this browser.");
    });
  }

  list.addEventListener("change", () => {
    const [kind, name] = [list.value.slice(0, list.value.indexOf(":")), list.value.slice(list.value.indexOf(":") + 1)];
    const text = kind === "saved" ? stored.saved()[name] : stored.history()[Number(name)];
    forget.disabled = kind !== "saved";
    if (text === undefined) return;
    editor.setText(text);
    editor.view.focus();
  });
  root.querySelector("[data-save]")!.addEventListener("click", () => {
    void save();
  });
  forget.addEventListener("click", () => {
    stored.forget(list.value.slice("saved:".length));
    showHistory();
  });
  showHistory();
  editor.view.focus();
}

/** Return the statements to run: all, those in the selection, or the one at the cursor. */
function choose(statements: Statement[], at: { from: number; to: number; empty: boolean }, all: boolean): Statement[] {
  if (all) return statements;
  if (!at.empty) return statements.filter((each) => each.start < at.to && each.stop > at.from);
  const here = statements.filter((each) => each.start <= at.from);
  const chosen = here.at(-1) ?? statements[0];
  return chosen === undefined ? [] : [chosen];
}

const root = document.querySelector<HTMLElement>("#sql");
if (root !== null) start(root);
