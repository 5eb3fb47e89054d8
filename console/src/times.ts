// Times in the zone and language of the user; the title has the exact time. Times "since" show what has passed.
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const TICK_MS = 1000;

export function showTimes(root: ParentNode): void {
  for (const element of root.querySelectorAll<HTMLTimeElement>("time[datetime]")) {
    const time = new Date(element.dateTime);
    if (Number.isNaN(time.getTime())) continue;
    element.title = exact.format(time);
    if (element.dataset.since === undefined) element.textContent = short.format(time);
    else showPassed(element, time.getTime());
  }
}

/** Keep the times "since" of the page current. */
export function startTimes(): void {
  showTimes(document);
  window.setInterval(() => {
    if (document.hidden) return;
    for (const element of document.querySelectorAll<HTMLTimeElement>("time[data-since]")) {
      showPassed(element, Date.parse(element.dateTime));
    }
  }, TICK_MS);
}

/** Return an element with the time that has passed since a time in seconds. suffix: a word after it, or empty */
export function sinceElement(seconds: number, suffix: string): HTMLTimeElement {
  const element = document.createElement("time");
  const time = new Date(seconds * 1000);
  element.dateTime = time.toISOString();
  element.dataset.since = suffix;
  element.title = exact.format(time);
  showPassed(element, time.getTime());
  return element;
}

function showPassed(element: HTMLTimeElement, since: number): void {
  const suffix = element.dataset.since;
  const text = `${duration(Math.max(0, Date.now() - since) / 1000)}${suffix ? ` ${suffix}` : ""}`;
  if (element.textContent !== text) element.textContent = text;
}

function duration(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 48 * 3600 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}
