// What a reader who cannot see, point or bear low contrast would stumble over, as functions that list the faults.
// tests/visits.py evaluates this file in a page and calls them.
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
  const hidden = (element) => !shown(element) || Boolean(element.closest('[aria-hidden="true"]'));

  // The name that is read out: a short form of the accessible name computation, enough for what pages hold.
  function nameOf(element) {
    const labelledby = (element.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean);
    const words = labelledby.map((id) => squeezed(document.getElementById(id)?.textContent)).join(" ").trim();
    if (words) return words;
    if (squeezed(element.getAttribute("aria-label"))) return squeezed(element.getAttribute("aria-label"));
    if (element.labels?.length) return squeezed([...element.labels].map((label) => label.textContent).join(" "));
    if (["IMG", "AREA"].includes(element.tagName)) return squeezed(element.alt);
    if (element.tagName === "INPUT") return squeezed(element.title);
    const within = [...element.childNodes].map((node) => {
      if (node.nodeType === Node.TEXT_NODE) return node.data;
      if (node.nodeType !== Node.ELEMENT_NODE || ["SCRIPT", "NOSCRIPT", "STYLE"].includes(node.tagName) || node.getAttribute("aria-hidden") === "true") return "";
      if (node.localName.startsWith("mjx-container")) return "formula";
      return nameOf(node);
    }).join(" ");
    return squeezed(within) || squeezed(element.getAttribute("title"));
  }

  function structure() {
    const found = [];
    const fault = (words, element) => found.push(element ? `${words}: ${told(element)}` : words);
    if (!/^[a-z]{2}/.test(document.documentElement.lang)) fault("the page says no language");
    if (!squeezed(document.title)) fault("the page has no title");
    if (!document.querySelector('meta[name="viewport"]')) fault("no viewport for phones");
    if (/maximum-scale|user-scalable\s*=\s*no/.test(document.querySelector('meta[name="viewport"]')?.content ?? ""))
      fault("the page forbids to zoom");

    const heads = all("h1, h2, h3, h4, h5, h6, [role=heading]").filter((head) => shown(head) && !head.closest("nav, aside, dialog"));
    const first = heads.filter((head) => head.localName === "h1");
    if (first.length !== 1) fault(`${first.length} first heads, not one`);
    let before = 0;
    for (const head of heads.filter((one) => one.closest("main") || one.localName === "h1")) {
      const level = Number(head.getAttribute("aria-level") ?? head.localName[1]);
      if (level > before + 1) fault(`a head jumps from level ${before} to ${level}`, head);
      if (!nameOf(head)) fault("a head without words", head);
      before = level;
    }

    const mains = all("main, [role=main]");
    if (mains.length !== 1) fault(`${mains.length} main landmarks, not one`);
    const navs = all("nav, [role=navigation]").filter((nav) => !hidden(nav));
    const names = navs.map((nav) => squeezed(nav.getAttribute("aria-label")) || nameFrom(nav));
    navs.forEach((nav, i) => {
      if (!names[i]) fault("navigation without a name", nav);
      else if (names.indexOf(names[i]) !== i) fault(`two navigations are called ${names[i]}`, nav);
    });
    function nameFrom(element) {
      return (element.getAttribute("aria-labelledby") ?? "").split(/\s+/)
        .map((id) => squeezed(document.getElementById(id)?.textContent)).join(" ").trim();
    }

    for (const one of all("a[href], button, summary, [role=button], [role=link]")) {
      if (one.closest('[aria-hidden="true"]')) {
        if (one.tabIndex >= 0 && shown(one)) fault("a hidden control takes the focus", one);
      } else if (!nameOf(one)) fault(`a ${one.localName} without a name`, one);
    }
    for (const link of all('a[href^="#"]')) {
      const id = decodeURIComponent(link.getAttribute("href").slice(1));
      if (id && !id.includes("=") && !document.getElementById(id)) fault("a link to nowhere on the page", link);
    }
    for (const field of all("input:not([type=hidden]), select, textarea"))
      if (shown(field) && !(field.closest('[aria-hidden="true"]') && field.tabIndex < 0) && !nameOf(field)) fault("a field without a label", field);
    for (const image of all("img, area"))
      if (!image.hasAttribute("alt")) fault(`a picture without alt text: ${image.src.split("/").pop()}`);
      else if (image.closest("main article") && !image.alt.trim() && !hidden(image))
        fault(`a picture without alt text: ${image.src.split("/").pop()}`);
    for (const drawing of all("svg, object, canvas, iframe"))
      if (!hidden(drawing) && !nameOf(drawing) && !squeezed(drawing.querySelector("title")?.textContent))
        fault("a drawing without a name", drawing);

    for (const table of all("table")) {
      if (table.getAttribute("role") === "presentation") continue;
      const heads = all("th", table);
      if (!heads.length) fault("a table without header cells", table);
      if (heads.some((head) => !/^(col|row)(group)?$/.test(head.scope))) fault("a header cell without a scope", table);
      if (!squeezed(table.caption?.textContent) && !squeezed(table.getAttribute("aria-label")) && !nameFrom(table))
        fault("a table without a caption", table);
    }

    const ids = new Map();
    for (const one of all("[id]")) {
      if (ids.has(one.id) && !one.closest("mjx-container svg")) fault(`the id ${one.id} is there twice`);
      ids.set(one.id, one);
    }
    for (const one of all("[aria-controls], [aria-labelledby], [aria-describedby], label[for]"))
      for (const name of ["aria-controls", "aria-labelledby", "aria-describedby", "for"])
        for (const id of (one.localName === "label" || name !== "for" ? one.getAttribute(name) ?? "" : "").split(/\s+/))
          if (id && !ids.has(id)) fault(`${name} names ${id}, which is not there`, one);
    for (const one of all("[tabindex]"))
      if (Number(one.getAttribute("tabindex")) > 0) fault("a tabindex above 0", one);

    // Terms in another script need their language, or they are spelled out sign by sign.
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text; (text = walker.nextNode());)
      if (/[\u3400-\u9fff]/.test(text.data) && !text.parentElement.closest('[lang^="zh"], script, style, title'))
        fault(`Chinese without its language: ${squeezed(text.data).slice(0, 30)}`);

    for (const box of all("main *"))
      if (scrolls(box) && box.tabIndex < 0 && !all("a[href], button, input, select, summary, [tabindex='0']", box).length)
        fault("a box that scrolls cannot be reached by keyboard", box);
      else if (scrolls(box) && box.getAttribute("tabindex") === "0" && !/^(region|group|img|math)$/.test(box.getAttribute("role") ?? ""))
        fault("a box that scrolls has no role", box);
      else if (scrolls(box) && box.getAttribute("tabindex") === "0" && !squeezed(box.getAttribute("aria-label")) && !nameFrom(box))
        fault("a box that scrolls has no name", box);
    for (const list of all("ul, ol"))
      if ([...list.children].some((child) => !["li", "script", "template"].includes(child.localName)))
        fault("a list with something else than items", list);
    for (const list of all("dl"))
      if (![...list.children].every((child) => ["dt", "dd", "div", "script"].includes(child.localName)))
        fault("a list of terms with something else than terms", list);
    return [...new Set(found)];
  }

  function scrolls(box) {
    if (box.scrollWidth <= box.clientWidth + 1 || !box.clientWidth || !shown(box)) return false;
    return ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
  }

  // --- contrast ----------------------------------------------------------------------------------------------------

  function colour(text) {
    const numbers = (text.match(/-?[\d.]+(?:e-?\d+)?%?/g) ?? []).map((one) => one.endsWith("%") ? parseFloat(one) / 100 : Number(one));
    if (text.startsWith("rgb")) return [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1];
    if (text.startsWith("color(srgb")) return [numbers[0] * 255, numbers[1] * 255, numbers[2] * 255, numbers[3] ?? 1];
    throw new Error(`a colour in a form not provided for: ${text}`);
  }
  const over = (front, back) => {
    const alpha = front[3] + back[3] * (1 - front[3]);
    const mix = (i) => alpha ? (front[i] * front[3] + back[i] * back[3] * (1 - front[3])) / alpha : 0;
    return [mix(0), mix(1), mix(2), alpha];
  };
  function luminance([r, g, b]) {
    const [x, y, z] = [r, g, b].map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  }
  function ratio(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  let grounds = new WeakMap();
  function ground(element) { // the colour behind an element, its own included
    if (!element) return colour(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "rgb(18,18,18)" : "rgb(255,255,255)");
    if (!grounds.has(element)) {
      const own = colour(getComputedStyle(element).backgroundColor);
      grounds.set(element, own[3] === 1 ? own : over(own, ground(element.parentElement)));
    }
    return grounds.get(element);
  }

  function contrast() {
    const found = new Map();
    grounds = new WeakMap();
    const parents = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, (node) =>
      node.data.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP);
    for (let text; (text = walker.nextNode());) parents.add(text.parentElement);
    all("mjx-container").forEach((formula) => parents.add(formula));
    for (const element of parents) {
      if (!element || element.closest("script, style, noscript, svg, mjx-assistive-mml, option, :disabled, label:has(:disabled)") || !shown(element)) continue;
      if (element.closest("mjx-container") && element.localName !== "mjx-container") continue;
      const box = element.getBoundingClientRect();
      if (box.width <= 1 || box.height <= 1) continue;
      const style = getComputedStyle(element);
      let opacity = 1;
      for (let one = element; one; one = one.parentElement) opacity *= Number(getComputedStyle(one).opacity);
      const back = ground(element), front = colour(style.color);
      const seen = over([front[0], front[1], front[2], front[3] * opacity], back);
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const got = ratio(seen, back);
      if (got < (large ? 3 : 4.5)) {
        const key = `${style.color} on rgb(${back.slice(0, 3).map(Math.round)})`;
        if (!found.has(key)) found.set(key, `contrast ${got.toFixed(2)} (${key}): ${told(element)}`);
      }
    }
    return [...found.values()];
  }

  // --- focus, touch ------------------------------------------------------------------------------------------------

  const LOOKS = ["boxShadow", "backgroundColor", "borderTopColor", "textDecorationLine"];
  function look(element) {
    const style = getComputedStyle(element), box = element.getBoundingClientRect(); // a skip link comes into view
    const ring = style.outlineStyle === "none" ? "" : style.outline;
    return [ring, ...LOOKS.map((name) => style[name]), Math.round(box.top)].join("|");
  }

  // One of each kind of control: what has the focus must look otherwise than what has not.
  async function focus() {
    const found = [], kinds = new Set();
    const settled = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    document.documentElement.style.setProperty("scroll-behavior", "auto");
    const candidates = all("a[href], button, summary, input, select, [tabindex='0']").filter((one) => {
      if (!shown(one) || one.disabled || one.tabIndex < 0) return false;
      const kind = `${one.localName} ${one.type ?? ""} ${one.className} ${one.parentElement.className}`;
      return kinds.has(kind) ? false : kinds.add(kind);
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
    return found;
  }

  // On a phone: controls that stand alone are large enough for a finger, and no two lie upon each other.
  function touch() {
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
  return { structure, contrast, focus, touch, motion, unfold };
})();
