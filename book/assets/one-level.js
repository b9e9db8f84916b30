/* The rule of the page "One level" under the reader's hand: users are columns, as wide as their weight, that begin on a
   floor, end at a lid, and rise with one level until a resource is used up. Each mechanism gives these its own names and
   numbers (tools/one_level.py). It stands in for the picture and the table in each figure of class one-level; without
   scripts, and in print, these stay. What it computes is what the library computes; a test holds it. Nothing is fetched.
   It draws with what explore.js lends. */
(function () {
  "use strict";
  const { escape, text, round, ticks, svg, bring } = hand;
  const NAMES = "ABCDEF", KEYS = ["weight", "floor", "lid", "start", "credit"], NEAR = 1e-12;
  const POOL = [["CPU", "cores"], ["memory", "GB"]], VMS = [["the pool", "VMs"]];
  const sum = (values) => values.reduce((all, one) => all + one, 0);
  const joined = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);
  const colour = (name) => `var(--hand-${NAMES.indexOf(name) + 1})`;
  const range = (n) => Array.from({ length: n }, (_, i) => i);

  /* fairbook.filling: the level of each, and what stops it: a resource, -1 its lid, -2 nothing. Where all end together,
     as at an arrival of DMFA-SRQ, the first resource that is used up stops everybody. It can be watched up to a level. */
  function fill(need, begin, lid, left, together, most = Infinity) {
    const level = [...begin], stop = begin.map(() => -2), full = left.map((x) => x <= 0);
    let now = Math.min(...begin), alive = range(begin.length);
    left = [...left];
    for (;;) {
      alive = alive.filter((i) => {
        stop[i] = lid[i] <= now || lid[i] === begin[i] ? -1 : full.findIndex((over, j) => over && (together || need[i][j] > 0));
        if (stop[i] < 0 && lid[i] > now && lid[i] > begin[i]) stop[i] = -2;
        return stop[i] === -2;
      });
      if (!alive.length || now >= most) return { level, stop, line: now };
      const rising = alive.filter((i) => begin[i] <= now);
      const rate = left.map((_, j) => sum(rising.map((i) => need[i][j]))), steps = rate.map((one, j) => (one > 0 ? left[j] / one : Infinity));
      const next = Math.min(most, now + Math.min(...steps), ...alive.map((i) => (begin[i] > now ? begin[i] : lid[i])));
      steps.forEach((step, j) => {
        full[j] ||= now + step <= next + NEAR * Math.max(1, next);
        left[j] = full[j] ? 0 : left[j] - rate[j] * (next - now);
      });
      now = next;
      for (const i of rising) level[i] = now;
    }
  }

  /* What each user gets under a mechanism, and the levels at which its column starts, has its floor, stands and ends. */
  function allot({ kind, pool, users }, { fields }, most) {
    const virtual = kind === "virtual_cluster", size = virtual ? pool.slice(0, 1) : pool, together = kind === "dmfa_srq";
    const own = (user, key, none) => (key in fields ? user[key] ?? none : none), all = sum(users.map((one) => own(one, "weight", 1)));
    const found = users.map((user) => {
      const need = virtual ? [1] : user.need.slice(0, pool.length), share = Math.max(...need.map((d, j) => d / size[j]));
      const weight = own(user, "weight", 1), credit = own(user, "credit", 1);
      const rate = virtual ? user.lid ?? size[0] : share && weight / all / share; // tasks for a unit of level
      const level = (tasks) => (rate ? tasks / rate : 0), start = level(own(user, "start", 0));
      const lid = kind === "cbdrf" && credit < 1 ? credit : start + level(own(user, "lid", virtual ? rate : Infinity));
      const floor = Math.min(start + level(own(user, "floor", 0)), lid);
      return { name: user.name, need, rate, wide: virtual ? rate : weight, start, floor, lid: rate && lid, part: kind === "cbdrf_scaled" ? credit : 1 };
    });
    const need = found.map((one) => one.need.map((d) => d * one.rate)), floors = found.map((one) => one.floor);
    const rest = () => size.map((all, j) => all - sum(found.map((one, i) => need[i][j] * (floors[i] - one.start))));
    const short = rest().findIndex((x, j) => x < -1e-9 * size[j]), stay = short >= 0 && !together;
    if (short >= 0 && together) floors.splice(0, users.length, ...fill(need, floors.map(() => 0), floors, size, true).level); // who left took its part along
    const left = rest().map((x, j) => (x < 1e-9 * size[j] ? 0 : x));
    const { level, stop, line } = fill(need, floors, stay ? floors : found.map((one) => one.lid), left, together, most);
    found.forEach((one, i) => {
      one.level = one.start + (level[i] - one.start) * one.part;
      Object.assign(one, { floor: floors[i], tasks: (one.level - one.start) * one.rate, stop: stop[i] });
    });
    const used = size.map((_, j) => sum(found.map((one) => one.tasks * one.need[j])));
    return { users: found, size, used, line, short: stay ? short : -1, names: virtual ? VMS : POOL };
  }
  const tasksOf = (name, found) => found?.users.find((one) => one.name === name)?.tasks;
  const isFull = ({ used, size }, j) => used[j] > size[j] * (1 - 1e-9);

  /* What came of it, in words. */
  function outcome(found, { unit, stands, ends }, before) {
    const { users, size, names, used, short, line } = found, resources = names.slice(0, size.length), said = [];
    const say = (test, words) => { const some = users.filter(test).map((one) => one.name); if (some.length) said.push(words(joined(some))); };
    said.push(joined(users.map(({ name, tasks }, i) => {
      const old = tasksOf(name, before), was = Math.abs(old - tasks) > 1e-6 ? ` (before: ${round(old)})` : "";
      return i ? `${name} ${round(tasks)}${was}` : `${name} runs ${round(tasks)} ${unit}${was}`;
    })));
    if (short >= 0) said.push(`These floors do not fit: of ${names[short][0]} they take ${round(used[short])}, and there is ${round(size[short])}`);
    else {
      resources.forEach(([name], j) => isFull(found, j) &&
        say((one) => one.stop === j && one.floor <= line, (some) => `${name[0].toUpperCase()}${name.slice(1)} is full and stops ${some}`));
      say((one) => one.stop !== -1 && one.floor > Math.max(one.start, line), (some) => `${stands}: ${some}`);
      say((one) => one.stop !== -1 && one.floor === one.start && one.start > line, (some) => `Above the water, and waiting: ${some}`);
      say((one) => one.stop === -1 && one.rate, (some) => `${ends}: ${some}`);
      say((one) => one.stop === -2 && one.floor <= line, (some) => `The water still rises under ${some}`);
      const idle = resources.flatMap(([, unit], j) => (isFull(found, j) ? [] : [`${round(size[j] - used[j])} ${unit}`]));
      if (idle.length) said.push(`Idle: ${joined(idle)}`);
    }
    return `${said.join(". ")}.`;
  }

  /* A column for each user, with the level, and the pool beside them. Dashed outlines: what each had before. */
  function picture(found, before, { unit }, width, title) {
    const { users, size, names, used, line } = found, top = 24, bottom = 226, left = 34;
    const tank = Math.min(104, 0.17 * width), right = width - tank * size.length - 8, slot = (right - left) / users.length;
    const ghost = users.map((one) => one.start + (tasksOf(one.name, before) ?? one.tasks) / (one.rate || Infinity));
    const tall = Math.max(1, line, ...ghost, ...users.flatMap((one) => [one.level, one.floor]));
    const high = 1.06 * Math.max(tall, ...users.map((one) => one.lid).filter((lid) => lid < 1.5 * tall));
    const most = Math.max(...users.map((one) => one.wide)), y = (level) => Number((bottom - (level / high) * (bottom - top)).toFixed(2));
    const rect = (x, wide, from, to, look) =>
      `<rect x="${x.toFixed(1)}" y="${y(to)}" width="${wide.toFixed(1)}" height="${Math.max(0, y(from) - y(to)).toFixed(2)}" ${look}/>`;
    const path = (d, more = 'class="h-axis" stroke-width="2"') => `<path d="${d}" ${more}/>`;
    const below = (x, name, words) => text(x, bottom + 17, "middle", name, 'font-weight="600"') + text(x, bottom + 33, "middle", words);
    const parts = ticks(0, high).flatMap((level) =>
      [path(`M${left} ${y(level)}H${right}`, 'class="h-grid"'), text(left - 5, y(level) + 4, "end", round(level))]);
    users.forEach((one, i) => {
      const wide = Math.max(5, (0.8 * slot * one.wide) / most), middle = left + (i + 0.5) * slot, x = middle - wide / 2;
      const fill = `fill="${colour(one.name)}"`, floor = Math.min(one.floor, one.level);
      parts.push(rect(x, wide, 0, one.start, 'fill="var(--hand-grid)"'), rect(x, wide, one.start, floor, fill));
      parts.push(rect(x, wide, floor, one.level, `${fill} fill-opacity=".55"`), below(middle, one.name, `${round(one.tasks)}${slot > 64 ? ` ${unit}` : ""}`));
      if (one.rate && one.lid <= high) parts.push(path(`M${x - 3} ${y(one.lid) + 8}v-8h${wide + 6}v8`));
      if (Math.abs(ghost[i] - one.level) > 1e-6) parts.push(rect(x - 3, wide + 6, one.start, ghost[i], 'class="h-mark"'));
    });
    parts.push(path(`M${left} ${y(line)}H${right}`, 'class="h-mark"'), path(`M${left} ${bottom}H${right}`), text(left - 5, 12, "start", "level"));
    size.forEach((all, j) => {
      const wide = 0.62 * tank, x = right + 8 + (j + 0.19) * tank, middle = x + wide / 2;
      let from = 0;
      for (const one of users)
        parts.push(rect(x, wide, from, (from += (one.tasks * one.need[j] * high) / all), `fill="${colour(one.name)}" fill-opacity=".75"`));
      parts.push(path(`M${x} ${top}V${bottom}h${wide}V${top}`), below(middle, names[j][0], `${round(used[j])}${tank > 80 ? " of " : "/"}${round(all)}`));
      if (isFull(found, j)) parts.push(text(middle, top - 8, "middle", "full"));
    });
    return svg(width, bottom + 42, title, parts);
  }

  function build(home) {
    const { mechanisms, state: first } = JSON.parse(home.querySelector("script").textContent), form = document.createElement("form");
    const button = (name, words, value = "") => `<button type="button" name="${name}" value="${value}">${escape(words)}</button>`;
    form.className = "explore-form hand level-form";
    form.autocomplete = "off";
    form.innerHTML = `<div class="level-buttons" role="group" aria-label="Mechanism">${Object.entries(mechanisms).map(([kind, { name }]) => button("kind", name, kind)).join("")}</div>` +
      '<p class="explore-said" aria-live="polite"></p><div class="explore-panels"></div><p class="explore-users"></p>' +
      '<label class="level-pour"><span>Pour</span><input type="range" name="pour" min="0" max="100" value="100"></label>' +
      `<div class="level-users"></div><div class="level-buttons">${button("add", "Add a user")}${button("second", "")}${button("again", "Start again")}</div>`;
    home.prepend(form);
    home.allot = (state) => allot(state, mechanisms[state.kind]);
    const find = (what) => form.querySelector(what), panels = find(".explore-panels"), fields = form.elements;
    let state = structuredClone(first), found = null, before = null, typing = false, drawn = 0;

    function show() {
      const mechanism = mechanisms[state.kind], part = Number(fields.pour.value) / 100;
      found = home.allot(state);
      const low = Math.min(...found.users.map((one) => one.floor)), seen = part < 1 ? allot(state, mechanism, low + part * (found.line - low)) : found;
      const said = outcome(seen, mechanism, before);
      drawn = panels.clientWidth;
      find(".explore-said").textContent = said;
      panels.innerHTML = picture(seen, before, mechanism, Math.max(280, drawn || 720), said);
    }
    const field = (name, words, value, who, more) =>
      `<td><input type="number" name="${name}" value="${value === null ? "" : Number(value.toPrecision(5))}" step="any" inputmode="decimal" aria-label="${who}: ${words}" ${more}></td>`;
    function ask() { // for the numbers of this mechanism, a column for each user
      const { fields: named, key } = mechanisms[state.kind], virtual = state.kind === "virtual_cluster", size = virtual ? 1 : state.pool.length;
      const needs = virtual ? [] : range(size).map((j) => [`need.${j}`, `${POOL[j][1]} a task`, (one) => one.need[j]]);
      const rows = [...needs, ...Object.entries(named).map(([name, words]) => [name, words, (one) => one[name]])];
      const limits = { weight: 'required min="0.001"', lid: 'min="0" placeholder="∞"', credit: 'required min="0" max="1"' };
      const heads = state.users.map(({ name }, i) => `<th scope="col"><span><i style="background:${colour(name)}"></i>${name}` +
        `<button type="button" name="remove" value="${i}" aria-label="remove ${name}"${state.users.length < 2 ? " disabled" : ""}>×</button></span></th>`);
      const lines = rows.map(([name, words, value], j) => `<tr><th scope="row">${words}</th>` +
        state.users.map((one, i) => field(`${i}.${name}`, words, value(one), one.name, limits[name] ?? 'required min="0"')).join("") +
        (j < size ? field(`pool.${j}`, virtual ? "VMs" : POOL[j][1], state.pool[j], "pool", 'required min="0.001"') : "<td></td>") + "</tr>");
      find(".level-users").innerHTML = '<table aria-label="The numbers"><thead><tr><td></td>' +
        `${heads.join("")}<th scope="col">pool</th></tr></thead><tbody>${lines.join("")}</tbody></table>`;
      find(".explore-users").textContent =
        `${key} Dashed line: the common level. Dashed outline: before. At level 1 a user has ${virtual ? "its whole wish" : "as much as on its own part of the pool"}.`;
      form.querySelectorAll("[name=kind]").forEach((one) => one.setAttribute("aria-pressed", String(one.value === state.kind)));
      fields.add.disabled = state.users.length === NAMES.length;
      fields.second.hidden = virtual;
      fields.second.textContent = size > 1 ? "One resource" : "A second resource";
    }
    const written = () => [state.kind, state.pool, ...state.users.map((one) => [one.name, ...one.need, ...KEYS.map((key) => one[key])])].join(";");
    function change(alter, typed) { // where users bring their part of the pool, it grows and shrinks with them
      if (!typed || !typing) before = found;
      typing = Boolean(typed);
      const same = state, brought = () => sum(state.users.map((one) => one.weight)), all = brought();
      alter();
      if (state === same && state.kind === "dmfa_srq" && brought() !== all) {
        state.pool = state.pool.map((one) => (one * brought()) / all);
        state.pool.forEach((one, j) => { fields[`pool.${j}`].value = Number(one.toPrecision(5)); });
      }
      fields.pour.value = 100;
      if (!typed) ask();
      show();
      history.replaceState(null, "", `#level=${written()}`);
    }
    const acts = {
      kind: (kind) => { state.kind = kind; },
      again: () => { state = structuredClone(first); },
      second: () => { state.pool = state.pool.length > 1 ? state.pool.slice(0, 1) : [...state.pool, first.pool[1] ?? 2 * state.pool[0]]; },
      remove: (i) => { state.users.splice(i, 1); },
      add: () => {
        if (state.kind === "dmfa_srq") state.users.forEach((one, i) => { one.floor = Number(found.users[i].tasks.toPrecision(12)); });
        const name = [...NAMES].find((free) => state.users.every((one) => one.name !== free));
        state.users.push({ name, need: [2, 2], weight: 1, floor: 0, lid: null, start: 0, credit: 1 });
      },
    };
    function follow() {
      const [kind, pool, ...users] = location.hash.slice(7).split(";").map((one) => one.split(","));
      const read = users.map(([name, a, b, ...rest]) => ({ name, need: [Number(a), Number(b)],
        ...Object.fromEntries(KEYS.map((key, k) => [key, key === "lid" && rest[k] === "" ? null : Number(rest[k])])) }));
      const sane = (one) => /^[A-F]$/.test(one.name) && one.weight > 0 && one.credit <= 1 && [...one.need, ...KEYS.map((key) => one[key])].every((x) => x >= 0 && x < 1e12);
      if (!location.hash.startsWith("#level=") || !(kind in mechanisms) || !read.length || !read.every(sane)) return;
      if (!pool.slice(0, 2).every((x) => x > 0 && x < 1e12) || new Set(read.map((one) => one.name)).size < read.length) return;
      change(() => { state = { kind: kind[0], pool: pool.slice(0, 2).map(Number), users: read }; });
      home.scrollIntoView();
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", () => { typing = false; });
    form.addEventListener("click", ({ target: { name, value, type } }) => { if (type === "button") change(() => acts[name](value)); });
    form.addEventListener("input", ({ target }) => {
      if (target.name === "pour") return show();
      const [who, key, j] = target.name.split("."), one = state.users[who], value = target.value === "" ? null : Number(target.value);
      if (target.validity.valid) change(() => { if (!one) state.pool[key] = value; else if (j) one.need[j] = value; else one[key] = value; }, true);
    });
    addEventListener("hashchange", follow);
    ask();
    show();
    follow();
    new ResizeObserver(() => requestAnimationFrame(() => { if (panels.clientWidth !== drawn) show(); })).observe(panels);
  }

  bring(".one-level", build);
})();
