// The editor. It is in a shadow root, where its styles are sheets that the page's policy allows.
import { autocompletion, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { linter, lintKeymap, type Diagnostic } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { toPoints, toUnits } from "./offsets";
import { tryPost } from "./requests";

export interface Statement {
  start: number; // UTF-16 units
  stop: number;
  shown: string; // without secrets
  question?: string; // to ask before it runs
  mistake?: { start: number; stop: number; message: string; hint: string };
}
interface Candidate {
  text: string;
  start: number;
  label: string;
  kind: string;
  detail: string;
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--soft)", fontStyle: "italic" },
]);
const theme = EditorView.theme({
  "&": { backgroundColor: "var(--card)", color: "var(--text)", fontSize: "0.9375rem" },
  "&.cm-focused": { outline: "3px solid var(--accent)" },
  ".cm-scroller": { fontFamily: "var(--mono)", minHeight: "9rem", maxHeight: "50vh" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--code)", color: "var(--soft)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--calm-fill) 50%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)",
  },
  ".cm-placeholder": { color: "var(--soft)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--control-line)", zIndex: "30" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-fill)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.8" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
  // Instead of a picture in the style, which the page's policy refuses.
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)" },
});

/** Return the statements of a text, as the engine reads them; undefined if it does not answer. */
export async function readStatements(text: string): Promise<Statement[] | undefined> {
  const response = await tryPost("read", { text });
  if (!response?.ok) return undefined;
  const read = ((await response.json()) as { statements: Statement[] }).statements;
  return read.map((each) => ({
    ...each,
    start: toUnits(text, each.start),
    stop: toUnits(text, each.stop),
    mistake: each.mistake && {
      ...each.mistake,
      start: toUnits(text, each.mistake.start),
      stop: toUnits(text, each.mistake.stop),
    },
  }));
}

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const text = context.state.doc.toString();
  const before = context.matchBefore(/[\w.`'"]+/);
  if (!context.explicit && before === null && !/[\s(,]$/.test(text.slice(0, context.pos))) return null;
  const response = await tryPost("complete", { text, cursor: toPoints(text, context.pos) });
  if (!response?.ok) return null;
  const { candidates } = (await response.json()) as { candidates: Candidate[] };
  const first = candidates[0];
  if (first === undefined) return null;
  // While typing after a space, a menu of keywords alone would be in the way.
  if (!context.explicit && before === null && candidates.every((each) => each.kind === "keyword")) return null;
  return {
    from: toUnits(text, first.start),
    options: candidates
      .filter((each) => each.start === first.start)
      .map((each, index) => ({
        label: each.text,
        displayLabel: each.label,
        detail: [each.kind === "keyword" ? "" : each.kind, each.detail].filter(Boolean).join(", "),
        boost: -Math.min(index, 99),
      })),
    filter: false,
  };
}

async function mistakes(view: EditorView): Promise<Diagnostic[]> {
  const text = view.state.doc.toString();
  if (!text.trim()) return [];
  const cursor = view.state.selection.main.head;
  const found: Diagnostic[] = [];
  for (const { mistake, stop } of (await readStatements(text)) ?? []) {
    // A statement that is being written is not finished yet.
    if (mistake === undefined || (cursor >= mistake.stop && cursor >= stop)) continue;
    const message = mistake.hint ? `${mistake.message}\n${mistake.hint}` : mistake.message;
    found.push({ from: mistake.start, to: Math.min(mistake.stop, text.length), severity: "error", message });
  }
  return view.state.doc.toString() === text ? found : [];
}

export interface Editor {
  view: EditorView;
  text(): string;
  setText(text: string): void;
}

/** Open an editor. run: called for the keys that run the statement at the cursor, or all of them. */
export function openEditor(place: HTMLElement, keywords: string, text: string, run: (all: boolean) => void): Editor {
  const root = place.attachShadow({ mode: "open" });
  const dialect = SQLDialect.define({
    keywords,
    builtin: "",
    types: "",
    backslashEscapes: true,
    doubleQuotedStrings: true,
    identifierQuotes: "`",
  });
  const keys = Prec.highest(
    keymap.of([
      { key: "Mod-Enter", run: () => (run(false), true) },
      { key: "Shift-Mod-Enter", run: () => (run(true), true) },
    ]),
  );
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        keys,
        lineNumbers(),
        history(),
        drawSelection(matchMedia("(prefers-reduced-motion: reduce)").matches ? { cursorBlinkRate: 0 } : {}),
        bracketMatching(),
        highlightActiveLine(),
        EditorView.lineWrapping,
        sql({ dialect }).language,
        syntaxHighlighting(colours),
        theme,
        placeholder("SELECT …   CREATE JOB …"),
        EditorView.contentAttributes.of({ "aria-label": "SQL statements" }),
        autocompletion({ override: [complete], activateOnTyping: true, icons: false }),
        linter(mistakes, { delay: 600 }),
        keymap.of([...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
      ],
    }),
  });
  return {
    view,
    text: () => view.state.doc.toString(),
    setText: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
  };
}
