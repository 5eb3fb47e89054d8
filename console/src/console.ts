// What every page has: htmx for actions, dialogs, times in the user's zone, copying, and the jobs table.
import htmx from "htmx.org";
import { showTimes } from "./times";
import { startDialogs } from "./dialogs";
import { startCopying } from "./copying";
import { listen } from "./live";
import { startJobsTable } from "./jobs_table";
import { followLog } from "./log";
import { watchLeader } from "./standby";

window.htmx = htmx;
startDialogs();
startCopying();
showTimes(document);
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target instanceof Element) showTimes(event.target);
});
const jobs = document.querySelector<HTMLFormElement>("#jobs");
const log = document.querySelector<HTMLElement>("[data-events].log");
const standby = document.querySelector<HTMLElement>("[data-standby]");
if (standby !== null) watchLeader(standby);
else if (jobs !== null) startJobsTable(jobs);
else if (log !== null) followLog(log);
else if (document.body.dataset.csrf && !document.querySelector("#job")) listen(() => "/console/events/alive", {});
