// Server-sent events of a page, with a message when the engine is lost. The connection is made again until it works.
// A browser opens few connections to a host (six with HTTP/1.1), so a page in the background gives its own back.
const SILENT_MS = 12_000;
const RETRY_MS = 1_500;

export type Listener = (data: string) => void;

/** Listen to events. url: returns the address for the next connection. */
export function listen(url: (lastId: string) => string, listeners: Record<string, Listener>): void {
  let source: EventSource | undefined;
  let timer = 0; // of the next message that is due, or of the next attempt
  let attempt = 0;
  let lastId = "";
  let isLoggedOut = false;

  const disconnect = (): void => {
    attempt += 1;
    window.clearTimeout(timer);
    source?.close();
    source = undefined;
  };

  const connect = (): void => {
    disconnect();
    if (document.hidden) return;
    source = new EventSource(url(lastId));
    for (const name of [...Object.keys(listeners), "ping", "logout"]) {
      source.addEventListener(name, (event) => receive(name, event as MessageEvent<string>));
    }
    source.addEventListener("error", () => lose());
    expect();
  };

  const receive = (name: string, event: MessageEvent<string>): void => {
    if (event.lastEventId) lastId = event.lastEventId;
    if (name === "logout") {
      end();
      return;
    }
    showConnection("");
    expect();
    listeners[name]?.(event.data);
  };

  const expect = (): void => {
    window.clearTimeout(timer);
    timer = window.setTimeout(lose, SILENT_MS);
  };

  const lose = (): void => {
    showConnection("The engine does not answer. Trying again …");
    retry();
  };

  const retry = (): void => {
    disconnect();
    if (!document.hidden) timer = window.setTimeout(() => void reconnect(), RETRY_MS);
  };

  const end = (): void => {
    disconnect();
    isLoggedOut = true;
    toLogin();
  };

  // An event source does not report the status of a response, so a request asks whether the user is still logged in.
  const reconnect = async (): Promise<void> => {
    const current = attempt;
    const status = await sessionStatus();
    if (current !== attempt) return;
    if (status === 401) end();
    else if (status === 503) toStandby();
    else if (status === 200) connect();
    else lose();
  };

  const toStandby = (): void => {
    showConnection("This engine does not lead its jobs at the moment. Trying again … ");
    addLink("/console/", "Go to the leader");
    retry();
  };

  const resume = (): void => {
    if (source === undefined && !isLoggedOut) void reconnect();
  };

  connect();
  window.addEventListener("pagehide", disconnect);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) resume();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) disconnect();
    else resume();
  });
}

/** Return the HTTP status of the user's session; 0 if the engine does not answer. */
async function sessionStatus(): Promise<number> {
  try {
    const signal = AbortSignal.timeout(SILENT_MS);
    return (await fetch("/console/session", { headers: { accept: "application/json" }, signal })).status;
  } catch {
    return 0;
  }
}

function toLogin(): void {
  const place = connection();
  place.hidden = false;
  place.textContent = "You are logged out: the session has ended, or the engine has started again. ";
  addLink(`/console/login?next=${encodeURIComponent(location.pathname + location.search)}`, "Log in");
}

function addLink(href: string, text: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.textContent = text;
  connection().append(link);
}

function connection(): HTMLElement {
  return document.querySelector<HTMLElement>("#connection")!;
}

function showConnection(message: string): void {
  const place = connection();
  if (place.textContent !== message) place.textContent = message; // a screen reader repeats what is written again
  place.hidden = message === "";
}
