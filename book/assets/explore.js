/* An experiment under the reader's hand: sliders and choices select one of the states that the page's cell has computed
   with the library. The states lie as JSON in each element of class explore; what that element shows without JavaScript,
   one state as a table, is replaced. Nothing is computed, fetched or put into the global scope. */
(function () {
  "use strict";
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07D00", "#882255"];
  const escape = (words) => words.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

  /* One panel: columns of stacked parts; a line across a column marks a bound, a level or what was brought. */
  function panel({ title, top, columns }, users) {
    const wide = 58, noted = columns.some(({ note }) => note), from = 12, to = 150,
      height = to + (noted ? 40 : 24), width = Math.max(120, wide * columns.length + 12);
    const y = (value) => (to - (value / top) * (to - from)).toFixed(2);
    const parts = columns.flatMap(({ name, note, parts, line }, k) => {
      const x = 6 + k * wide, drawn = [];
      let sum = 0;
      for (const [who, size] of parts) {
        drawn.push(`<rect x="${x + 6}" y="${y(sum + size)}" width="${wide - 12}" height="${(y(sum) - y(sum + size)).toFixed(2)}" ` +
          `fill="${COLOURS[users.indexOf(who)]}" class="part" data-who="${escape(who)}" data-size="${size}"><title>${escape(who)}</title></rect>`);
        sum += size;
      }
      if (line !== null) drawn.push(`<path d="M${x} ${y(line)}h${wide}" stroke="currentColor" stroke-width="1.6" stroke-dasharray="4 3"/>`);
      for (const [words, down] of [[name, 16], [note, 31]])
        drawn.push(`<text x="${x + wide / 2}" y="${to + down}" text-anchor="middle">${escape(words)}</text>`);
      return drawn;
    });
    return `<figure style="width:${Math.max(144, width)}px"><svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">` +
      `${parts.join("")}<path d="M2 ${from}V${to}H${width - 2}" fill="none" stroke="currentColor"/></svg><figcaption>${escape(title)}</figcaption></figure>`;
  }

  function build(home, number) {
    const { controls, users, states } = JSON.parse(home.querySelector("script").textContent);
    const form = document.createElement("form");
    form.className = "explore-form";
    form.autocomplete = "off";
    form.innerHTML = controls.map(({ label, values, at }, i) => {
      const name = `explore-${number}-${i}`;
      if (values.length > 4)
        return `<label><span>${escape(label)}: <b></b></span><input type="range" name="${name}" min="0" max="${values.length - 1}" value="${at}"></label>`;
      const options = values.map((value, k) =>
        `<label><input type="radio" name="${name}" value="${k}"${k === at ? " checked" : ""}> ${escape(value)}</label>`);
      return `<fieldset><legend>${escape(label)}</legend>${options.join("")}</fieldset>`;
    }).join("") +
      `<p class="explore-users">${users.map((who, i) => `<span><i style="background:${COLOURS[i]}"></i>${escape(who)}</span>`).join("")}</p>` +
      '<div class="explore-panels"></div><p class="explore-said" aria-live="polite"></p>';
    home.replaceChildren(form);
    const panels = form.querySelector(".explore-panels"), said = form.querySelector(".explore-said");
    function show() {
      let index = 0;
      controls.forEach(({ values }, i) => {
        const field = form.elements[`explore-${number}-${i}`];
        index = index * values.length + Number(field.value);
        if (field.type === "range") {
          field.previousElementSibling.lastChild.textContent = values[field.value];
          field.setAttribute("aria-valuetext", values[field.value]);
        }
      });
      panels.innerHTML = states[index].panels.map((one) => panel(one, users)).join("");
      said.textContent = states[index].said;
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", show);
    show();
  }

  const start = () => document.querySelectorAll(".explore").forEach(build);
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
