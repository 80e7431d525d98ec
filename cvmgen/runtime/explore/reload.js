// Of a page that `cvmgen watch` keeps: once a second, whether there is a newer version of it, and
// what was told of the last save. A page without a server may read scripts beside it, nothing else.
"use strict";
(() => {
  const { version, page } = document.currentScript.dataset;
  const told = document.createElement("pre");
  told.id = "saved";
  told.setAttribute("role", "status");
  told.hidden = true;
  document.querySelector("header").append(told);
  window.saved = last => {
    told.textContent = last.told;
    told.hidden = !last.told;
    if (page in last.versions && last.versions[page] !== version) location.reload();
  };
  function look() {
    const script = document.createElement("script");
    script.src = "watch.js?" + Date.now();
    script.onload = script.onerror = () => script.remove();
    document.head.append(script);
  }
  look();
  setInterval(() => document.hidden || look(), 1000);
})();
