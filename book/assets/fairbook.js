/* A link into a folded proof or solution opens it; printing opens them all. */
(function () {
  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let closed = target && target.closest("details:not([open])");
    if (!closed) return;
    for (; closed; closed = closed.parentElement.closest("details:not([open])")) closed.open = true;
    target.scrollIntoView();
  }
  addEventListener("DOMContentLoaded", reveal);
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((fold) => { fold.open = true; }));
})();
