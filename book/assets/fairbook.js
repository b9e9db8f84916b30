/* Links into folds, printing, formulas and boxes that scroll. Pages can be read without any of it. */
(function () {
  /* Formulas are typeset twenty at a time, those in view first, so that the page answers meanwhile. */
  if (window.MathJax) MathJax.startup = { async pageReady() {
    const kinds = MathJax.config.options.processHtmlClass.split("|").map((kind) => `.${kind}`).join();
    const all = [...document.querySelectorAll(kinds)].filter((one) => !one.parentElement.closest(kinds));
    const seen = (one) => { const box = one.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; };
    const first = new Set(all.filter(seen)), ordered = [...first, ...all.filter((one) => !first.has(one))];
    for (let k = 0; k < ordered.length; k += 20) {
      await MathJax.typesetPromise(ordered.slice(k, k + 20));
      await new Promise((next) => setTimeout(next));
    }
  } };

  /* A link into a folded proof or solution opens it. */
  function reveal() {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* a stray percent sign: take it as it stands */ }
    const target = id && document.getElementById(id);
    let closed = target && target.closest("details:not([open])");
    if (!closed) return;
    for (; closed; closed = closed.parentElement.closest("details:not([open])")) closed.open = true;
    target.scrollIntoView();
  }

  /* A box that scrolls can be reached by keyboard and says what it is; one that does not is no stop on the way. */
  const BOXES = ".pst-scrollable-table-container, .text_html, pre, div.math, div.proof, figure, .cell_output, " +
    ".credit-lab-numbers, mjx-container";
  const squeezed = (element) => (element ? element.textContent.replace(/\s+/g, " ").trim() : "");
  function nameOf(box) {
    const table = box.querySelector("table"), caption = table && squeezed(table.caption);
    if (table) return caption || table.getAttribute("aria-label") || "Table";
    if (box.matches("figure")) return squeezed(box.querySelector(".caption-number")) || "Figure";
    if (box.matches("div.proof")) return squeezed(box.querySelector(".admonition-title")) || "Statement";
    if (box.matches("div.math, mjx-container")) return "Formula";
    return box.closest(".cell_output") ? "Output" : "Code";
  }
  function reach() {
    for (const box of document.querySelectorAll(BOXES)) {
      const over = box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0;
      if (over && ["auto", "scroll"].includes(getComputedStyle(box).overflowX)) {
        box.tabIndex = 0;
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", nameOf(box));
        box.dataset.reached = "";
      } else if ("reached" in box.dataset) {
        for (const name of ["tabindex", "role", "aria-label", "data-reached"]) box.removeAttribute(name);
      }
    }
  }
  let waiting = 0;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(reach, 60); };

  /* The folds of solutions are built by another script: their buttons say what they fold, and the sign is for the eye. */
  function solutions() {
    for (const button of document.querySelectorAll("button.toggle-button")) {
      const title = squeezed(button.closest(".admonition-title"));
      if (title) button.setAttribute("aria-label", `Show or hide: ${title}`);
      for (const sign of button.querySelectorAll("svg")) sign.setAttribute("aria-hidden", "true");
    }
  }

  /* What code prints is wrapped like text, but for lines with columns. */
  function wrap() {
    for (const pre of document.querySelectorAll(".cell_output pre")) {
      if (pre.querySelector("span:not(:empty)")) continue; // coloured
      pre.replaceChildren(...pre.textContent.split(/(?<=\n)/).map((line) => {
        if (!/\S {2,}\S/.test(line)) return line;
        const row = document.createElement("span");
        row.className = "columns";
        row.textContent = line;
        return row;
      }));
      pre.classList.add("sentences");
    }
  }

  /* A stop or a bracket stays on the line of the formula before it. */
  function hold() {
    for (const formula of document.querySelectorAll("span.math")) {
      const after = formula.nextSibling, stop = after && after.nodeType === 3 && after.data.match(/^[.,;:?!)’”]+/);
      if (!stop) continue;
      after.splitText(stop[0].length);
      const held = document.createElement("span");
      held.style.whiteSpace = "nowrap";
      formula.before(held);
      held.append(formula, after);
    }
  }

  const ready = (action) => {
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", action);
    else action();
  };
  /* Each entry to cite gets the address of its page. */
  function cite() {
    if (location.protocol !== "file:") for (const here of document.querySelectorAll(".cite-page .here")) here.textContent = `  url = {${location.href.split("#")[0]}}\n`;
  }

  /* A statement has an address; a mark in its title leads there. */
  function permalinks() {
    for (const box of document.querySelectorAll("div.proof[id], div.exercise[id]")) {
      const title = box.querySelector(".admonition-title");
      if (!title || title.querySelector(".headerlink")) continue;
      const link = document.createElement("a");
      link.className = "headerlink";
      link.href = `#${box.id}`;
      link.textContent = "#";
      link.setAttribute("aria-label", `Link to ${squeezed(title)}`);
      title.append(" ", link);
    }
  }

  /* Beside the next page, the next story, for who leaves out proofs and evidence. */
  function stories() {
    const links = [...document.querySelectorAll('.bd-sidebar-primary a[href$="story.html"], .bd-sidebar-primary li.current > a')];
    const here = links.findLastIndex((link) => link.closest("li.current"));
    const next = links.find((link, k) => k > here && link.href.endsWith("story.html"));
    const area = document.querySelector(".prev-next-area");
    if (!area || here < 0 || !next || area.querySelector(`.right-next[href="${next.getAttribute("href")}"]`)) return;
    const link = document.createElement("a");
    link.className = "next-story";
    link.href = next.href;
    link.textContent = `Next story: ${squeezed(next).replace(/^[\d.]+ /, "")}`;
    area.append(link);
  }

  /* Heads stand above their numbers; what a cell says of a property has the colour of a verdict. */
  const SAYS = { proved: "holds", "not broken": "holds", seen: "holds", fails: "refuted" };
  function tables() {
    for (const table of document.querySelectorAll(".bd-article table:is(.table, .dataframe)")) {
      const rows = [...table.rows], body = rows.filter((row) => row.closest("tbody"));
      if (rows.some((row) => [...row.cells].some((cell) => cell.colSpan > 1))) continue;
      for (let k = 0; k < (body[0]?.cells.length ?? 0); k++) {
        const words = body.map((row) => squeezed(row.cells[k])).filter(Boolean);
        if (words.length && words.every((word) => /^[-\u2212+]?[\d.,/ \u00a0\u00b1]+(?:e-?\d+)? ?%?$|^-$/.test(word)))
          for (const row of rows) row.cells[k]?.classList.add("number");
      }
      for (const cell of table.querySelectorAll("tbody td")) {
        const said = SAYS[squeezed(cell).toLowerCase()];
        if (said) cell.classList.add("says", `verdict-${said}`);
      }
    }
  }

  /* Under a finger a term first says what it means, and leads there at the second touch; Escape ends what it says. */
  function means(event) {
    const told = document.querySelector("a.means.told"), term = event.target.closest?.("a.means");
    told?.classList.remove("told");
    if (event.key === "Escape" && term) term.blur();
    if (event.pointerType !== "touch" || !term || term === told) return;
    event.preventDefault();
    term.classList.add("told");
  }
  for (const kind of ["click", "keydown"]) document.addEventListener(kind, means);

  ready(tables);
  ready(cite);
  ready(permalinks);
  ready(stories);
  ready(hold);
  ready(wrap);
  ready(reveal);
  addEventListener("hashchange", reveal);
  /* Printing opens proofs and solutions, not code or sources, and folds them again afterwards. */
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details:not([open]):not(.above-input, .below-input, .claim-more, .run-page, .cite-page, .account)")) {
      fold.open = true;
      opened.push(fold);
    }
  });
  addEventListener("afterprint", () => { for (const fold of opened.splice(0)) fold.open = false; });
  addEventListener("load", () => {
    solutions();
    reach();
    if (window.MathJax && MathJax.startup && MathJax.startup.promise) MathJax.startup.promise.then(reach);
  });
  addEventListener("resize", later);
  addEventListener("click", later); // solutions and tabs unfold
  document.addEventListener("toggle", later, true);
})();
