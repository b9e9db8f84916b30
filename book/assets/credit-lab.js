/* The credit laboratory of the cbDRF chapter: what two nodes are granted, phase by phase, under settings of the
   reader's own. It stands in for the picture inside each element of class credit-lab, or notebook cell with that tag,
   and keeps the caption; without scripts the picture stays. Nothing is fetched. It draws with what explore.js lends. */
(function () {
  "use strict";
  const { text, bring } = hand;
  const NEAR = 1e-9; // steps add up with rounding errors; a credit this near to C_0 or the floor is meant to be there
  const BLUE = "var(--hand-1, #0072b2)", RED = "var(--hand-2, #d55e00)";
  const disc = (x, y, r) => `<circle cx="${x}" cy="${y}" r="${r}" fill="${BLUE}"/>`;
  const square = (x, y, r) => `<rect x="${x - 1.5 * r}" y="${y - 1.5 * r}" width="${3 * r}" height="${3 * r}" ` +
    `fill="var(--hand-ground, #fff)" stroke="${RED}" stroke-width="1.6"/>`;
  const NODES = [{ name: "A", colour: BLUE, dash: "", marker: disc }, { name: "B", colour: RED, dash: "7 4", marker: square }];
  const PATTERNS = {
    always: { label: "always releases", says: () => "always releases", releases: () => true },
    never: { label: "never releases", says: () => "never releases", releases: () => false },
    from: { label: "releases from phase k on", says: (k) => `releases from phase ${k} on`, releases: (phase, k) => phase >= k },
    until: { label: "releases until phase k", says: (k) => `releases until phase ${k}`, releases: (phase, k) => phase <= k },
    second: { label: "every second phase (2, 4, ...)", says: () => "releases in every second phase", releases: (phase) => phase % 2 === 0 },
    own: { label: "as clicked below the chart", says: () => "releases as clicked below the chart", releases: (phase, k, kept) => !kept.has(phase) },
  };
  const PAPER = { down: 0.1, up: 0.1, floor: 0, phases: 10 };
  const PRESETS = {
    "Figure 2": { a: "never", b: "always", k: 6, capped: true },
    "Figure 3": { a: "from", b: "always", k: 6, capped: true },
    "Figure 4": { a: "never", b: "never", k: 6, capped: true },
    "Figure 5": { a: "always", b: "never", k: 6, capped: true },
    "Banked credit": { a: "until", b: "never", k: 5, capped: false },
  };
  const counts = (pattern) => ["from", "until"].includes(pattern); // whether it asks for k
  const FIRST = "Figure 5";

  /* The phases of one node. Credit is counted in units of C_0 and is that in force during the phase. A node that was
     granted nothing holds nothing, so it complies. */
  function run(rule, releases) {
    const snap = (credit) => [1, rule.floor].find((value) => Math.abs(credit - value) < NEAR) ?? credit;
    const rows = [];
    for (let phase = 1, credit = 1; phase <= rule.phases; phase++) {
      const factor = Math.min(1, credit);
      const complied = factor === 0 || releases(phase);
      rows.push({ phase, credit, factor, complied });
      const next = complied ? credit + rule.up : Math.max(rule.floor, credit - rule.down);
      credit = snap(rule.capped ? Math.min(1, next) : next);
    }
    return rows;
  }

  const round = (value, digits) => String(Number(value.toFixed(digits)));
  const percent = (factor) => `${round(100 * factor, 1)}\u00a0%`;

  /* What came of it, in words. */
  function outcome(runs) {
    const phases = runs[0].length;
    const parts = runs.map((rows, i) => {
      const last = rows[phases - 1], times = round(last.credit, 2);
      const lost = rows.reduce((sum, row) => sum + 1 - row.factor, 0);
      const loss = lost < NEAR ? "loses nothing" : `loses ${round(lost, 2)} phases' worth of its DRF amount`;
      const banked = last.credit > 1 + NEAR ? `, with ${times} times the initial credit` : "";
      return `node ${NODES[i].name} ${loss} and ends at ${percent(last.factor)}${banked}`;
    });
    return `Over ${phases} phases ${parts.join("; ")}.`;
  }

  /* The chart, drawn for the width that it has, so that its letters keep their size on a telephone. */
  function chart(runs, width) {
    const phases = runs[0].length, height = Math.round(Math.min(350, Math.max(270, 0.5 * width)));
    const left = 62, right = width - 16, top = 34, bottom = height - 88, rows = [bottom + 19, bottom + 37];
    const gap = (right - left - 24) / (phases - 1);
    const x = (phase) => round(left + 12 + (phase - 1) * gap, 2);
    const y = (factor) => round(bottom - factor * (bottom - top), 2);
    const radius = Math.min(3.2, 0.2 * gap), every = gap > 22 ? 1 : gap > 11 ? 2 : 5, middle = (top + bottom) / 2;
    const line = (x1, y1, x2, y2, more) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${more}/>`;
    const grid = 'class="h-grid"', axis = 'class="h-axis"', parts = [];
    for (const level of [0, 0.2, 0.4, 0.6, 0.8, 1])
      parts.push(line(left, y(level), right, y(level), grid), line(left - 4, y(level), left, y(level), axis), text(left - 8, Number(y(level)) + 4, "end", 100 * level));
    for (let phase = 1; phase <= phases; phase++) {
      if (every > 1 && phase % every && (phase > 1 || every === 2)) continue;
      parts.push(line(x(phase), top - 6, x(phase), bottom + 46, grid), line(x(phase), bottom + 46, x(phase), bottom + 50, axis), text(x(phase), bottom + 64, "middle", phase));
    }
    parts.push(line(left, top - 6, left, bottom + 46, axis), line(left, bottom + 46, right, bottom + 46, axis));
    parts.push(line(left, bottom + 8, right, bottom + 8, grid));
    parts.push(text((left + right) / 2, height - 6, "middle", "phase"));
    parts.push(text(14, middle, "middle", "granted / DRF amount (%)", `transform="rotate(-90 14 ${middle})"`));
    NODES.forEach((node, i) => {
      const points = runs[i].map((row) => `${x(row.phase)},${y(row.factor)}`).join(" "), start = left + 12 + i * 92;
      const look = `stroke="${node.colour}" stroke-width="2" stroke-dasharray="${node.dash}"`;
      parts.push(`<polyline points="${points}" fill="none" ${look}/>`, line(start, 14, start + 30, 14, look),
        text(start + 37, 18, "start", `node ${node.name}`), text(left - 8, rows[i] + 4, "end", `${node.name} keeps`));
    });
    for (const i of [1, 0]) { // B's open squares first: where the two coincide, A's dots lie inside them
      const node = NODES[i];
      parts.push(node.marker(left + 12 + i * 92 + 15, 14, 3.2));
      for (const row of runs[i]) {
        parts.push(node.marker(Number(x(row.phase)), Number(y(row.factor)), radius));
        if (!row.complied) {
          const px = Number(x(row.phase)), py = rows[i], a = Math.min(4, 0.36 * gap), look = `stroke="${node.colour}"`;
          parts.push(`<path d="M${px - a} ${py - a}l${2 * a} ${2 * a}m${-2 * a} 0l${2 * a} ${-2 * a}" ${look} stroke-width="1.8"/>`);
        }
      }
    }
    NODES.forEach((node, i) => { // what a click, or the space bar, turns round; the arrows go from phase to phase
      for (const { phase, complied } of runs[i])
        parts.push(`<rect class="credit-lab-phase" x="${Number(x(phase)) - gap / 2}" y="${rows[i] - 9}" width="${gap}" height="18" fill="transparent" ` +
          `tabindex="${phase === 1 ? 0 : -1}" role="checkbox" aria-checked="${!complied}" aria-label="node ${node.name} keeps in phase ${phase}" data-node="${i}" data-phase="${phase}"/>`);
    });
    return `<svg viewBox="0 0 ${width} ${height}" role="group" focusable="false">${parts.join("")}</svg>`;
  }

  /* Every number behind the chart; <data> keeps the unrounded value. */
  function table(runs) {
    const data = (value, words) => `<td><data value="${value}">${words}</data></td>`;
    const cells = (row) => data(row.credit, round(row.credit, 2)) + data(row.factor, percent(row.factor)) +
      `<td>${row.factor === 0 ? "has nothing" : row.complied ? "yes" : "no"}</td>`;
    const line = (row, t) => `<tr><th scope="row">${row.phase}</th>${runs.map((rows) => cells(rows[t])).join("")}</tr>`;
    const group = NODES.map((node) => `<th scope="colgroup" colspan="3">Node ${node.name}</th>`).join("");
    const heads = ["credit / C<sub>0</sub>", "granted / DRF amount", "releases"].map((column) => `<th scope="col">${column}</th>`);
    return `<table class="table" aria-label="Credit and grants by phase"><thead><tr><th scope="col" rowspan="2">Phase</th>${group}</tr>` +
      `<tr>${NODES.map(() => heads.join("")).join("")}</tr></thead><tbody>${runs[0].map(line).join("")}</tbody></table>`;
  }

  const slider = (name, label, most, least = "0") =>
    `<label><span>${label}</span><span class="credit-lab-value" aria-hidden="true"></span>` +
    `<input type="range" name="${name}" min="${least}" max="${most}" step="0.01"></label>`;
  const nodeControls = ({ name }) => {
    const key = name.toLowerCase(), options = Object.entries(PATTERNS).map(([value, { label }]) => `<option value="${value}">${label}</option>`);
    return `<fieldset><legend>Node ${name}</legend><label><span>Behaviour</span><select name="pattern-${key}">${options.join("")}</select></label>` +
      '<label><span>Phase k</span><span class="credit-lab-value" aria-hidden="true"></span>' +
      `<input type="range" name="from-${key}" min="1" max="10" step="1"></label></fieldset>`;
  };
  const LAB =
    '<div class="credit-lab-presets" role="group" aria-label="Settings">' +
    "<span>Settings of the paper, and one without a cap:</span> " +
    Object.keys(PRESETS).map((name) => `<button type="button" value="${name}">${name}</button>`).join(" ") +
    '</div><p class="credit-lab-outcome" aria-live="polite"></p><div class="credit-lab-plot"></div>' +
    "<p>Click a phase in the rows <em>A keeps</em> and <em>B keeps</em> to write any history.</p>" +
    '<p class="credit-lab-settings"></p><div class="credit-lab-controls">' +
    '<fieldset class="credit-lab-rule"><legend>Rule</legend>' +
    slider("down", "Step down &epsilon;&prime;", "0.5", "0.01") +
    slider("up", "Step up &epsilon;", "0.5") +
    slider("floor", "Least credit", "0.5") +
    '<label class="credit-lab-tick"><input type="checkbox" name="capped">' +
    "<span>Cap credit at C<sub>0</sub></span></label>" +
    '<label><span>Phases</span><select name="phases">' +
    "<option>10</option><option>20</option><option>40</option></select></label>" +
    `</fieldset>${NODES.map(nodeControls).join("")}</div>` +
    '<details><summary>The numbers</summary><div class="credit-lab-numbers"></div></details>';

  function build(container) {
    // What stands in the figure beside its caption gives way; without a figure, all pictures.
    const place = container.querySelector(".cell_output") ?? container;
    const figure = place.querySelector("figure");
    const fallback = figure
      ? [...figure.children].filter((child) => child.localName !== "figcaption")
      : [...place.querySelectorAll("img, svg, object")];
    const form = document.createElement("form");
    form.className = "credit-lab-form hand";
    form.autocomplete = "off";
    form.setAttribute("aria-label", "Credit of two nodes over phases");
    form.innerHTML = LAB;
    if (figure) figure.prepend(form);
    else if (fallback.length) fallback[0].before(form);
    else place.append(form);
    fallback.forEach((element) => { element.hidden = true; });

    const fields = form.elements;
    const find = (name) => form.querySelector(`.credit-lab-${name}`);
    const kept = NODES.map(() => new Set()); // of each node, the phases after which it keeps what it has
    let runs = [], drawn = 0;

    function draw() {
      const plot = find("plot"), width = Math.max(280, Math.round(plot.clientWidth));
      if (!plot.clientWidth) return; // folded away; the observer calls again
      drawn = plot.clientWidth;
      plot.innerHTML = chart(runs, width);
      plot.firstChild.setAttribute("aria-label", `Line chart of granted / DRF amount. ${find("outcome").textContent}`);
    }

    function update() {
      const rule = { capped: fields.capped.checked, phases: Number(fields.phases.value) };
      for (const name of ["down", "up", "floor"]) rule[name] = Number(fields[name].value);
      const nodes = NODES.map((node) => {
        const key = node.name.toLowerCase(), from = fields[`from-${key}`], pattern = fields[`pattern-${key}`].value;
        from.max = rule.phases;
        from.disabled = !counts(pattern);
        return { pattern, k: Number(from.value) };
      });
      runs = nodes.map(({ pattern, k }, i) => run(rule, (phase) => PATTERNS[pattern].releases(phase, k, kept[i])));

      form.querySelectorAll("input[type=range]").forEach((input) => {
        const words = input.step === "1" ? input.value : `${Number(input.value).toFixed(2)} C\u2080`;
        input.parentElement.querySelector(".credit-lab-value").textContent = words;
        input.setAttribute("aria-valuetext", input.step === "1" ? `phase ${words}` : `${input.value} times C 0`);
      });
      const paper = Object.keys(PAPER).every((name) => rule[name] === PAPER[name]);
      form.querySelectorAll("button").forEach((button) => {
        const { a, b, k, capped } = PRESETS[button.value];
        const same = paper && rule.capped === capped && nodes[0].pattern === a && nodes[1].pattern === b &&
          (!counts(a) || nodes[0].k === k);
        button.setAttribute("aria-pressed", String(same));
      });
      find("outcome").textContent = outcome(runs);
      find("settings").textContent =
        `Step down ${round(rule.down, 2)} C\u2080, step up ${round(rule.up, 2)} C\u2080, ` +
        `least credit ${round(rule.floor, 2)} C\u2080, ${rule.capped ? "cap C\u2080" : "no cap"}. ` +
        nodes.map(({ pattern, k }, i) => `Node ${NODES[i].name} ${PATTERNS[pattern].says(k)}.`).join(" ");
      find("numbers").innerHTML = table(runs);
      draw();
    }

    function preset(name) {
      const { a, b, k, capped } = PRESETS[name];
      for (const key of ["down", "up", "floor", "phases"]) fields[key].value = String(PAPER[key]);
      fields.capped.checked = capped;
      for (const [key, pattern] of [["a", a], ["b", b]]) [fields[`pattern-${key}`].value, fields[`from-${key}`].value] = [pattern, k];
      update();
    }

    /* The state in the address: all settings by name, and the phases that were clicked. */
    function keep() {
      const state = new URLSearchParams();
      for (const field of fields)
        if (field.name) state.set(field.name, field.type === "checkbox" ? Number(field.checked) : field.value);
      kept.forEach((phases, i) => state.set(`kept-${i}`, [...phases].sort((a, b) => a - b).join(" ")));
      history.replaceState(null, "", `#credit=${encodeURIComponent(state)}`);
    }
    function follow() {
      if (!location.hash.startsWith("#credit=")) return;
      let asked = "";
      try { asked = decodeURIComponent(location.hash.slice(8)); } catch { return; }
      const state = new URLSearchParams(asked);
      fields.phases.value = state.get("phases") ?? "10";
      update(); // a slider cannot be moved past the number of phases
      for (const field of fields) {
        if (!state.has(field.name)) continue;
        if (field.type === "checkbox") field.checked = state.get(field.name) === "1";
        else field.value = state.get(field.name);
      }
      kept.forEach((phases, i) => {
        phases.clear();
        for (const one of (state.get(`kept-${i}`) ?? "").split(" ").map(Number)) if (one > 0) phases.add(one);
      });
      update();
      form.scrollIntoView();
    }
    function turn(cell) {
      const i = Number(cell.dataset.node), phase = Number(cell.dataset.phase), pattern = fields[`pattern-${"ab"[i]}`];
      if (pattern.value !== "own") { // the history so far is the one to change
        kept[i].clear();
        for (const row of runs[i]) if (!row.complied) kept[i].add(row.phase);
        pattern.value = "own";
      }
      if (!kept[i].delete(phase)) kept[i].add(phase);
      update();
      keep();
      point(i, phase);
    }
    const point = (i, phase) => find("plot").querySelector(`[data-node="${i}"][data-phase="${phase}"]`)?.focus();

    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => { update(); keep(); });
    form.addEventListener("keydown", (event) => {
      const cell = event.target.closest?.(".credit-lab-phase"), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!cell || !(step || [" ", "Enter"].includes(event.key))) return;
      event.preventDefault();
      if (step) point(cell.dataset.node, Number(cell.dataset.phase) + step);
      else turn(cell);
    });
    form.addEventListener("click", (event) => {
      const button = event.target.closest("button"), cell = event.target.closest(".credit-lab-phase");
      if (cell) turn(cell);
      if (!button) return;
      preset(button.value);
      keep();
    });
    preset(FIRST);
    addEventListener("hashchange", follow);
    follow();
    new ResizeObserver(() => requestAnimationFrame(() => { if (find("plot").clientWidth !== drawn) draw(); })).observe(find("plot"));
  }

  bring(".credit-lab, .tag_credit-lab", build);
})();
