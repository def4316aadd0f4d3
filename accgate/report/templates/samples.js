// Every sample of a check: filtered, searched, sorted and opened. Texts are only ever set as text.
"use strict";
(() => {
  const FIRST = 10; // rows that are there at once; each press shows more, up to STEP
  const STEP = 500;
  const MOST = 400; // words of a reply that are compared one by one
  const AROUND = 24; // words kept beside a change
  const EXCERPT = 240; // characters of a prompt in its line
  const KINDS = [["all", "All", 0], ["worse", "Worse", 1], ["better", "Better", 2], ["wrong", "Wrong", 4], ["unread", "Unread", 8], ["failed", "Failed", 16], ["cut", "Cut off", 32], ["collapsed", "Lost in all runs", 64]];
  const [ID, OWN, BEFORE, NOW, KIND, TOKENS, SECONDS, GROUP, ANSWERS] = Array(9).keys();
  const [PROMPT, EXPECTED, REFERENCE, CANDIDATE, REASONING] = Array(5).keys();
  const data = JSON.parse(document.getElementById("data").textContent);
  const card = document.getElementById("card").content.firstElementChild;
  const lists = [];
  const count = (number) => number.toLocaleString("en");

  // What the file beside the page brings.
  let waits = document.getElementById("beside") !== null;
  self.accgateSamples = (more) => {
    for (const [check, { rows, texts }] of Object.entries(more)) {
      for (const row of rows) data[check].rows.push(row);
      for (const text of texts) data[check].texts.push(text);
    }
    waits = false;
    lists.forEach((list) => list.refresh());
  };
  addEventListener("error", (event) => {
    if (!event.target || event.target.id !== "beside") return;
    waits = false;
    document.querySelectorAll(".beside").forEach((note) => { note.append(" That file is not here, so they are not shown: keep it beside this page."); });
    lists.forEach((list) => list.refresh());
  }, true);

  // ---- texts ----

  function made(name, text, kind) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  }

  function icon(name, kind) {
    const [svg, use] = ["svg", "use"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
    svg.setAttribute("class", `ico ${kind}`);
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `#i-${name}`);
    svg.append(use);
    return svg;
  }

  /** Text with what was searched for marked. */
  function marked(text, words) {
    const found = document.createDocumentFragment(), lower = text.toLowerCase();
    let at = 0;
    while (words.length && lower.length === text.length) {
      let next = -1, length = 0;
      for (const word of words) {
        const place = lower.indexOf(word, at);
        if (place >= 0 && (next < 0 || place < next)) { next = place; length = word.length; }
      }
      if (next < 0) break;
      found.append(text.slice(at, next), made("mark", text.slice(next, next + length)));
      at = next + length;
    }
    found.append(text.slice(at));
    return found;
  }

  const tokens = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) || [];

  /** Parts of two texts: in both (0), only before (-1), only after (1); of very many words that differ all are. */
  function difference(before, after) {
    const [a, b] = [tokens(before), tokens(after)];
    let head = 0, tail = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
    const old = a.slice(head, a.length - tail), now = b.slice(head, b.length - tail);
    const parts = [[0, a.slice(0, head)]];
    const add = (kind, word) => { const last = parts[parts.length - 1]; if (last[0] === kind) last[1].push(word); else parts.push([kind, [word]]); };
    if (Math.max(old.length, now.length) > MOST) {
      parts.push([-1, old], [1, now]);
    } else {
      const wide = now.length + 1, same = new Uint16Array((old.length + 1) * wide); // longest common words from here on
      for (let i = old.length - 1; i >= 0; i -= 1) {
        for (let j = now.length - 1; j >= 0; j -= 1) {
          same[i * wide + j] = old[i] === now[j] ? same[(i + 1) * wide + j + 1] + 1 : Math.max(same[(i + 1) * wide + j], same[i * wide + j + 1]);
        }
      }
      let i = 0, j = 0;
      while (i < old.length || j < now.length) {
        if (i < old.length && j < now.length && old[i] === now[j]) { add(0, old[i]); i += 1; j += 1; }
        else if (j === now.length || (i < old.length && same[(i + 1) * wide + j] >= same[i * wide + j + 1])) { add(-1, old[i]); i += 1; }
        else { add(1, now[j]); j += 1; }
      }
    }
    parts.push([0, a.slice(a.length - tail)]);
    return parts.filter((part) => part[1].length);
  }

  /** What both texts share, without what is far from any change. */
  function shortened(parts) {
    return parts.map(([kind, words], at) => {
      const head = at > 0 ? 2 * AROUND : 0, tail = at < parts.length - 1 ? 2 * AROUND : 0;
      if (kind !== 0 || parts.length === 1 || words.length <= head + tail + AROUND) return [kind, words.join("")];
      return [0, `${words.slice(0, head).join("")} \u2026 ${words.slice(words.length - tail).join("")}`.trimStart(), true];
    });
  }

  function fill(place, text, words) {
    place.replaceChildren(text === null || text === undefined ? made("span", "not known", "muted") : marked(text, words));
  }

  function points(score) {
    return score === null ? "" : `${score} point${score === 1 ? "" : "s"}`;
  }

  // ---- one check ----

  function listOf(section) {
    const check = data[section.dataset.check], { about, rows, texts } = check;
    const part = (name) => section.querySelector(name);
    const list = part(".answers"), more = part(".more"), button = more.querySelector("button"), search = part(".find"), order = part(".order");
    const up = about.up ? 1 : -1;
    const change = (row) => row[BEFORE] === null || row[NOW] === null ? Infinity : up * (row[NOW] - row[BEFORE]);
    const known = (value, otherwise) => value === null ? otherwise : value;
    const ORDERS = [
      ["Worst first", null], ["Id", (a, b) => (a[OWN] || a[ID]).localeCompare(b[OWN] || b[ID], "en", { numeric: true })],
      ["Score, lowest first", (a, b) => known(a[NOW], -Infinity) - known(b[NOW], -Infinity) || 0], ["Change, worst first", (a, b) => change(a) - change(b) || 0],
      ["Tokens, most first", (a, b) => known(b[TOKENS], -1) - known(a[TOKENS], -1)], ["Seconds, longest first", (a, b) => known(b[SECONDS], -1) - known(a[SECONDS], -1)],
    ];
    let lower = [], kind = "all", words = [], hits = [], room = FIRST, chosen = null;
    const number = (name) => KINDS.find((each) => each[0] === name)[2];
    const of = (name) => rows.filter((row) => name === "all" || row[KIND] & number(name)).length;

    /** What a sample's row is found by. */
    function searched(at) {
      if (lower[at] === undefined) {
        const row = rows[at];
        lower[at] = [row[ID], row[OWN], about.groups[row[GROUP]], ...(texts[at] || [])].filter(Boolean).join("\n").toLowerCase();
      }
      return lower[at];
    }

    function chips() {
      const place = part(".chips"), focused = place.contains(document.activeElement);
      place.replaceChildren(...KINDS.filter(([name]) => name === "all" || name === kind || of(name)).map(([name, title]) => {
        const chip = made("button", `${title} ${count(of(name))}`);
        chip.type = "button";
        chip.dataset.kind = name;
        chip.setAttribute("aria-pressed", name === kind);
        chip.addEventListener("click", () => { kind = name; chosen = null; find(); address(); });
        return chip;
      }));
      if (focused) place.querySelector("[aria-pressed=true]").focus();
    }

    function find() {
      chips();
      const bit = number(kind), by = ORDERS[order.selectedIndex][1];
      hits = [...rows.keys()].filter((at) => (!bit || rows[at][KIND] & bit) && words.every((word) => searched(at).includes(word)));
      if (by) hits.sort((a, b) => by(rows[a], rows[b]) || a - b);
      room = FIRST;
      show();
    }

    function show(from = 0) {
      if (from === 0) list.replaceChildren();
      list.append(...hits.slice(from, room).map(item));
      more.hidden = false;
      button.hidden = room >= hits.length;
      part(".shown").textContent = `${count(Math.min(room, hits.length))} of ${count(hits.length)}${words.length ? " that match" : ""}`;
    }

    function item(at) {
      const row = rows[at], line = made("li"), fold = made("details", undefined, "sample"), summary = made("summary");
      const [sign, colour] = row[KIND] & 17 ? ["bad", "bad"] : row[KIND] & 40 ? ["ask", "warn"] : row[KIND] & 4 ? ["bad", "muted"] : ["ok", "good"];
      const id = made("code");
      id.append(marked(row[OWN] || row[ID], words));
      const prompt = texts[at] && texts[at][PROMPT] ? texts[at][PROMPT].slice(0, EXCERPT).replace(/\s+/g, " ") : "";
      const said = KINDS.slice(4).filter(([, , bit]) => row[KIND] & bit).map(([, title]) => title.toLowerCase()).join(", ");
      const score = row[BEFORE] === null ? known(row[NOW], "\u2013") : `${row[BEFORE]} \u2192 ${known(row[NOW], "\u2013")}`;
      summary.append(icon(sign, colour), id, made("span", prompt, "what reply"), made("span", said, "small muted said"), made("span", String(score), "num"));
      fold.append(summary);
      fold.dataset.at = at;
      fold.addEventListener("toggle", () => {
        if (fold.open && fold.children.length === 1) fold.append(filled(at));
        if (fold.open && fold.contains(document.activeElement)) { chosen = at; address(); }
      });
      line.append(fold);
      return line;
    }

    function filled(at) {
      const row = rows[at], text = texts[at], own = card.cloneNode(true), place = (name) => own.querySelector(name);
      place(".scored").textContent = points(row[BEFORE]);
      place(".scores").textContent = points(row[NOW]);
      const facts = [row[OWN] ? `id ${row[ID]}` : "", row[GROUP] === null ? "" : `group ${about.groups[row[GROUP]]}`, row[TOKENS] === null ? "" : `${count(row[TOKENS])} tokens`,
        row[SECONDS] === null ? "" : `${row[SECONDS]} s`, row[ANSWERS] > 1 ? `the worst of ${row[ANSWERS]} answers` : ""].filter(Boolean);
      place(".facts-line").hidden = !facts.length;
      place(".facts-line").textContent = facts.join(" \u00b7 ");
      if (!text) {
        own.prepend(made("p", waits ? "The texts are being loaded." : "The texts of this sample are not in this page.", "muted"));
        return own;
      }
      fill(place(".prompt"), text[PROMPT], words);
      fill(place(".expected"), text[EXPECTED], words);
      place(".reasoning").hidden = !text[REASONING];
      fill(place(".thought"), text[REASONING], words);
      const [before, got] = [text[REFERENCE], text[CANDIDATE]];
      if (before === null || got === null) {
        fill(place(".before"), before, words);
        fill(place(".got"), got, words);
        return own;
      }
      const parts = difference(before, got), alike = parts.some(([side, said]) => side === 0 && said.some((word) => word.trim()));
      const write = (shown) => [[".before", -1], [".got", 1]].forEach(([name, side]) => {
        place(name).replaceChildren(...shown.filter((each) => each[0] === 0 || each[0] === side).map(([each, said]) => {
          if (each === 0 || !alike) return marked(said, words);
          const part = made(each < 0 ? "del" : "ins");
          part.append(marked(said, words));
          return part;
        }));
      });
      const short = shortened(parts), all = place(".whole");
      all.hidden = !short.some((each) => each[2]);
      all.addEventListener("click", () => { write(parts.map(([side, said]) => [side, said.join("")])); all.hidden = true; });
      write(short);
      return own;
    }

    function address() {
      const parts = new URLSearchParams({ check: section.dataset.key, filter: kind });
      if (chosen !== null) parts.set("sample", rows[chosen][OWN] || rows[chosen][ID]);
      try { history.replaceState(null, "", `#${parts}`); } catch { /* a page that may not change its address */ }
    }

    /** Follow a link: show a filter, and open a sample. */
    function go(filter, sample) {
      kind = KINDS.some(([name]) => name === filter) ? filter : "all";
      search.value = "";
      words = [];
      find();
      const at = sample === null ? -1 : rows.findIndex((row) => row[ID] === sample || row[OWN] === sample);
      let place = hits.indexOf(at);
      if (at >= 0 && place < 0) { kind = "all"; find(); place = hits.indexOf(at); }
      if (place < 0) { section.scrollIntoView(); return; }
      room = Math.max(room, place + 1);
      show();
      const fold = list.children[place].firstElementChild;
      fold.open = true;
      fold.scrollIntoView({ block: "center" });
      fold.firstElementChild.focus({ preventScroll: true });
    }

    function refresh() { // the file beside is there, or is not
      lower = [];
      const open = new Set([...list.querySelectorAll("details.sample[open]")].map((fold) => Number(fold.dataset.at)));
      const kept = room;
      find();
      room = kept;
      show();
      list.querySelectorAll("details.sample").forEach((fold) => { fold.open = open.has(Number(fold.dataset.at)); });
    }

    part(".tools").hidden = false;
    order.append(...ORDERS.map(([title]) => made("option", title)));
    order.addEventListener("change", find);
    if (about.head) {
      part(".headed").hidden = false;
      part(".headed p").textContent = about.head;
    }
    search.addEventListener("input", () => {
      words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      find();
    });
    button.addEventListener("click", () => {
      const from = room;
      room += Math.min(Math.max(2 * from, 50), STEP);
      show(from);
      list.children[from]?.querySelector("summary").focus();
    });
    list.addEventListener("keydown", (event) => {
      const step = { j: 1, k: -1 }[event.key], line = event.target.closest("li");
      if (!step || !line || event.ctrlKey || event.metaKey || event.altKey) return;
      const next = step > 0 ? line.nextElementSibling : line.previousElementSibling;
      next?.querySelector("summary").focus();
    });
    if (rows.some((row) => row[KIND] & 1)) kind = "worse";
    find();
    if (!section.closest(".lines")) list.querySelectorAll("details.sample").forEach((fold, at) => { fold.open = kind === "worse" && at < 3; });
    return { section, go, refresh };
  }

  const sections = [...document.querySelectorAll(".samples")];
  const listAt = (section) => {
    let list = lists.find((each) => each.section === section);
    if (!list) lists.push(list = listOf(section));
    return list;
  };
  sections.forEach((section) => {
    const fold = section.closest("details");
    if (!fold || fold.open) listAt(section);
    else fold.addEventListener("toggle", () => listAt(section), { once: true });
  });

  function follow() {
    const link = new URLSearchParams(location.hash.slice(1));
    const section = sections.find(({ dataset }) => [dataset.key, dataset.check].includes(link.get("check")));
    if (!section) return;
    const fold = section.closest("details");
    if (fold) fold.open = true;
    listAt(section).go(link.get("filter"), link.get("sample"));
  }
  addEventListener("hashchange", follow);
  follow();
})();
