// The end of the engine's log, with new lines as they are written. A button holds it still.
import { listen } from "./live";

const LINES_MOST = 1000;

export function followLog(log: HTMLElement): void {
  const empty = document.querySelector<HTMLElement>("[data-no-lines]")!;
  const button = document.querySelector<HTMLButtonElement>("[data-follow]")!;
  let lines: string[] = [];
  let follows = true;

  const show = (): void => {
    if (!follows) return;
    log.textContent = lines.join("\n");
    log.hidden = lines.length === 0;
    empty.hidden = lines.length > 0;
    log.scrollTop = log.scrollHeight;
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    follows = !follows;
    button.textContent = follows ? "Pause" : "Continue";
    show();
  });
  listen(() => log.dataset.events!, {
    end: (data) => {
      lines = JSON.parse(data) as string[];
      show();
    },
    lines: (data) => {
      lines = [...lines, ...(JSON.parse(data) as string[])].slice(-LINES_MOST);
      show();
    },
  });
}
