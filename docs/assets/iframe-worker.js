// The search runs in a worker, and browsers start no worker from file://. There, a frame takes its place: it loads the
// same script, and messages go to and fro as calls. Over HTTP nothing is replaced.
(() => {
  "use strict";
  if (location.protocol !== "file:") return;

  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #scope; // the window in which the script runs, once it is loaded
    #waiting = []; // messages that were posted before that

    constructor(url) {
      super();
      const script = new URL(url, document.baseURI).href;
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const scope = this.#frame.contentWindow;
      scope.postMessage = (data) => this.#tell(structuredClone(data));
      const element = scope.document.createElement("script");
      element.src = script;
      element.onload = () => {
        this.#scope = scope;
        this.#waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      element.onerror = () => this.onerror?.(new ErrorEvent("error", { message: `cannot load ${script}` }));
      scope.document.body.append(element);
    }

    postMessage(data) {
      const scope = this.#scope;
      if (scope === undefined) {
        this.#waiting.push(data);
      } else {
        setTimeout(() => scope.onmessage?.(new MessageEvent("message", { data: scope.structuredClone(data) })));
      }
    }

    terminate() {
      this.#frame.remove();
    }

    #tell(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }
  };
})();
