// Questions and their outcomes: htmx puts a part of a page into the dialog, which then opens.
export function dialog(): HTMLDialogElement {
  return document.querySelector<HTMLDialogElement>("#dialog")!;
}

export function startDialogs(): void {
  // After htmx has taken over the forms of the new part: a key must not submit one without it.
  document.addEventListener("htmx:afterSettle", (event) => {
    const content = event.target;
    if (!(content instanceof Element) || content.id !== "dialog-content") return;
    const title = content.querySelector("h2")?.textContent;
    if (title) dialog().setAttribute("aria-label", title);
    if (!dialog().open) dialog().showModal();
    (content.querySelector<HTMLElement>("[autofocus]") ?? dialog()).focus();
  });
  document.addEventListener("htmx:sendError", () => announce("The engine does not answer.", true));
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("#dialog [data-close]")) dialog().close();
  });
}

/** Show a message that needs no answer, also to screen readers. */
export function announce(message: string, lasts = false): void {
  const place = document.querySelector<HTMLElement>("#announcement")!;
  place.textContent = message;
  place.classList.remove("visually-hidden");
  place.classList.add("toast");
  window.setTimeout(
    () => {
      place.classList.add("visually-hidden");
      place.classList.remove("toast");
    },
    lasts ? 8000 : 2500,
  );
}
