// What a reader who cannot see, point or bear low contrast would stumble over, as functions that list the faults.
// tests/visits.py evaluates axe-core and then this file in a page and calls them. Axe knows structure and contrast;
// what it does not know, or leaves to a person to judge, stands here.
window.accessibility = (() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const squeezed = (text) => (text ?? "").replace(/\s+/g, " ").trim();
  const told = (element) => {
    const name = element.localName + (element.id ? `#${element.id}` : "") +
      [...element.classList].slice(0, 2).map((one) => `.${one}`).join("");
    const words = squeezed(element.textContent).slice(0, 40);
    return words ? `${name} "${words}"` : name;
  };
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const heard = (element) => shown(element) && !element.closest('[aria-hidden="true"]');
  const named = (element) => squeezed(element.getAttribute("aria-label")) ||
    references(element, "aria-labelledby").map((id) => squeezed(document.getElementById(id)?.textContent)).join("");
  const references = (element, attribute) => (element.getAttribute(attribute) ?? "").split(/\s+/).filter(Boolean);
  const scrolls = (box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth && shown(box) &&
    ["auto", "scroll"].includes(getComputedStyle(box).overflowX);

  // --- structure ---------------------------------------------------------------------------------------------------

  const OFF = {
    "nested-interactive": { enabled: false }, // the title of a proof holds a link to its theorem, which HTML allows
    "empty-table-header": { enabled: false }, // the corner of a table, and the heads of a list of terms
    "duplicate-id": { enabled: true },
  };
  // A formula is thousands of elements, none of which has text: to axe it is the word, in the formula's colour. It stays
  // the word until `contrast` has been judged as well: to lay all of them out once more takes longer than to judge.
  let formulas = [];
  async function axed(options) {
    if (!formulas.length) formulas = all("mjx-container").map((formula) => [formula, [...formula.childNodes]]);
    formulas.forEach(([formula]) => formula.replaceChildren("formula"));
    const page = { exclude: ["[role=tooltip]"] }; // what floats up where the keyboard has been
    const said = await axe.run(page, { resultTypes: ["violations", "incomplete"], preload: false, ...options });
    return [...said.violations, ...said.incomplete].flatMap((rule) => rule.nodes.map((node) =>
      `${rule.id}: ${node.html.slice(0, 120)} ${[...node.any, ...node.all, ...node.none].map((one) => one.message).join("; ")}`));
  }

  // Each fault with the elements that have it.
  const OWN = {
    "no viewport for phones": () => document.querySelector('meta[name="viewport"]') ? [] : [document.head],
    "not one first head": () => {
      const first = all("h1").filter((head) => shown(head) && !head.closest("nav, aside, dialog"));
      return first.length === 1 ? [] : [document.body];
    },
    "navigation without a name": () => all("nav, [role=navigation]").filter((nav) => heard(nav) && !named(nav)),
    "a link to nowhere on the page": () => all('a[href^="#"]').filter((link) => {
      const id = decodeURIComponent(link.getAttribute("href").slice(1));
      return id && !id.includes("=") && !document.getElementById(id);
    }),
    "a picture without alt text": () => all("main article img").filter((image) => heard(image) && !image.alt.trim()),
    "a drawing without a name": () => all("svg, canvas").filter((drawing) =>
      heard(drawing) && !named(drawing) && !squeezed(drawing.querySelector("title")?.textContent)),
    "a table without header cells": () => tables().filter((table) => !table.querySelector("th")),
    "a header cell without a scope": () =>
      tables().filter((table) => all("th", table).some((head) => !/^(col|row)(group)?$/.test(head.scope))),
    "a table without a caption": () => tables().filter((table) => !squeezed(table.caption?.textContent) && !named(table)),
    "a reference to what is not there": () => ["aria-controls", "aria-labelledby", "aria-describedby", "for"].flatMap((name) =>
      all(`[${name}]`).filter((one) => references(one, name).some((id) => !document.getElementById(id)))),
    "a box that scrolls cannot be reached by keyboard": () => all("main *").filter((box) =>
      scrolls(box) && box.tabIndex < 0 && !box.querySelector("a[href], button, input, select, summary, [tabindex='0']")),
    "a box that scrolls has no role or no name": () => all("main [tabindex='0']").filter((box) =>
      scrolls(box) && !(/^(region|group|img|math)$/.test(box.role ?? "") && named(box))),
    // terms in another script need their language, or they are spelled out sign by sign
    "Chinese without its language": () => all("body, body *").filter((one) => [...one.childNodes].some((node) =>
      node.nodeType === Node.TEXT_NODE && /[\u3400-\u9fff]/.test(node.data)) && !one.closest('[lang^="zh"], script, style')),
  };
  const tables = () => all("table:not([role=presentation])");

  const own = () => Object.entries(OWN).flatMap(([words, of]) => of().map((element) => `${words}: ${told(element)}`));
  // `judged`: looks whose contrast was judged on an earlier page in the same scheme.
  async function structure(judged = []) {
    const found = own();
    one_of_each_look(judged);
    return [...await axed({ rules: OFF }), ...found];
  }
  async function contrast(judged = []) {
    one_of_each_look(judged);
    const found = fresh.length ? await axed({ runOnly: ["color-contrast"] }) : [];
    formulas.forEach(([formula, parts]) => formula.replaceChildren(...parts));
    formulas = [];
    return found;
  }

  // --- contrast ----------------------------------------------------------------------------------------------------

  // Axe looks for what lies behind each line of each text, which takes minutes for a book: it is shown one text of each
  // look, that is, of each colour and size on each stack of grounds; the last one, which nothing at the top floats over.
  // A look that was judged on another page is not judged again.
  // So is how a link stands out from the words around it.
  axe.configure({ rules: [
    { id: "color-contrast", selector: "[data-look]" }, { id: "link-in-text-block", selector: "[data-link]" },
  ] });
  let fresh = [];
  const kind = (element) => `${element.localName}.${element.className}`;
  const block_around = (element) =>
    getComputedStyle(element).display.startsWith("inline") ? block_around(element.parentElement) : element;
  function one_of_each_look(judged) {
    const looks = new Map(), behind = new Map([[null, ""]]);
    const ground = (element) => {
      if (!behind.has(element)) {
        const style = getComputedStyle(element);
        const own = `${style.backgroundColor} ${style.backgroundImage} ${style.opacity};`;
        const below = ground(element.parentElement);
        behind.set(element, below.endsWith(own) ? below : below + own);
      }
      return behind.get(element);
    };
    for (const element of all("body *:not(mjx-container *)")) {
      delete element.dataset.look;
      delete element.dataset.link;
      const words = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && /\w\w/.test(node.data));
      if (!words && element.localName !== "mjx-container") continue;
      if (element.closest("script, style, noscript, svg") || !shown(element)) continue;
      const style = getComputedStyle(element);
      const look = `${style.color} ${style.fontSize} ${style.fontWeight} ${ground(element)}`;
      looks.set(look, element);
    }
    for (const link of all("a[href]").filter(shown)) {
      const style = getComputedStyle(link), block = block_around(link.parentElement);
      const marks = ["color", "backgroundColor", "textDecoration", "borderBottom", "font"].map((name) => style[name]);
      looks.set(["link", ...marks, getComputedStyle(block).color, getComputedStyle(block).font, kind(link), kind(block)].join(" "), link);
    }
    judged.forEach((look) => looks.delete(look));
    for (const [look, element] of looks) element.dataset[look.startsWith("link ") ? "link" : "look"] = "";
    fresh = [...looks.keys()];
  }

  // --- focus, touch ------------------------------------------------------------------------------------------------

  const LOOKS = ["boxShadow", "backgroundColor", "borderTopColor", "textDecorationLine"];
  function look(element) {
    const style = getComputedStyle(element), box = element.getBoundingClientRect(); // a skip link comes into view
    const ring = style.outlineStyle === "none" ? "" : style.outline;
    return [ring, ...LOOKS.map((name) => style[name]), Math.round(box.top)].join("|");
  }

  // One of each kind of control: what has the focus must look otherwise than what has not.
  async function focus(judged = []) {
    const found = [], kinds = new Set(judged);
    const settled = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    document.documentElement.style.setProperty("scroll-behavior", "auto");
    const candidates = all("a[href], button, summary, input, select, [tabindex='0']").filter((one) => {
      if (!shown(one) || one.disabled || one.tabIndex < 0) return false;
      const like = `${one.type ?? ""} ${kind(one)} ${one.parentElement.className}`;
      return kinds.has(like) ? false : kinds.add(like);
    });
    for (const one of candidates) {
      document.activeElement?.blur();
      const before = look(one);
      one.focus({ preventScroll: true, focusVisible: true });
      if (document.activeElement !== one) continue;
      await settled();
      if (look(one) === before) found.push(`focus cannot be seen: ${told(one)}`);
    }
    document.activeElement?.blur();
    fresh = [...kinds].slice(judged.length);
    return found;
  }

  // On a phone: controls that stand alone are large enough for a finger, and no two lie upon each other.
  function touch() {
    scrollTo({ top: 0, behavior: "instant" }); // further down, controls pass below the bar that stays at the top
    const found = [], boxes = [];
    for (const one of all("button, summary, select, input:not([type=hidden]), label.sidebar-toggle, .btn")) {
      if (!shown(one) || one.tabIndex < 0 && one.localName !== "label") continue;
      const box = one.getBoundingClientRect();
      if (box.width < 2 || box.height < 2 || box.right < 0 || box.left > innerWidth) continue;
      if (box.width < 24 || box.height < 24) found.push(`too small for a finger (${Math.round(box.width)} x ${Math.round(box.height)}): ${told(one)}`);
      boxes.push([one, box]);
    }
    boxes.sort((a, b) => a[1].top - b[1].top);
    boxes.forEach(([one, a], i) => {
      for (const [other, b] of boxes.slice(i + 1)) {
        if (b.top >= a.bottom - 1) break;
        if (b.left < a.right - 1 && a.left < b.right - 1 && !one.contains(other) && !other.contains(one))
          found.push(`controls lie upon each other: ${told(one)} and ${told(other)}`);
      }
    });
    return found;
  }

  // Whatever moves by itself must stand still for readers who asked for that.
  function motion() {
    const moving = all("*").filter((one) => {
      const style = getComputedStyle(one);
      const long = (text) => text.split(",").some((part) => parseFloat(part) * (part.includes("ms") ? 1 : 1000) > 20);
      return (style.animationName !== "none" && long(style.animationDuration)) ||
        (style.transitionProperty !== "none" && long(style.transitionDuration)) ||
        (one === document.documentElement && style.scrollBehavior === "smooth");
    });
    return [...new Set(moving.map((one) => `moves although still is asked for: ${one.localName}.${one.classList[0] ?? ""}`))];
  }

  function unfold() {
    all("details").forEach((fold) => { fold.open = true; });
    all(".toggle-hidden button.toggle-button").forEach((button) => button.click());
    return new Promise((done) => setTimeout(done, 100)); // what scrolls is looked for anew
  }
  return { structure, own, contrast, focus, touch, motion, unfold, looks: () => fresh };
})();
