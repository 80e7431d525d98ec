// Pages that are read from files may start no worker: what searches them runs in a frame instead.
// The theme asks for IFrameWorker by name before it says where a frame's scripts lie.
"use strict";
if (location.protocol === "file:") {
  const loaded = (page, url) => new Promise((done, failed) => {
    const script = page.document.createElement("script");
    Object.assign(script, { src: url, onload: done, onerror: failed });
    page.document.body.append(script);
  });
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      frame.contentDocument.open();
      frame.contentDocument.write("<!DOCTYPE html><body></body>");
      frame.contentDocument.close();
      this.page = frame.contentWindow;
      this.page.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      this.page.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => loaded(this.page, each)), Promise.resolve());
      this.ready = loaded(this.page, url);
    }
    postMessage(data) {
      this.ready.then(() => this.page.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
