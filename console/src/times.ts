// Times in the zone and language of the user; the title has the exact time.
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export function showTimes(root: ParentNode): void {
  for (const element of root.querySelectorAll<HTMLTimeElement>("time[datetime]")) {
    const time = new Date(element.dateTime);
    if (Number.isNaN(time.getTime())) continue;
    element.textContent = short.format(time);
    element.title = exact.format(time);
  }
}
