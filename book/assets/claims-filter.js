/* A filter for a page that lists the claims of a paper. It is built from the words on the page, keeps what it shows in the
   address (ledger.html#verdict=refuted&kind=theorem), and without it, and on paper, every claim is there. */
(function () {
  const FACETS = { verdict: "Verdict", kind: "Kind", grade: "Evidence" };
  const squeezed = (element) => element.textContent.replace(/\s+/g, " ").trim();

  function start() {
    const claims = [...document.querySelectorAll(".verdicts .claim-id")].map((id) => {
      const card = id.closest(".claim");
      return {
        card,
        words: `${squeezed(card.closest(".place").querySelector("p"))} ${squeezed(card)}`.toLowerCase(),
        verdict: [squeezed(card.querySelector(".claim-verdict"))],
        kind: [squeezed(card.querySelector(".claim-kind"))],
        grade: squeezed(card.querySelector(".claim-grade")).split(", "),
      };
    });
    if (!claims.length) return;

    const form = document.createElement("form");
    form.className = "claims-filter";
    form.autocomplete = "off";
    form.setAttribute("role", "search");
    form.setAttribute("aria-label", "Filter the claims");
    const selects = {};
    for (const [name, title] of Object.entries(FACETS)) {
      const label = document.createElement("label"), select = document.createElement("select");
      select.name = name;
      select.append(new Option("all", ""));
      const values = new Set(claims.flatMap((claim) => claim[name]));
      for (const value of [...values].sort()) select.append(new Option(value, value));
      label.append(`${title} `, select);
      form.append(label);
      selects[name] = select;
    }
    form.insertAdjacentHTML("beforeend",
      '<label class="claims-filter-words">Words, or a "phrase" <input type="search" name="q" spellcheck="false"></label>' +
      '<button type="reset">Show all</button><output name="found" aria-live="polite"></output>');
    const words = form.elements.q, found = form.elements.found;
    claims[0].card.closest(".verdicts").before(form);

    const fits = (claim, chosen, besides) =>
      chosen.q.every((word) => claim.words.includes(word)) &&
      Object.keys(FACETS).every((name) => name === besides || !chosen[name] || claim[name].includes(chosen[name]));

    function show() {
      const chosen = { q: (words.value.toLowerCase().match(/"[^"]+"|[^\s"]+/g) || []).map((w) => w.replaceAll('"', "")) };
      for (const name in selects) chosen[name] = selects[name].value;
      let count = 0;
      for (const claim of claims) {
        const fit = fits(claim, chosen);
        count += fit;
        claim.card.classList.toggle("claims-out", !fit);
      }
      // Each choice says how many claims it would leave, all other choices as they are.
      for (const name in selects) {
        const left = claims.filter((claim) => fits(claim, chosen, name));
        for (const option of selects[name].options) {
          const number = option.value ? left.filter((claim) => claim[name].includes(option.value)).length : left.length;
          option.text = `${option.value || "all"} (${number})`;
        }
      }
      found.value = `${count} of ${claims.length} claims`;
    }

    function address() {
      const kept = new URLSearchParams();
      for (const name in selects) if (selects[name].value) kept.set(name, selects[name].value);
      if (words.value.trim()) kept.set("q", words.value.trim());
      const hash = kept.toString();
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    }

    function follow() {
      const hash = location.hash.slice(1), asked = new URLSearchParams(hash.includes("=") ? hash : "");
      for (const [name, select] of Object.entries(selects)) {
        const value = asked.get(name) ?? "";
        select.value = [...select.options].some((option) => option.value === value) ? value : "";
      }
      words.value = asked.get("q") ?? "";
      show();
      if (hash.includes("=")) form.scrollIntoView();
      else if (hash) document.getElementById(hash)?.scrollIntoView(); // what it names may have been filtered out
    }

    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => { show(); address(); });
    form.addEventListener("reset", () => setTimeout(() => { show(); address(); }));
    addEventListener("hashchange", follow);
    follow();
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
