// Settles and freezes the page for a picture, says what its state is, and undoes it. Runs in the same isolated world.
Object.assign(pinhole, (() => {
  const { walk, roots, matches, attempt, one, contains, frame, isVisible, describe, ofDocument, ofElement, rootElement } = pinhole;
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const bounded = (promise, ms) => Promise.race([promise.then(() => true, () => true), sleep(ms).then(() => false)]);

  // --- What moves in the document, whoever asks: seen from the first call on.
  let lastMutation = performance.now();
  let mutations = 0;
  let mutated = "";
  const unseen = new Set(); // masks and hidden elements: their changes are in no picture
  const observed = new WeakSet();
  const observer = new MutationObserver((records) => records.forEach((record) => {
    for (const element of unseen) if (contains(element, record.target)) return;
    if (record.target === rootElement() && [...record.addedNodes, ...record.removedNodes].includes(cover)) return;
    lastMutation = performance.now();
    mutations += 1;
    mutated = record.target.nodeType === Node.ELEMENT_NODE ? describe(record.target)
      : describe(record.target.parentElement ?? rootElement());
  }));
  const observe = () => roots().forEach((root) => {
    if (observed.has(root)) return;
    observed.add(root);
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  });

  const images = () => [...walk(document)].filter((element) => element.tagName === "IMG");
  const isBusy = (element) => element.ariaBusy === "true" && isVisible(element);
  function blockers(quiet) {
    const found = [];
    const ready = ofDocument(document, "readyState");
    if (ready !== "complete") found.push(`document is ${ready}`);
    if (ofDocument(document, "fonts").status !== "loaded") found.push("fonts are loading");
    let waiting = 0;
    let busy = 0;
    for (const element of walk(document)) {
      if (element.tagName === "IMG" && !element.complete) waiting += 1;
      if (isBusy(element)) busy += 1;
    }
    if (waiting) found.push(`${waiting} images are loading`);
    if (busy) found.push(`${busy} elements are busy`);
    if (performance.now() - lastMutation < quiet) found.push(`the document changes: ${mutated}`);
    return found;
  }

  // Waits until nothing is under way and the document was quiet for `quiet` ms, or `budget` ms are over.
  async function settle(quiet, budget) {
    const end = performance.now() + budget;
    if (!observed.has(document)) {
      observe();
      // Without scripts and frames of its own nothing changes a document.
      lastMutation = ofDocument(document, "scripts").length || frames.length ? performance.now() : -Infinity;
    }
    const pictures = images();
    for (const image of pictures) if (image.loading === "lazy") image.loading = "eager";
    await bounded(Promise.all(pictures.map((image) => image.decode().catch(() => {}))), Math.min(budget, 5000));
    await bounded(ofDocument(document, "fonts").ready, Math.min(budget, 5000));
    await frame();
    let found = blockers(quiet);
    while (found.length && performance.now() < end) {
      await sleep(10);
      observe();
      found = blockers(quiet);
    }
    return found;
  }

  // --- Freezing.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, *::before, *::after { caret-color: transparent !important; scroll-behavior: auto !important; }");
  const { get: sheetsOf, set: setSheets } = Object.getOwnPropertyDescriptor(Document.prototype, "adoptedStyleSheets");
  function adopt(root, change) {
    if (root === document) setSheets.call(root, change([...sheetsOf.call(root)]));
    else root.adoptedStyleSheets = change([...root.adoptedStyleSheets]);
  }
  let styled = [];
  let cover = null;
  let hidden = [];
  let resumed = [];

  // The document and those of its frames that belong to the same site; others keep their secrets and their motion.
  function documents(from = document) {
    const frames = [...walk(from)].filter((element) => /^I?FRAME$/.test(element.tagName));
    return [from, ...frames.map((element) => element.contentDocument).filter(Boolean).flatMap((inner) => documents(inner))];
  }

  const isRunning = (animation) => animation.playState === "running" && typeof animation.currentTime === "number";
  // Ends what ends and cancels what does not. Animations driven by scrolling stand still by themselves.
  function stopAnimations() {
    let stopped = false;
    for (const animation of documents().flatMap((each) => ofDocument(each, "getAnimations"))) {
      if (!isRunning(animation)) continue;
      stopped = true;
      if (Number.isFinite(animation.effect?.getComputedTiming().endTime) && animation.playbackRate !== 0) {
        animation.finish();
      } else {
        animation.cancel();
        resumed.push(animation);
      }
    }
    for (const element of walk(document)) {
      if (element.tagName === "svg") { element.pauseAnimations(); element.setCurrentTime(0); }
      if (element.tagName === "VIDEO" && !element.paused) { element.pause(); element.currentTime = 0; stopped = true; }
    }
    return stopped;
  }
  const restless = ["transitionrun", "animationstart"];

  function coverOver(boxes, edge) {
    if (!boxes.length) return;
    cover = ofDocument(document, "createElement", "div");
    // In the top layer, so that no dialog of the page lies above a mask.
    cover.popover = "manual";
    const style = (element, rules) => Object.entries(rules).forEach(([name, value]) => element.style.setProperty(name, value, "important"));
    style(cover, { all: "initial", position: "absolute", left: "0", top: "0", width: "0", height: "0", display: "block", overflow: "visible" });
    for (const [x, y, width, height] of boxes) {
      const mask = ofDocument(document, "createElement", "div");
      style(mask, { all: "initial", position: "absolute", display: "block", background: "#f0f", left: `${x + edge}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
      cover.append(mask);
    }
    rootElement()?.append(cover);
    cover.showPopover();
  }

  // Where the document begins: left of zero when it is written from right to left and wider than the window.
  function leftEdge() {
    const page = ofDocument(document, "scrollingElement") ?? rootElement();
    if (!page || page.scrollWidth <= innerWidth) return 0;
    const [left, top] = [scrollX, scrollY];
    scrollTo({ left: -page.scrollWidth, top, behavior: "instant" });
    const edge = Math.min(0, scrollX);
    if (scrollX !== left) scrollTo({ left, top, behavior: "instant" });
    return edge;
  }
  // Box in CSS pixels from the document's left edge, whole pixels, never smaller than the element.
  function box(element, edge) {
    const { left, top, right, bottom } = ofElement(element, "getBoundingClientRect");
    const x = Math.max(0, Math.floor(left + scrollX - edge));
    const y = Math.max(0, Math.floor(top + scrollY));
    return [x, y, Math.max(0, Math.ceil(right + scrollX - edge) - x), Math.max(0, Math.ceil(bottom + scrollY) - y)];
  }
  const isDrawn = ([, , width, height]) => width > 0 && height > 0;

  // The element that has the focus, if it is one of its own.
  function focusedElement() {
    const focus = ofDocument(document, "activeElement");
    return !focus || focus === ofDocument(document, "body") || focus === rootElement() ? null : focus;
  }

  // Makes the page still. `rules` has `mask`, `hide`, `ignore`: lists of locators; `element`: a locator or null;
  // `top`: whether to scroll to the top first. Says what each rule matched.
  async function freeze(rules) {
    thaw();
    observe();
    for (const root of roots()) { adopt(root, (sheets) => [...sheets, sheet]); styled.push(root); }
    restless.forEach((name) => addEventListener(name, stopAnimations, true));
    // Whether there was anything to calm.
    const calm = () => {
      const focus = focusedElement();
      const focused = focus !== null;
      if (focused) focus.blur();
      const scrolled = rules.top && (scrollX !== 0 || scrollY !== 0);
      if (scrolled) scrollTo({ left: 0, top: 0, behavior: "instant" });
      return stopAnimations() || focused || scrolled;
    };
    calm();
    const found = { unmatched: [], masked: [], ignored: [], element: null };
    const resolve = async (kind) => Promise.all(rules[kind].map(async (locator, index) => {
      const answer = await attempt(() => matches(locator));
      if (answer.problem || !answer.ok.length) found.unmatched.push([kind, index]);
      return answer.ok ?? [];
    })).then((lists) => lists.flat());
    for (const element of await resolve("hide")) {
      hidden.push([element, element.style.getPropertyValue("visibility"), element.style.getPropertyPriority("visibility")]);
      unseen.add(element);
      element.style.setProperty("visibility", "hidden", "important");
    }
    const masks = await resolve("mask");
    const ignored = await resolve("ignore");
    masks.forEach((element) => unseen.add(element));
    if (rules.element) {
      const answer = await attempt(() => one(rules.element));
      if (answer.problem) { thaw(); return answer; }
      if (!isVisible(answer.ok)) { thaw(); return { problem: "not_actionable", message: `${describe(answer.ok)} is not visible` }; }
      found.element = answer.ok;
    }
    // Autofocus and late scripts act after the first frames.
    await frame();
    for (let times = 0; calm() && times < 3; times += 1) { await frame(); await frame(); }
    const edge = leftEdge();
    const boxes = (elements) => elements.map((element) => box(element, edge)).filter(isDrawn);
    found.masked = boxes(masks);
    found.ignored = boxes(ignored);
    found.element &&= box(found.element, edge);
    coverOver(found.masked, edge);
    observer.takeRecords();
    mutations = 0;
    return { ok: { ...found, state: state(), scroll: [scrollX - edge, scrollY] } };
  }

  // Everything by which two moments of a page can be told apart without a picture.
  function state() {
    const page = ofDocument(document, "scrollingElement") ?? rootElement();
    const focus = focusedElement();
    const elements = [...walk(document)];
    return {
      ready: ofDocument(document, "readyState"),
      fonts: ofDocument(document, "fonts").status,
      animations: documents().flatMap((each) => ofDocument(each, "getAnimations")).filter(isRunning).length,
      scroll: [scrollX, scrollY],
      focus: focus && describe(focus),
      busy: elements.filter(isBusy).length,
      images_incomplete: elements.filter((element) => element.tagName === "IMG" && !element.complete).length,
      undefined_elements: elements.filter((e) => ofElement(e, "localName").includes("-") && ofElement(e, "matches", ":not(:defined)")).length,
      size: page ? [page.scrollWidth, page.scrollHeight] : [innerWidth, innerHeight],
      window: [innerWidth, innerHeight],
      elements: elements.length - (cover ? 1 + cover.childElementCount : 0),
      mutations: mutations ? `${mutations} in ${mutated}` : 0,
    };
  }

  // Undoes `freeze`.
  function thaw() {
    restless.forEach((name) => removeEventListener(name, stopAnimations, true));
    for (const root of styled) adopt(root, (sheets) => sheets.filter((other) => other !== sheet));
    for (const [element, value, priority] of hidden) {
      element.style.removeProperty("visibility");
      if (value) element.style.setProperty("visibility", value, priority);
    }
    cover?.remove();
    for (const animation of resumed) animation.play();
    observer.takeRecords();
    unseen.clear();
    [styled, hidden, resumed, cover] = [[], [], [], null];
  }

  return { settle, freeze, state, thaw };
})());
