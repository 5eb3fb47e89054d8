// The history and the saved queries: in this browser only, as the engine returned them, without secrets.
const HISTORY_KEY = "jetsql.history";
const SAVED_KEY = "jetsql.saved";
const HISTORY_MOST = 100;

function load<T>(key: string, fallback: T): T {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? "null") as T | null) ?? fallback;
  } catch {
    return fallback; // another program wrote it
  }
}

export function history(): string[] {
  return load<string[]>(HISTORY_KEY, []);
}

export function addToHistory(text: string): void {
  const entries = [text, ...history().filter((entry) => entry !== text)].slice(0, HISTORY_MOST);
  localStorage.setItem(HISTORY_KEY, JSON.stringify(entries));
}

export function saved(): Record<string, string> {
  return load<Record<string, string>>(SAVED_KEY, {});
}

export function save(name: string, text: string): void {
  localStorage.setItem(SAVED_KEY, JSON.stringify({ ...saved(), [name]: text }));
}

export function forget(name: string): void {
  const rest = saved();
  delete rest[name];
  localStorage.setItem(SAVED_KEY, JSON.stringify(rest));
}
