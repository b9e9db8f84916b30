/* An experiment under the reader's hand: sliders and choices select one of the states that the page's cell has computed
   with the library. The states lie as JSON in each element of class explore; what that element shows without JavaScript,
   one state as a table, is replaced. What was chosen is in the address: #try-1=3.0. Nothing is computed or fetched. */
(function () {
  "use strict";
  const escape = (words) => String(words).replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
  const colour = (users, who) => `var(--hand-${users.indexOf(who) + 1})`;
  const text = (x, y, anchor, words, more = "") => `<text x="${x}" y="${y}" text-anchor="${anchor}" ${more}>${escape(words)}</text>`;
  const upwards = (x, y, words) => text(x, y, "middle", words, `transform="rotate(-90 ${x} ${y})"`);
  const round = (value) => String(Number(value.toPrecision(3))), from = 10, to = 190; // drawings have their height in common

  /* Round numbers from low to high, about four of them. */
  function ticks(low, high) {
    const rough = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((one) => one >= rough - 1e-12);
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, k) => (first + k) * step);
  }

  const svg = (width, height, title, parts, more = "") =>
    `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}" ${more}>${parts.join("")}</svg>`;

  /* Build each element once the page is there. */
  function bring(selector, build) {
    const start = () => document.querySelectorAll(selector).forEach(build);
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
    else start();
  }
  globalThis.hand = { escape, text, round, ticks, svg, bring }; // for one-level.js and credit-lab.js, which come after

  /* An axis at the left of a drawing: at which height a value stands, and what is drawn of it. */
  function axis(low, high, left, width, unit) {
    const y = (value) => (to - ((value - low) / (high - low)) * (to - from)).toFixed(2);
    return [y, [...ticks(low, high).flatMap((value) => [
      `<path d="M${left} ${y(value)}H${width - 4}" class="h-grid"/>`, text(left - 6, Number(y(value)) + 4, "end", round(value))]),
      upwards(11, (from + to) / 2, unit), `<path d="M${left} ${from}V${to}H${width - 4}" class="h-axis"/>`]];
  }

  /* Columns of stacked parts; a line across a column marks a bound, a level or what was brought. */
  function standing({ title, top, unit, columns }, users, width) {
    const noted = columns.some(({ note }) => note), left = 44, [y, parts] = axis(0, top, left, width, unit);
    const slot = (width - left - 4) / columns.length, wide = Math.min(72, 0.66 * slot);
    columns.forEach(({ name, note, parts: stacked, line }, k) => {
      const x = left + (k + 0.5) * slot;
      let sum = 0;
      for (const [who, size] of stacked) {
        parts.push(`<rect x="${x - wide / 2}" y="${y(sum + size)}" width="${wide}" height="${(y(sum) - y(sum + size)).toFixed(2)}" ` +
          `fill="${colour(users, who)}" class="part" data-who="${escape(who)}" data-size="${size}"><title>${escape(who)}: ${round(size)}</title></rect>`);
        sum += size;
      }
      if (line !== null) parts.push(`<path d="M${x - slot / 2 + 2} ${y(line)}h${slot - 4}" class="h-mark"/>`);
      parts.push(text(x, to + 16, "middle", name), text(x, to + 31, "middle", note));
    });
    return svg(width, to + (noted ? 40 : 24), title, parts);
  }

  /* Two columns laid corner to corner, the first to the right and the second upwards, in a box as large as their lines. */
  function corners({ title, top, columns: [across, up] }, users, width) {
    const roomy = width > 150, left = roomy ? 40 : 18, size = Math.min(to - from, width - left - 8), one = size / top, ground = from + size;
    const parts = [upwards(11, from + size / 2, up.name), text(left + size / 2, ground + (roomy ? 32 : 16), "middle", across.name),
      ...(roomy ? ticks(0, top) : []).flatMap((value) => [
        text(left - 6, ground - value * one + 4, "end", value), text(left + value * one, ground + 16, "middle", value)])];
    let x = left, y = ground;
    across.parts.forEach(([who, wide], k) => {
      const tall = up.parts[k][1];
      parts.push(`<rect x="${x.toFixed(2)}" y="${(y -= tall * one).toFixed(2)}" width="${(wide * one).toFixed(2)}" height="${(tall * one).toFixed(2)}" ` +
        `fill="${colour(users, who)}" class="part" data-who="${escape(who)}" data-size="${tall}"><title>${escape(who)}: ${wide}, ${tall}</title></rect>`);
      x += wide * one;
    });
    const box = `<path d="M${left} ${ground}v${-up.line * one}h${across.line * one}v${up.line * one}z" class="h-axis"/>`;
    return svg(width, ground + (roomy ? 38 : 22), title, [...parts, box]);
  }

  /* A row for each: its amount against one line, what it costs, and where it is struck out, why. */
  function ranked({ heads, tops, rows, line, mark, note }) {
    const at = (value, k) => ((100 * value) / tops[k]).toFixed(2), head = (words, more = "") => `<th scope="col">${escape(words)}${more}</th>`;
    const bar = (name, value, k, more = "") => `<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">` +
      `<rect width="${at(value, k)}" height="10" data-who="${escape(name)}" data-size="${value}"/>${more}</svg>`;
    const equal = `<path d="M${at(line, 0)} 0V10" class="h-axis" vector-effect="non-scaling-stroke"/>`;
    return `<table class="explore-ranking"><caption>${escape(note)}</caption><thead><tr>` +
      head(heads[0], `<span style="width:${at(line, 0)}%">${escape(mark)}</span>`) + heads.slice(1).map((words) => head(words)).join("") + "</tr></thead><tbody>" +
      rows.map(([name, [size, ...costs], why, kind]) => `<tr class="${kind}"><th scope="row">${escape(name)}<small>${escape(why && `: ${why}`)}</small>` +
        `${bar(name, size, 0, equal)}</th><td>${size}</td>${costs.map((one, k) => `<td>${one}${bar(name, one, k + 1)}</td>`).join("")}</tr>`).join("") + "</tbody></table>";
  }

  /* Lines over the values of the last control, as far as the reader has been, and where it stands; one axis for all settings. */
  function curve({ title, unit, lines }, all, users, width, at, names, [least, most]) {
    const low = Math.min(0, ...all), high = Math.max(...all, low + 1e-9);
    const left = 52, last = names.length - 1, x = (k) => left + 8 + (k / last) * (width - left - 20);
    const [y, parts] = axis(low, high, left, width, unit);
    for (let k = 0; k <= last; k += Math.max(1, Math.ceil((last * 44) / (width - left)))) parts.push(text(x(k), to + 18, "middle", names[k]));
    parts.push(`<path d="M${x(at)} ${from}V${to}" class="h-mark"/>`);
    lines.forEach(([who, line], i) => {
      const points = line.map((value, k) => `${x(k).toFixed(1)},${y(value)}`).slice(least, most + 1).join(" ");
      parts.push(`<polyline points="${points}" fill="none" stroke="${colour(users, who)}" stroke-width="2.5" ${i ? 'stroke-dasharray="7 4"' : ""}/>`,
        `<circle cx="${x(at)}" cy="${y(line[at])}" r="7" fill="${colour(users, who)}" class="part"/>`);
    });
    return svg(width, to + 26, title, parts, `class="curve" data-from="${x(0)}" data-to="${x(last)}"`);
  }

  function build(home, index) {
    const { controls, users, states, curves = [] } = JSON.parse(home.querySelector("script").textContent);
    const number = index + 1, name = (i) => `explore-${number}-${i}`, form = document.createElement("form");
    home.id = `try-${number}`;
    form.className = "explore-form hand";
    form.autocomplete = "off";
    form.innerHTML = '<p class="explore-said" aria-live="polite"></p><ul class="explore-answers"></ul>' + controls.map(({ label, values, at }, i) => {
      if (values.length > 4)
        return `<div class="explore-steps"><label><span>${escape(label)}: <b></b></span><input type="range" name="${name(i)}" min="0" max="${values.length - 1}" value="${at}"></label>` +
          ["previous", "next", "play"].map((what) => `<button type="button" name="${what}" value="${i}" aria-label="${what}: ${escape(label)}">${{ previous: "◀", next: "▶", play: "play" }[what]}</button>`).join("") + "</div>";
      const options = values.map((value, k) =>
        `<label><input type="radio" name="${name(i)}" value="${k}"${k === at ? " checked" : ""}> ${escape(value)}</label>`);
      return `<fieldset><legend>${escape(label)}</legend>${options.join("")}</fieldset>`;
    }).join("") +
      `<p class="explore-users">${users.length > 1 ? users.map((who) => `<span><i style="background:${colour(users, who)}"></i>${escape(who)}</span>`).join("") : ""}</p>` +
      '<div class="explore-panels"></div>';
    home.replaceChildren(form);
    const find = (what) => form.querySelector(`.explore-${what}`), panels = find("panels"), fields = form.elements, still = matchMedia("(prefers-reduced-motion: reduce)");
    const { at, values: all } = controls.at(-1), heights = curves.flatMap(({ lines }) => lines.flatMap(([, line]) => line));
    const been = curves.map(() => [at === all.length - 1 ? at : 0, at]);
    let timer = 0, drawn = 0;

    function show() {
      const chosen = controls.map((_, i) => Number(fields[name(i)].value));
      const state = states[chosen.reduce((sum, one, i) => sum * controls[i].values.length + one, 0)];
      controls.forEach(({ values }, i) => {
        const field = fields[name(i)];
        if (field.type !== "range") return;
        field.previousElementSibling.lastChild.textContent = values[field.value];
        field.setAttribute("aria-valuetext", values[field.value]);
      });
      drawn = panels.clientWidth;
      const room = Math.max(260, drawn || 720);
      const said = (title) => `<figcaption>${escape(title)}</figcaption>`;
      const which = chosen.slice(0, -1).reduce((sum, one, i) => sum * controls[i].values.length + one, 0), line = curves[which];
      been[which] = been[which]?.map((end, k) => Math[k ? "max" : "min"](end, chosen.at(-1))); // no further: guess, then see
      const first = line ? `<figure style="width:${room}px">${said(line.title)}${curve(line, heights, users, room, chosen.at(-1), controls.at(-1).values, been[which])}</figure>` : "";
      const need = state.panels.map((one) => (one.corner ? 75 : 52 + 64 * one.columns.length)), per = Math.max(1, Math.min(
        state.panels.length % 3 === 0 ? 3 : 2, state.panels.length, Math.floor((room + 20) / (Math.max(...need, 1) + 20))));
      panels.innerHTML = first + state.panels.map((one) => {
        const width = Math.floor((room - 20 * (per - 1)) / per);
        return `<figure class="panel" style="width:${width}px">${said(one.title)}${(one.corner ? corners : standing)(one, users, width)}</figure>`;
      }).join("") + (state.ranking ? ranked(state.ranking) : "");
      find("said").textContent = state.said;
      find("answers").innerHTML = (state.answers ?? []).map(([label, command, call, page]) =>
        `<li><a href="${escape(page)}">${escape(label)}</a> ${[command, call].filter(Boolean).map((one) => `<code>${escape(one)}</code>`).join(" ")}</li>`).join("");
    }
    const keep = () => history.replaceState(null, "", `#try-${number}=${controls.map((_, i) => fields[name(i)].value).join(".")}`);
    function stop() { clearInterval(timer); timer = 0; form.querySelectorAll("[name=play]").forEach((one) => { one.textContent = "play"; }); }
    function set(i, value) {
      fields[name(i)].value = String(Math.max(0, Math.min(controls[i].values.length - 1, value)));
      show();
      keep();
    }
    function play(button) {
      const i = Number(button.value), last = controls[i].values.length - 1, at = () => Number(fields[name(i)].value);
      if (still.matches) return set(i, last);
      if (at() === last) set(i, 0);
      button.textContent = "stop";
      timer = setInterval(() => { set(i, at() + 1); if (at() === last) stop(); }, 700);
    }
    function follow() {
      const asked = location.hash.match(new RegExp(`^#try-${number}=([\\d.]+)$`));
      if (!asked) return;
      asked[1].split(".").slice(0, controls.length).forEach((value, i) => {
        if (Number(value) < controls[i].values.length) fields[name(i)].value = value;
      });
      show();
      home.scrollIntoView();
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => { stop(); show(); keep(); });
    form.addEventListener("click", (event) => {
      const { name: what, value } = event.target, playing = timer;
      if (!["previous", "next", "play"].includes(what)) return;
      stop();
      if (what !== "play") set(Number(value), Number(fields[name(value)].value) + (what === "next" ? 1 : -1));
      else if (!playing) play(event.target);
    });
    function drag(event) {
      if (!panels.hasPointerCapture(event.pointerId)) return;
      const line = panels.querySelector("svg.curve"), box = line.getBoundingClientRect(), scale = box.width / line.viewBox.baseVal.width;
      const { from: first, to: end } = line.dataset, along = ((event.clientX - box.left) / scale - first) / (end - first);
      stop();
      set(controls.length - 1, Math.round(along * (controls.at(-1).values.length - 1)));
    }
    panels.addEventListener("pointerdown", (event) => { if (event.target.closest("svg.curve")) panels.setPointerCapture(event.pointerId); });
    for (const kind of ["pointerdown", "pointermove"]) panels.addEventListener(kind, drag);
    addEventListener("hashchange", follow);
    show();
    follow();
    new ResizeObserver(() => requestAnimationFrame(() => { if (panels.clientWidth !== drawn) show(); })).observe(panels);
  }

  bring(".explore", build);
})();
