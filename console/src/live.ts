// Server-sent events of a page, with a message when the engine is lost. The connection is made again until it works.
const SILENT_MS = 12_000;
const RETRY_MS = 1_500;

export type Listener = (data: string) => void;

/** Listen to events. url: returns the address for the next connection. */
export function listen(url: (lastId: string) => string, listeners: Record<string, Listener>): void {
  let source: EventSource | undefined;
  let watchdog = 0;
  let lastId = "";

  const connect = (): void => {
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
      source?.close();
      window.clearTimeout(watchdog);
      toLogin();
      return;
    }
    showConnection("");
    expect();
    listeners[name]?.(event.data);
  };

  const expect = (): void => {
    window.clearTimeout(watchdog);
    watchdog = window.setTimeout(lose, SILENT_MS);
  };

  const lose = (): void => {
    window.clearTimeout(watchdog);
    source?.close();
    showConnection("The engine does not answer. Trying again …");
    window.setTimeout(() => void reconnect(), RETRY_MS);
  };

  // An event source does not report the status of a response, so a request asks whether the user is still logged in.
  const reconnect = async (): Promise<void> => {
    try {
      const response = await fetch("/console/session", { headers: { accept: "application/json" } });
      if (response.status === 401) toLogin();
      else if (response.status === 503) toStandby();
      else if (response.ok) connect();
      else lose();
    } catch {
      lose();
    }
  };

  const toStandby = (): void => {
    showConnection("This engine does not lead its jobs at the moment. Trying again … ");
    addLink("/console/", "Go to the leader");
    window.setTimeout(() => void reconnect(), RETRY_MS);
  };

  connect();
  window.addEventListener("pagehide", () => {
    window.clearTimeout(watchdog);
    source?.close();
  });
}

function toLogin(): void {
  const place = connection();
  place.hidden = false;
  place.textContent = "You are logged out: the session has ended, or the engine has started again. ";
  addLink(`/console/login?next=${encodeURIComponent(location.pathname)}`, "Log in");
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
  place.textContent = message;
  place.hidden = message === "";
}
