// Requests of the SQL page, with the value that other origins cannot read.
export interface Report {
  condition: string;
  sqlstate: string;
  message: string;
  hint: string;
  line: number | null;
  column: number | null;
}

export function post(path: string, message: object, options: { signal?: AbortSignal; accept?: string } = {}): Promise<Response> {
  const url = document.querySelector<HTMLElement>("#sql")!.dataset.url!;
  return fetch(`${url}/${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-csrf-token": document.body.dataset.csrf!,
      accept: options.accept ?? "application/json",
    },
    body: JSON.stringify(message),
    signal: options.signal,
  });
}

/** Send a request as `post` does; undefined if the engine does not answer. */
export async function tryPost(...request: Parameters<typeof post>): Promise<Response | undefined> {
  try {
    return await post(...request);
  } catch {
    return undefined;
  }
}
