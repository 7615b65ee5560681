// Browsers start no worker from a page that was opened as a file. The search needs one: there it
// runs in a hidden frame instead, which gets and gives the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      const answered = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      };
      inside.postMessage = (data) => setTimeout(answered, 0, structuredClone(data));
      this.ready = new Promise((done) => {
        const loaded = inside.document.createElement("script");
        loaded.onload = done;
        loaded.src = new URL(script, document.baseURI);
        inside.document.head.append(loaded);
      });
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() =>
        inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) })),
      );
    }
    terminate() {
      this.frame.remove();
    }
  };
}
