/* Water filling under the reader's hand: the levels of three teams rise together until a resource is full. It stands in
   for the picture inside each element of class water-filling; without JavaScript the picture stays. What it shows is
   what fairbook.drf computes; a test holds it. Python in the page would be megabytes. Nothing is fetched, nothing is put into the global scope. */
(function () {
  "use strict";
  const TEAMS = [{ name: "A", colour: "var(--hand-1, #0072b2)" }, { name: "B", colour: "var(--hand-2, #d55e00)" }, { name: "C", colour: "var(--hand-3, #009e73)" }];
  const POOL = [{ name: "CPU", unit: "cores", all: 9 }, { name: "memory", unit: "GB", all: 18 }];
  const PRESETS = {
    "Two teams": [[1, 4, 1], [3, 1, 1], [0, 0, 1]],
    "Three teams": [[1, 4, 1], [3, 1, 1], [2, 2, 1]],
    "A counts double": [[1, 4, 2], [3, 1, 1], [0, 0, 1]],
    "C needs no memory": [[1, 5, 1], [0, 1, 1], [1, 0, 1]],
  };
  const FIELDS = [["cpu", "cores a task", 0, 6, 1], ["memory", "GB a task", 0, 6, 1], ["weight", "weight", 1, 4, 1]];

  /* Pour until nobody can rise, or up to a level. A level is the dominant share over the weight. */
  function pour(teams, most = Infinity) {
    const share = teams.map(([c, m]) => Math.max(c / POOL[0].all, m / POOL[1].all));
    const level = teams.map(() => 0), stop = teams.map(() => -1), left = [1, 1];
    let active = teams.map((_, i) => i).filter((i) => share[i] > 0), now = 0;
    while (active.length && now < most) {
      const rate = POOL.map((pool, r) =>
        active.reduce((sum, i) => sum + (teams[i][2] * teams[i][r]) / pool.all / share[i], 0));
      const steps = rate.map((one, r) => (one > 0 ? left[r] / one : Infinity));
      const next = Math.min(...steps), step = Math.min(next, most - now);
      now += step;
      const full = step < next ? [] : steps.flatMap((one, r) => (one <= next * (1 + 1e-12) ? [r] : []));
      rate.forEach((one, r) => { left[r] = full.includes(r) ? 0 : left[r] - one * step; });
      for (const i of active) level[i] = now;
      for (const i of active) stop[i] = full.find((r) => teams[i][r] > 0) ?? -1;
      active = active.filter((i) => stop[i] < 0);
    }
    const tasks = level.map((one, i) => (share[i] ? (one * teams[i][2]) / share[i] : 0));
    return { level, stop, tasks, share: level.map((one, i) => one * teams[i][2]), rising: active };
  }

  const round = (value, digits) => String(Number(value.toFixed(digits)));
  const asks = ([cores, memory]) => cores > 0 || memory > 0;
  const dominant = ([cores, memory]) => {
    const parts = [cores / POOL[0].all, memory / POOL[1].all];
    return parts[0] === parts[1] ? "both" : POOL[Number(parts[1] > parts[0])].name;
  };
  const joined = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

  /* What came of it, in words. */
  function outcome(teams, found) {
    const asking = TEAMS.map((_, i) => i).filter((i) => asks(teams[i]));
    const runs = joined(asking.map((i) => `${TEAMS[i].name} runs ${round(found.tasks[i], 2)}`));
    if (!asking.length) return "Nobody asks for anything.";
    if (found.rising.length) return `${runs} tasks so far, and ${joined(found.rising.map((i) => TEAMS[i].name))} still rise${found.rising.length > 1 ? "" : "s"}.`;
    const stops = POOL.flatMap((pool, r) => {
      const stopped = asking.filter((i) => found.stop[i] === r).map((i) => TEAMS[i].name);
      return stopped.length ? [`${pool.name} is full and stops ${joined(stopped)}`] : [];
    });
    return `${runs} tasks. ${joined(stops)}.`;
  }

  /* Two tanks, filled by the teams, and one column for each team that asks for something, under the common level. */
  function chart(teams, found, width) {
    const height = 302, top = 26, bottom = 246, left = 44, y = (part) => round(bottom - part * (bottom - top), 2);
    const asking = teams.filter(asks), slot = (width - left) / 5, wide = Math.min(84, 0.66 * slot), text = (x, py, words, more = "") =>
      `<text x="${round(x, 1)}" y="${py}" text-anchor="middle" ${more}>${words}</text>`;
    const bar = (x, from, to, colour) =>
      `<rect x="${round(x - wide / 2, 1)}" y="${y(to)}" width="${round(wide, 1)}" height="${round(y(from) - y(to), 2)}" fill="${colour}"/>`;
    const frame = (x) =>
      `<path d="M${round(x - wide / 2, 1)} ${top}V${bottom}h${round(wide, 1)}V${top}" fill="none" stroke="currentColor" stroke-width="1.5"/>`;
    const small = (x, ...lines) => // side by side where there is room
      (slot > 105 ? [lines.join(" ")] : lines).map((line, k) => text(x, bottom + 34 + 14 * k, line, 'class="small"')).join("");
    const parts = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => [
      `<path d="M${left} ${y(part)}H${width}" class="h-grid"/>`,
      `<text x="${left - 6}" y="${Number(y(part)) + 4}" text-anchor="end" class="small">${100 * part} %</text>`]);
    POOL.forEach((pool, r) => {
      const x = left + (r + 0.5) * slot;
      let from = 0;
      teams.forEach((team, i) => {
        const to = from + (found.tasks[i] * team[r]) / pool.all;
        parts.push(bar(x, from, to, TEAMS[i].colour));
        from = to;
      });
      parts.push(frame(x), text(x, bottom + 18, pool.name), small(x, `${round(from * pool.all, 1)} of`, `${pool.all} ${pool.unit}`));
      if (from > 1 - 1e-9) parts.push(text(x, top - 8, "full"));
    });
    const most = Math.max(...teams.map((team) => team[2]));
    teams.forEach((team, i) => {
      if (!asks(team)) return;
      const x = left + (asking.indexOf(team) + 2.5) * slot;
      parts.push(bar(x, 0, found.share[i], TEAMS[i].colour), text(x, bottom + 18, `team ${TEAMS[i].name}`),
        small(x, `${round(100 * found.share[i], 0)} % of`, dominant(team)));
      const level = Math.min(1, Math.max(...found.level) * team[2]);
      parts.push(`<path d="M${round(x - 0.48 * slot, 1)} ${y(level)}H${round(x + 0.48 * slot, 1)}" stroke="currentColor" stroke-width="1.5" stroke-dasharray="5 3"/>`);
    });
    parts.push(`<path d="M${left + 2 * slot} ${bottom}H${width}" stroke="currentColor"/>`);
    const room = width > 420; // for a whole sentence
    parts.push(text((left + 2 * slot + width) / 2, top - 8, !room ? "dominant shares" : most > 1 ? "dominant shares; the level, times the weight" : "dominant shares, under one level", 'class="small"'));
    return `<svg viewBox="0 0 ${width} ${height}" role="img" focusable="false">${parts.join("")}</svg>`;
  }

  function build(home, number) {
    const rows = TEAMS.map(({ name }, i) => {
      const inputs = FIELDS.map(([key, label, least, most, step]) =>
        `<label><span>${label}</span> <b></b><input type="range" name="${key}${i}" min="${least}" max="${most}" step="${step}" aria-label="team ${name}: ${label}"></label>`);
      return `<fieldset class="team-${name}"><legend>Team ${name}</legend>${inputs.join("")}</fieldset>`;
    });
    const form = document.createElement("form");
    home.id ||= `water-${number + 1}`;
    form.className = "water-filling-form hand";
    form.autocomplete = "off";
    form.innerHTML =
      `<div class="water-filling-presets" role="group" aria-label="Examples">${Object.keys(PRESETS).map((name) => `<button type="button" value="${name}">${name}</button>`).join("")}</div>` +
      '<p class="water-filling-outcome" aria-live="polite"></p><div class="water-filling-plot"></div>' +
      '<div class="water-filling-pour"><button type="button" name="pour">Pour</button><label><span>How far</span><input type="range" name="level" min="0" max="100" step="1" value="100"></label></div>' +
      `<details><summary>Change the teams</summary><div class="water-filling-teams">${rows.join("")}</div></details>`;
    home.replaceChildren(form, ...[...home.querySelectorAll("figcaption")].map((caption) => Object.assign(document.createElement("p"), { innerHTML: caption.innerHTML })));
    const fields = form.elements, plot = form.querySelector(".water-filling-plot"), said = form.querySelector(".water-filling-outcome");
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let timer = 0;

    function show() {
      const teams = TEAMS.map((_, i) => FIELDS.map(([key]) => Number(fields[key + i].value)));
      const end = Math.max(...pour(teams).level), part = Number(fields.level.value) / 100;
      const found = part < 1 ? pour(teams, part * end) : pour(teams);
      for (const input of form.querySelectorAll("fieldset input")) input.previousElementSibling.textContent = input.value;
      plot.innerHTML = chart(teams, found, Math.max(300, plot.clientWidth || 640));
      said.innerHTML = outcome(teams, found);
      said.dataset.tasks = JSON.stringify(found.tasks);
      plot.firstChild.setAttribute("aria-label", said.textContent);
      for (const button of form.querySelectorAll(".water-filling-presets button"))
        button.setAttribute("aria-pressed", String(JSON.stringify(PRESETS[button.value]) === JSON.stringify(teams)));
    }
    const teams = () => TEAMS.map((_, i) => FIELDS.map(([key]) => fields[key + i].value).join(",")).join(";");
    const keep = () => history.replaceState(null, "", `#water-${number + 1}=${teams()}@${fields.level.value}`);
    function put(values, level) {
      values.forEach((team, i) => FIELDS.forEach(([key], j) => { fields[key + i].value = team[j]; }));
      fields.level.value = level;
      show();
    }
    function follow() {
      const asked = location.hash.match(new RegExp(`^#water-${number + 1}=([\\d,;]+)@(\\d+)$`));
      if (!asked) return false;
      put(asked[1].split(";").slice(0, TEAMS.length).map((team) => team.split(",")), asked[2]);
      home.scrollIntoView();
      return true;
    }
    function move(started, time) {
      fields.level.value = Math.min(100, (time - started) / 25);
      show();
      timer = fields.level.value < 100 ? requestAnimationFrame((later) => move(started, later)) : 0;
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => { cancelAnimationFrame(timer); show(); keep(); });
    form.addEventListener("click", (event) => {
      const { name, value } = event.target;
      cancelAnimationFrame(timer);
      if (PRESETS[value]) {
        put(PRESETS[value], 100);
        keep();
      } else if (name === "pour") {
        if (still.matches) { fields.level.value = 100; show(); }
        else timer = requestAnimationFrame((now) => move(now, now));
      }
    });
    put(Object.values(PRESETS)[0], 100);
    new ResizeObserver(show).observe(plot);
    addEventListener("hashchange", follow);
    if (follow() || still.matches || !home.classList.contains("pours")) return;
    const seen = new IntersectionObserver((entries) => { // pours once by itself
      if (!entries.some((one) => one.isIntersecting)) return;
      seen.disconnect();
      timer = requestAnimationFrame((now) => move(now, now));
    });
    seen.observe(plot);
  }

  const start = () => document.querySelectorAll(".water-filling").forEach(build);
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
