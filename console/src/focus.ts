// Parts of a page are replaced while the user works in them: the focus stays at the same place.
function controls(part: ParentNode): HTMLElement[] {
  return [...part.querySelectorAll<HTMLElement>("a[href], button, input, select, summary, [tabindex]")];
}

/** Replace a part. replace: returns the new part, in which the control with the number of the focused one gets the focus. */
export function keepingFocus(part: HTMLElement, replace: () => HTMLElement): void {
  const focused = document.activeElement;
  const number = focused instanceof HTMLElement && part.contains(focused) ? controls(part).indexOf(focused) : -1;
  const left = controls(replace());
  if (number >= 0) left[Math.min(number, left.length - 1)]?.focus();
}
