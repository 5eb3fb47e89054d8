// What every page has: htmx for actions, dialogs, times in the user's zone, copying, the jobs table, and pages with live sections.
import htmx from "htmx.org";
import { showTimes, startTimes } from "./times";
import { dialog, startDialogs } from "./dialogs";
import { startCopying } from "./copying";
import { listen } from "./live";
import { startJobsTable } from "./jobs_table";
import { startLiveSections } from "./live_sections";
import { followLog } from "./log";
import { watchLeader } from "./standby";

window.htmx = htmx;
startDialogs();
startCopying();
startTimes();
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target instanceof Element) showTimes(event.target);
});
// The draft of the SQL page may have secrets; it is for the user who wrote it.
document.addEventListener("submit", (event) => {
  if (event.target instanceof HTMLFormElement && event.target.hasAttribute("data-logout")) sessionStorage.clear();
});
// The outcome of an action was shown, and the page has no events that would bring its effect.
if (document.querySelector("[data-reload]")) {
  dialog().addEventListener("close", () => dialog().querySelector("[data-done]") && location.reload());
}
const jobs = document.querySelector<HTMLFormElement>("#jobs");
const log = document.querySelector<HTMLElement>("[data-events].log");
const live = document.querySelector<HTMLElement>("[data-live-sections]");
const standby = document.querySelector<HTMLElement>("[data-standby]");
if (standby !== null) watchLeader(standby);
else if (live !== null) startLiveSections(live);
else if (jobs !== null) startJobsTable(jobs);
else if (log !== null) followLog(log);
else if (document.body.dataset.csrf && !document.querySelector("#job")) listen(() => "/console/events/alive", {});
