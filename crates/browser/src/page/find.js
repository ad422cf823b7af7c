// Finds elements as locators name them, and says what is in the way of acting on one. Runs in an isolated world of
// the page: the page's own scripts can neither see nor change it. It changes nothing but scroll position and focus.
globalThis.pinhole = (() => {
  const collapse = (text) => (text ?? "").replace(/\s+/g, " ").trim();
  const clip = (text, max) => (text.length > max ? `${text.slice(0, max)}…` : text);

  // A form's controls hide properties of the form by their names (`title`, `children`), and elements named so hide those
  // of the document (`fonts`, `scrollingElement`). The prototypes are ours alone and are asked instead.
  const native = (prototype) => (object, name, ...args) => {
    const { get, value } = Object.getOwnPropertyDescriptor(prototype, name);
    return get ? get.call(object) : value.apply(object, args);
  };
  const ofDocument = native(Document.prototype);
  const ofElement = native(Element.prototype);
  const attributeOf = (element, name) => ofElement(element, "getAttribute", name);
  const shadowOf = (element) => ofElement(element, "shadowRoot");
  const rootElement = () => ofDocument(document, "documentElement");
  const attribute = (name, value) => (element) => attributeOf(element, name) === value;

  // Elements below `root` in document order, through open shadow roots.
  function* walk(root) {
    const walker = ofDocument(document, "createTreeWalker", root, NodeFilter.SHOW_ELEMENT);
    for (let element = walker.nextNode(); element; element = walker.nextNode()) {
      yield element;
      const shadow = shadowOf(element);
      if (shadow) yield* walk(shadow);
    }
  }
  const roots = () => [document, ...[...walk(document)].map(shadowOf).filter(Boolean)];
  const parent = (node) => node.assignedSlot ?? node.parentNode ?? node.host ?? null;
  function contains(outer, inner) {
    for (let node = inner; node; node = parent(node)) if (node === outer) return true;
    return false;
  }

  const unread = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "TITLE", "META", "LINK"]);
  function textOf(node) {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType === Node.ELEMENT_NODE) {
      if (unread.has(node.tagName)) return "";
      if (node.tagName === "BR") return " ";
      if (node.tagName === "INPUT" && ["button", "submit", "reset"].includes(node.type)) return node.value;
      if (node.tagName === "SLOT" && node.assignedNodes().length) return node.assignedNodes().map(textOf).join("");
    }
    let text = "";
    for (const child of (node.shadowRoot ?? node).childNodes) text += textOf(child);
    return text;
  }
  const readable = (element) => collapse(textOf(element));

  function isVisible(element) {
    if (!element.isConnected || !element.checkVisibility({ visibilityProperty: true })) return false;
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  }

  const byTag = {
    ARTICLE: "article", ASIDE: "complementary", BLOCKQUOTE: "blockquote", BUTTON: "button", CAPTION: "caption",
    CODE: "code", DATALIST: "listbox", DD: "definition", DEL: "deletion", DETAILS: "group", DFN: "term",
    DIALOG: "dialog", DT: "term", EM: "emphasis", FIELDSET: "group", FIGURE: "figure", H1: "heading", H2: "heading",
    H3: "heading", H4: "heading", H5: "heading", H6: "heading", HR: "separator", HTML: "document", INS: "insertion",
    LI: "listitem", MAIN: "main", MATH: "math", MENU: "list", METER: "meter", NAV: "navigation", OL: "list",
    OPTGROUP: "group", OPTION: "option", OUTPUT: "status", P: "paragraph", PROGRESS: "progressbar", SEARCH: "search",
    STRONG: "strong", SUB: "subscript", SUP: "superscript", TABLE: "table", TBODY: "rowgroup", TD: "cell",
    TEXTAREA: "textbox", TFOOT: "rowgroup", THEAD: "rowgroup", TIME: "time", TR: "row", UL: "list",
  };
  const byInput = {
    button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox", radio: "radio",
    range: "slider", number: "spinbutton", search: "searchbox", email: "textbox", tel: "textbox", text: "textbox",
    url: "textbox",
  };
  const sectioning = "article, aside, main, nav, section";
  function roleOf(element) {
    const explicit = collapse(attributeOf(element, "role")).split(" ")[0];
    if (explicit) return explicit;
    switch (element.tagName) {
      case "A": case "AREA": return element.hasAttribute("href") ? "link" : "generic";
      case "FOOTER": return element.closest(sectioning) ? "generic" : "contentinfo";
      case "HEADER": return element.closest(sectioning) ? "generic" : "banner";
      case "FORM": return nameOf(element) ? "form" : "generic";
      case "SECTION": return nameOf(element) ? "region" : "generic";
      case "IMG": return attributeOf(element, "alt") === "" ? "presentation" : "img";
      case "INPUT": return element.list && byInput[element.type] === "textbox" ? "combobox" : byInput[element.type];
      case "SELECT": return element.multiple || element.size > 1 ? "listbox" : "combobox";
      case "TH": return element.scope === "row" ? "rowheader" : "columnheader";
      default: return byTag[element.tagName] ?? "generic";
    }
  }

  // The parts of "Accessible Name and Description Computation 1.2" that pages use: labels, alternatives, contents.
  const namedByContent = new Set(["button", "cell", "checkbox", "columnheader", "gridcell", "heading", "link",
    "menuitem", "menuitemcheckbox", "menuitemradio", "option", "radio", "row", "rowheader", "switch", "tab",
    "tooltip", "treeitem"]);
  const labelText = (label) => collapse([...label.childNodes].map(function text(node) {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(node.nodeName)) return "";
    return node.nodeType === Node.ELEMENT_NODE ? [...node.childNodes].map(text).join("") : textOf(node);
  }).join(""));
  function contentName(node) {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || unread.has(node.tagName)) return "";
    if (attributeOf(node, "aria-hidden") === "true") return "";
    const own = attributeOf(node, "aria-label") ?? (node.tagName === "IMG" ? node.alt : null);
    return own ?? [...(node.shadowRoot ?? node).childNodes].map(contentName).join("");
  }
  function labelsOf(element) {
    const ids = collapse(attributeOf(element, "aria-labelledby")).split(" ").filter(Boolean);
    const referred = ids.map((id) => element.getRootNode().getElementById?.(id)).filter(Boolean);
    if (referred.length) return [collapse(referred.map(contentName).join(" "))];
    if (element.hasAttribute("aria-label")) return [collapse(attributeOf(element, "aria-label"))];
    return labels(element).map(labelText);
  }
  function labels(element) {
    return element.tagName === "FORM" ? [] : [...(element.labels ?? [])];
  }
  function nameOf(element) {
    const labelled = labelsOf(element).filter(Boolean);
    if (labelled.length) return labelled.join(" ");
    const child = { FIELDSET: "legend", FIGURE: "figcaption", TABLE: "caption" }[element.tagName];
    const caption = child && element.querySelector(`:scope > ${child}`);
    if (caption) return readable(caption);
    if (element.tagName === "INPUT") {
      const fallback = { submit: "Submit", reset: "Reset", image: element.alt }[element.type];
      if (byInput[element.type] === "button") return collapse(element.value || fallback);
    }
    if (element.tagName === "IMG") return collapse(element.alt || element.title);
    // The role of these depends on their name, which is never their content.
    const content = !/^(FORM|SECTION)$/.test(element.tagName) && namedByContent.has(roleOf(element));
    return (content && collapse(contentName(element))) || collapse(attributeOf(element, "title") || attributeOf(element, "placeholder"));
  }
  const isExposed = (element) => {
    if (!element.checkVisibility({ visibilityProperty: true })) return false;
    for (let node = element; node; node = parent(node)) if (node.ariaHidden === "true") return false;
    return true;
  };

  const isControl = (element) => /^(INPUT|SELECT|TEXTAREA|BUTTON|METER|OUTPUT|PROGRESS)$/.test(element.tagName)
    || element.isContentEditable || element.hasAttribute("role");
  function innermost(matches) {
    const outer = new Set();
    for (const match of matches) for (let node = parent(match); node; node = parent(node)) outer.add(node);
    return matches.filter((match) => !outer.has(match));
  }
  const select = (root, css) => (root === document ? ofDocument(root, "querySelectorAll", css) : root.querySelectorAll(css));
  function findBy(by) {
    const all = () => [...walk(document)];
    if (by.css !== undefined) {
      const found = roots().map((root) => [...select(root, by.css)]).filter((list) => list.length);
      if (found.length < 2) return found[0] ?? [];
      const set = new Set(found.flat());
      return all().filter((element) => set.has(element));
    }
    if (by.role !== undefined) {
      const name = by.name === undefined ? null : collapse(by.name);
      return all().filter((element) => roleOf(element) === by.role && isExposed(element)
        && (name === null || nameOf(element) === name));
    }
    if (by.text !== undefined) {
      const text = collapse(by.text);
      return innermost(all().filter((element) => !unread.has(element.tagName) && readable(element) === text));
    }
    if (by.label !== undefined) {
      const text = collapse(by.label);
      return all().filter((element) => isControl(element) && labelsOf(element).includes(text));
    }
    if (by.placeholder !== undefined) return all().filter(attribute("placeholder", by.placeholder));
    if (by.test_id !== undefined) return all().filter(attribute("data-testid", by.test_id));
    if (by.alt !== undefined) return all().filter(attribute("alt", by.alt));
    return all().filter(attribute("title", by.title));
  }

  function describe(element) {
    let text = `<${ofElement(element, "localName")}`;
    for (const name of ["id", "class", "name", "type", "data-testid"]) {
      const value = attributeOf(element, name);
      if (value) text += ` ${name}="${clip(value, 40)}"`;
    }
    const content = readable(element);
    return clip(`${text}>${content ? ` "${clip(content, 40)}"` : ""}`, 160);
  }
  // What a reader may have meant: what the page has of the same kind.
  function near(locator) {
    const list = (name) => [...walk(document)].map((e) => attributeOf(e, name)).filter(Boolean).map((v) => `"${clip(v, 60)}"`);
    const kinds = { placeholder: "placeholder", test_id: "data-testid", alt: "alt", title: "title" };
    const kind = Object.keys(kinds).find((key) => locator[key] !== undefined);
    let found;
    if (kind) found = list(kinds[kind]);
    else if (locator.role !== undefined) {
      found = findBy({ role: locator.role }).map((e) => `${locator.role} "${clip(nameOf(e), 60)}"`);
    } else if (locator.label !== undefined) {
      found = [...walk(document)].filter(isControl).flatMap(labelsOf).map((label) => `"${clip(label, 60)}"`);
    } else if (locator.text !== undefined) {
      const text = collapse(locator.text).toLowerCase();
      const like = (e) => !unread.has(e.tagName) && readable(e).toLowerCase().includes(text);
      found = innermost([...walk(document)].filter(like)).map(describe);
    } else {
      const last = locator.css.split(/[\s>+~]+/).pop().match(/^[a-zA-Z][\w-]*/)?.[0];
      found = last ? findBy({ css: last }).map(describe) : [];
    }
    return [...new Set(found)].slice(0, 5);
  }

  // All matches of a locator, before `nth`; throws what is wrong with its `within`.
  function matches(locator) {
    let found = findBy(locator);
    if (locator.within) {
      const outer = one(locator.within);
      found = found.filter((element) => element !== outer && contains(outer, element));
    }
    if (locator.has_text !== undefined) {
      const text = collapse(locator.has_text);
      found = found.filter((element) => readable(element).includes(text));
    }
    return found;
  }
  class Problem extends Error {
    constructor(problem, message) { super(message); this.problem = problem; }
  }
  function one(locator) {
    const found = matches(locator);
    if (locator.nth !== undefined && found[locator.nth]) return found[locator.nth];
    if (locator.nth === undefined && found.length === 1) return found[0];
    if (found.length && locator.nth === undefined) {
      const some = found.slice(0, 5).map(describe).join(", ");
      throw new Problem("ambiguous", `${found.length} elements match: ${some}`);
    }
    const close = near(locator).join(", ");
    const count = locator.nth === undefined ? "nothing matches" : `${found.length} elements match`;
    throw new Problem("missing", close ? `${count}; the page has ${close}` : count);
  }
  // The answer of `work`, or what was wrong with its target.
  async function attempt(work) {
    try { return { ok: await work() }; } catch (error) {
      if (error instanceof Problem) return { problem: error.problem, message: error.message };
      if (error instanceof DOMException && error.name === "SyntaxError") {
        return { problem: "invalid", message: error.message };
      }
      throw error;
    }
  }

  // A frame, or a moment where the page makes none.
  const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); setTimeout(resolve, 200); });
  function hit(x, y) {
    let element = ofDocument(document, "elementFromPoint", x, y);
    while (element?.shadowRoot) {
      const inner = element.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === element) break;
      element = inner;
    }
    return element;
  }
  // The point to act on, once the element is visible, enabled, still over two frames and gets the event there.
  async function actionable(element) {
    const blocked = (why) => { throw new Problem("not_actionable", `${describe(element)} ${why}`); };
    if (!isVisible(element)) blocked("is not visible");
    if (element.matches(":disabled") || element.closest("[aria-disabled=true]")) blocked("is disabled");
    const centre = () => {
      const box = element.getBoundingClientRect();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2, w: box.width, h: box.height };
    };
    const inside = ({ x, y }) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    if (!inside(centre())) element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const before = centre();
    await frame();
    await frame();
    const after = centre();
    if (JSON.stringify(before) !== JSON.stringify(after)) blocked("is moving");
    if (!inside(after)) blocked("lies outside the window");
    const top = hit(after.x, after.y);
    const label = top && labels(element).some((label) => contains(label, top));
    if (!top || !(contains(element, top) || label)) blocked(top ? `is covered by ${describe(top)}` : "gets no event");
    return { x: after.x, y: after.y };
  }

  const typed = /^(color|date|datetime-local|month|range|time|week)$/;
  // Focuses a text control with all of its content selected; a control without text takes `value` at once.
  async function prepareFill(element, value) {
    await actionable(element);
    const blocked = (why) => { throw new Problem("not_actionable", `${describe(element)} ${why}`); };
    const text = element.tagName === "TEXTAREA" || element.tagName === "INPUT";
    if (!text && !element.isContentEditable) blocked("is not a text control");
    if (element.readOnly) blocked("is read-only");
    if (/^(button|checkbox|file|hidden|image|radio|reset|submit)$/.test(element.type ?? "")) blocked("takes no text");
    element.focus({ preventScroll: true });
    if (element.tagName === "INPUT" && typed.test(element.type)) {
      element.value = value;
      if (element.value !== value) blocked(`does not take "${clip(value, 60)}"`);
      for (const name of ["input", "change"]) element.dispatchEvent(new Event(name, { bubbles: true, composed: true }));
      return { done: true };
    }
    if (text) element.select();
    else getSelection().selectAllChildren(element);
    return { done: false };
  }

  const shown = (text) => `"${clip(text, 200)}"`;
  const compare = (expected, actual) => ({
    holds: expected.equals !== undefined ? actual === expected.equals : actual.includes(expected.contains),
    found: shown(actual),
  });
  // Whether a condition on elements holds now, and what was found.
  async function holds(condition) {
    const [[name, what]] = Object.entries(condition);
    if (name === "title") return compare(what, ofDocument(document, "title"));
    if (name === "absent" || name === "count") {
      const answer = await attempt(() => matches(name === "count" ? what.of : what).length);
      return answer.problem === "missing" ? { count: 0 } : answer.problem ? { error: answer.message } : { count: answer.ok };
    }
    const answer = await attempt(() => one(what.of ?? what));
    if (answer.problem) return { holds: false, found: answer.message };
    const element = answer.ok;
    if (name === "visible") return { holds: isVisible(element), found: isVisible(element) ? "visible" : "hidden" };
    if (name === "hidden") return { holds: !isVisible(element), found: isVisible(element) ? "visible" : "hidden" };
    if (name === "text") return compare(what, readable(element));
    if (name === "value") {
      return element.value === undefined ? { holds: false, found: "no value" } : compare(what, String(element.value));
    }
    const value = attributeOf(element, what.name);
    return value === null ? { holds: false, found: "no such attribute" } : compare(what, value);
  }

  // One value: a text that is there, or a number.
  function valueOf([[what, source]]) {
    if (what === "count") return matches(source).length;
    const element = one(source.of ?? source);
    if (what === "text") return readable(element);
    const value = what === "value" ? element.value : attributeOf(element, source.name);
    if (value === undefined || value === null) {
      throw new Problem("missing", what === "value" ? "the element has no value" : `the element has no attribute ${source.name}`);
    }
    return String(value);
  }
  // Every value, or what was wrong with its target.
  async function extract(sources) {
    const values = {};
    for (const [name, source] of Object.entries(sources)) {
      values[name] = await attempt(() => valueOf(Object.entries(source)));
      if (values[name].problem === "missing" && source.count) values[name] = { ok: 0 };
    }
    return values;
  }

  return {
    extract, holds, walk, roots, matches, one, contains, attempt, frame, isVisible, describe, ofDocument, ofElement, rootElement,
    click: (locator) => attempt(() => actionable(one(locator))),
    fill: (locator, value) => attempt(() => prepareFill(one(locator), value)),
    focus: (locator) => attempt(() => { const element = one(locator); element.focus(); return describe(element); }),
  };
})();
