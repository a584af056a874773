// Browsers start no Worker on a page that was opened from the file system, and the site's search runs in one. There, a
// hidden frame takes its place. The plugin `offline` would fetch a script for this from another host; it recognises
// this file by its name.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = url;
      const loaded = new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${url} cannot be loaded`));
      });
      inside.document.body.append(script);
      this.postMessage = (data) =>
        loaded.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
