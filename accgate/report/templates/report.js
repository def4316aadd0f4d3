// The filter of the checks and the answers that got worse. Replies are only ever set as text.
"use strict";
(() => {
  const PAGE = 3; // answers that each press shows: a check may have thousands
  const data = JSON.parse(document.getElementById("data").textContent);
  const each = (selector, within = document) => [...within.querySelectorAll(selector)];
  each(".filter").forEach((tools) => { tools.hidden = false; });

  // ---- the checks ----

  const rows = each(".forest tbody tr"), buttons = each(".seg button");
  const find = document.getElementById("q");
  let kind = "all";

  function filter() {
    const words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0, all = 0;
    for (const row of rows) {
      const shown = (kind === "all" || (kind === "pass") === (row.dataset.v === "pass")) && words.every((word) => row.dataset.n.includes(word));
      row.hidden = !shown;
      if (!row.classList.contains("group")) { all += 1; count += shown; }
    }
    document.getElementById("live").textContent = count === all ? "" : `${count.toLocaleString("en")} of ${all.toLocaleString("en")} checks`;
  }

  if (find) {
    buttons.forEach((button) => button.addEventListener("click", () => {
      kind = button.dataset.k;
      buttons.forEach((other) => other.setAttribute("aria-pressed", other === button));
      filter();
    }));
    find.addEventListener("input", filter);
  }

  // ---- links to checks ----

  function unfold() {
    const check = /^#check-\d+$/.test(location.hash) && document.querySelector(location.hash);
    if (!check || check.localName !== "details") return;
    check.open = true;
    check.scrollIntoView();
    check.querySelector("summary").focus({ preventScroll: true });
  }
  addEventListener("hashchange", unfold);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && link.hash && link.hash === location.hash) unfold();
  });
  unfold();

  // ---- the answers ----

  const card = document.getElementById("card").content.firstElementChild;
  const textOf = (flip) => [flip.i, flip.p || "", flip.e || "", flip.t || "", ...(flip.d || []).map((part) => part[1])].join("\n");
  const sideOf = (flip, kind) => (flip.d || []).filter((part) => part[0] === 0 || part[0] === kind);

  /** Text with what was searched for marked. */
  function marked(text, words) {
    const made = document.createDocumentFragment();
    const lower = text.toLowerCase();
    let at = 0;
    while (words.length && lower.length === text.length) {
      let next = -1, length = 0;
      for (const word of words) {
        const place = lower.indexOf(word, at);
        if (place >= 0 && (next < 0 || place < next)) { next = place; length = word.length; }
      }
      if (next < 0) break;
      const hit = document.createElement("mark");
      hit.textContent = text.slice(next, next + length);
      made.append(text.slice(at, next), hit);
      at = next + length;
    }
    made.append(text.slice(at));
    return made;
  }

  function fill(place, known, parts, words, marks = true) {
    place.replaceChildren();
    if (!known) {
      const unknown = document.createElement("span");
      unknown.className = "muted";
      unknown.textContent = "not known";
      place.append(unknown);
    }
    for (const [kind, text] of parts) {
      const part = kind === 0 || !marks ? place : document.createElement(kind < 0 ? "del" : "ins");
      part.append(marked(text, words));
      if (part !== place) place.append(part);
    }
  }

  function shown(flip, words) {
    const made = card.cloneNode(true);
    const [before, got] = flip.k || [true, true];
    const part = (name) => made.querySelector(name);
    made.classList.toggle("brief", Boolean(flip.b));
    made.classList.toggle("sure", Boolean(flip.r));
    [part(".scored").textContent, part(".scores").textContent] = flip.s || ["", ""];
    part("code").replaceChildren(marked(flip.i, words));
    fill(part(".prompt"), flip.p !== undefined, flip.p === undefined ? [] : [[0, flip.p]], words);
    part(".reasoning").hidden = flip.t === undefined;
    fill(part(".thought"), true, [[0, flip.t || ""]], words);
    fill(part(".expected"), flip.e !== undefined, flip.e === undefined ? [] : [[0, flip.e]], words);
    const alike = (flip.d || []).some(([kind, text]) => kind === 0 && text.trim() !== "");
    fill(part(".before"), before, before ? sideOf(flip, -1) : [], words, alike);
    fill(part(".got"), got, got ? sideOf(flip, 1) : [], words, alike);
    return made;
  }

  function browse(section) {
    const flips = data[section.dataset.check];
    const [search, list, more] = [".find", ".answers", ".more"].map((name) => section.querySelector(name));
    const button = more.querySelector("button");
    let texts = null; // made at the first search
    let hits = flips, words = [], room = PAGE;

    function show(from = 0) {
      if (from === 0) list.replaceChildren();
      list.append(...hits.slice(from, room).map((flip) => shown(flip, words)));
      const count = Math.min(room, hits.length).toLocaleString("en");
      more.hidden = false;
      button.hidden = room >= hits.length;
      section.querySelector(".shown").textContent = `${count} of ${hits.length.toLocaleString("en")} ${words.length ? "that match" : "shown"}`;
    }

    search.addEventListener("input", () => {
      words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      texts = texts || flips.map((flip) => textOf(flip).toLowerCase());
      hits = words.length ? flips.filter((_, at) => words.every((word) => texts[at].includes(word))) : flips;
      room = PAGE;
      show();
    });
    button.addEventListener("click", () => {
      const from = room;
      room = from < 30 ? from + 2 * PAGE : 2 * from;
      show(from);
      const first = list.children[from];
      if (first) { first.tabIndex = -1; first.focus(); }
    });
    show();
  }

  each(".flips").forEach((section) => {
    const check = section.closest("details");
    if (!check || check.open) browse(section);
    else check.addEventListener("toggle", () => browse(section), { once: true });
  });

  // ---- on paper everything is unfolded ----

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = each("details:not([open])");
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
})();
