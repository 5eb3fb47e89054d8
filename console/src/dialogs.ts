// Questions and their outcomes: htmx puts a part of a page into the dialog, which then opens.
export function dialog(): HTMLDialogElement {
  return document.querySelector<HTMLDialogElement>("#dialog")!;
}

export function startDialogs(): void {
  // After htmx has taken over the forms of the new part, which it does immediately (defaultSettleDelay): a key must neither
  // submit a form without it, nor close a dialog before this opens it again.
  document.addEventListener("htmx:afterSettle", (event) => {
    const content = event.target;
    if (content instanceof Element && content.id === "dialog-content") openDialog();
  });
  document.addEventListener("htmx:sendError", () => announce("The engine does not answer.", true));
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("#dialog [data-close]")) dialog().close();
  });
  dialog().addEventListener("close", () => {
    document.body.append(announcement());
    // The button that opened the dialog may be gone, or disabled.
    if (document.activeElement === null || document.activeElement === document.body) document.querySelector<HTMLElement>("#main")!.focus();
  });
}

/** Open the dialog with its content. */
function openDialog(): void {
  const title = dialog().querySelector("h2")?.textContent;
  if (title) dialog().setAttribute("aria-label", title);
  if (!dialog().open) dialog().showModal();
  (dialog().querySelector<HTMLElement>("[autofocus]") ?? dialog()).focus();
}

/** Show elements in the dialog, with a button that closes it. */
export function showInDialog(title: string, ...content: HTMLElement[]): void {
  const heading = element("h2", title);
  const close = element("button", "Close");
  close.type = "button";
  close.autofocus = true;
  close.dataset.close = "";
  document.querySelector("#dialog-content")!.replaceChildren(heading, ...content, close);
  openDialog();
}

/** Ask for a text; call `then` with it unless the user cancels. */
export function askForText(title: string, label: string, value: string, then: (text: string) => void): void {
  const form = element("form");
  const input = element("input");
  const save = element("button", "Save");
  const cancel = element("button", "Cancel");
  const named = element("label", label);
  const buttons = element("div");
  form.className = "stack";
  input.id = named.htmlFor = "dialog-text";
  input.value = value;
  input.required = input.autofocus = true;
  save.className = "primary";
  cancel.type = "button";
  cancel.dataset.close = "";
  buttons.className = "dialog-buttons";
  buttons.append(save, cancel);
  form.append(named, input, buttons);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) return;
    dialog().close();
    then(text);
  });
  document.querySelector("#dialog-content")!.replaceChildren(element("h2", title), form);
  openDialog();
  input.select();
}

/** Ask whether to run a statement; return false if the user cancels. */
export function askToRun(question: string, statement: string): Promise<boolean> {
  const text = element("pre");
  const run = element("button", "Run");
  const cancel = element("button", "Cancel");
  const spacer = element("span");
  const buttons = element("div");
  let isAgreed = false;
  text.className = "sql";
  text.append(element("code", statement));
  spacer.className = "spacer";
  run.className = "danger";
  run.type = cancel.type = "button";
  cancel.autofocus = true;
  cancel.dataset.close = "";
  buttons.className = "dialog-buttons";
  buttons.append(spacer, cancel, run);
  run.addEventListener("click", () => {
    isAgreed = true;
    dialog().close();
  });
  document.querySelector("#dialog-content")!.replaceChildren(element("h2", "Run this statement?"), element("p", question), text, buttons);
  openDialog();
  return new Promise((resolve) => dialog().addEventListener("close", () => resolve(isAgreed), { once: true }));
}

function element<K extends keyof HTMLElementTagNameMap>(name: K, text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Show a message that needs no answer, also to screen readers. */
export function announce(message: string, lasts = false): void {
  const place = announcement();
  // Behind an open dialog, it would be neither seen nor read.
  (dialog().open ? dialog() : document.body).append(place);
  place.textContent = message;
  place.classList.remove("visually-hidden");
  place.classList.add("toast");
  window.clearTimeout(hiding);
  hiding = window.setTimeout(
    () => {
      place.classList.add("visually-hidden");
      place.classList.remove("toast");
    },
    lasts ? 8000 : 2500,
  );
}

let hiding = 0;

function announcement(): HTMLElement {
  return document.querySelector<HTMLElement>("#announcement")!;
}
