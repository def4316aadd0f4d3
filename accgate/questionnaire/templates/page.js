// The questionnaire's page. Prompts and answers are only ever set as text.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const store = "accgate-questionnaire:" + data.digest;
  const answers = data.questions.flatMap((question) => question.answers.map((answer) => answer.id));
  const total = answers.length * data.items.length;
  const part = (id) => document.getElementById(id);
  let state = fresh();
  let kept = true; // whether this browser keeps the ratings

  function fresh() {
    return { rater: "", place: 0, ratings: new Map(answers.map((id) => [id, new Map()])) };
  }

  // ---- what is kept, loaded and saved ----

  function plain() {
    const rated = [...state.ratings].filter(([, levels]) => levels.size);
    return Object.fromEntries(rated.map(([id, levels]) => [id, Object.fromEntries(levels)]));
  }

  /** A state from what was kept or saved, of which only known answers, statements and levels are taken. */
  function taken(value) {
    const made = fresh();
    if (value === null || typeof value !== "object") return made;
    if (typeof value.rater === "string") made.rater = value.rater.slice(0, 80);
    if (Number.isInteger(value.place) && data.questions[value.place]) made.place = value.place;
    const given = value.ratings !== null && typeof value.ratings === "object" ? value.ratings : {};
    for (const [id, levels] of made.ratings) {
      const own = given[id] !== null && typeof given[id] === "object" ? given[id] : {};
      for (const item of data.items) {
        const level = own[item.id];
        if (Number.isInteger(level) && level >= 1 && level <= data.levels.length) levels.set(item.id, level);
      }
    }
    return made;
  }

  function keep() {
    try {
      localStorage.setItem(store, JSON.stringify({ rater: state.rater, place: state.place, ratings: plain() }));
    } catch {
      kept = false;
      alarm("This browser keeps nothing for this page: download your ratings before you close it.");
    }
  }

  function recall() {
    try {
      state = taken(JSON.parse(localStorage.getItem(store)));
    } catch {
      state = fresh();
    }
  }

  function download() {
    const rater = state.rater.trim();
    part("rater").setAttribute("aria-invalid", String(rater === ""));
    if (rater === "") {
      alarm("Enter your name or number first: it tells your ratings from those of others.");
      part("rater").focus();
      return;
    }
    const ratings = plain();
    const saved = {
      kind: "accgate ratings", questionnaire: data.digest, rater, missing: total - rated(),
      exported: new Date().toISOString(), ratings,
    };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(saved, null, 1) + "\n"], { type: "application/json" }));
    link.download = "ratings-" + (rater.replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 40) || "rater") + ".json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  async function load(file) {
    let value = null;
    try {
      value = JSON.parse(await file.text());
    } catch {
      value = null;
    }
    if (value === null || typeof value !== "object" || value.questionnaire !== data.digest) {
      alarm("That file holds no ratings of this questionnaire; nothing was changed.");
      return;
    }
    if (rated() && !confirm("Replace the ratings on this page with those of the file?")) return;
    state = taken(value);
    alarm("");
    keep();
    show(firstOpen() ?? 0);
  }

  // ---- counting ----

  function rated() {
    let count = 0;
    for (const levels of state.ratings.values()) count += levels.size;
    return count;
  }

  function open(place) {
    const given = data.questions[place].answers.reduce((sum, answer) => sum + state.ratings.get(answer.id).size, 0);
    return data.questions[place].answers.length * data.items.length - given;
  }

  function firstOpen() {
    const places = data.questions.map((_, place) => place);
    return places.slice(state.place).concat(places.slice(0, state.place)).find((place) => open(place) > 0);
  }

  // ---- showing ----

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function alarm(text) {
    part("alarm").textContent = text;
  }

  /** A prompt or answer: as text, in its own direction, reachable by keyboard where it scrolls. */
  function passage(text, label, long) {
    const attributes = { class: "text", dir: "auto" };
    if (text === "") return element("div", { class: "text empty" }, "(empty)");
    if (long) Object.assign(attributes, { class: "text long", tabindex: "0", role: "region", "aria-label": label });
    return element("div", attributes, text);
  }

  function statement(answer, name, item) {
    const level = state.ratings.get(answer.id).get(item.id);
    const due = element("span", { class: "due" }, "not rated");
    const levels = element("div", { class: "levels" });
    data.levels.forEach((word, index) => {
      const attributes = { type: "radio", name: answer.id + ":" + item.id, value: String(index + 1) };
      const radio = element("input", attributes);
      radio.checked = level === index + 1;
      levels.append(element("label", {}, radio, element("span", {}, word)));
    });
    const box = element("fieldset", { class: level ? "rated" : "" });
    box.append(element("legend", {}, element("span", { class: "apart" }, name + ": "), item.text, " ", due), levels);
    box.addEventListener("change", (event) => rate(box, answer.id, item.id, Number(event.target.value)));
    return box;
  }

  function rate(box, answer, item, level) {
    state.ratings.get(answer).set(item, level);
    box.className = "rated";
    keep();
    count();
  }

  /** Keys 1 to 5 rate the statement that has the focus, and go on to the next. */
  function pressed(event) {
    const box = event.target instanceof Element ? event.target.closest("fieldset") : null;
    const level = Number(event.key);
    if (!box || !/^[1-5]$/.test(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
    const radio = box.querySelectorAll("input")[level - 1];
    radio.checked = true;
    radio.focus();
    radio.dispatchEvent(new Event("change", { bubbles: true }));
    const boxes = [...part("main").querySelectorAll("fieldset")];
    const next = boxes[boxes.indexOf(box) + 1];
    const after = part("next").disabled ? part("save") : part("next");
    (next ? next.querySelector("input:checked") ?? next.querySelector("input") : after).focus();
    event.preventDefault();
  }

  function show(place, { focus = true } = {}) {
    state.place = place;
    const question = data.questions[place];
    const heading = element("h2", { tabindex: "-1", id: "question" }, "Question " + (place + 1) + " of " + data.questions.length);
    const shown = [heading];
    if (data.head) shown.push(element("details", {}, element("summary", {}, "Text before every question"), passage(data.head, "Text before every question", true)));
    shown.push(passage(question.prompt, "Question", true));
    if (typeof question.target === "string") shown.push(element("h3", {}, "Expected answer"), passage(question.target, "Expected answer", true));
    if (question.answers.length === 1) shown.push(element("p", { class: "faint" }, "Both systems gave this same answer."));
    const columns = element("div", { class: "answers" });
    question.answers.forEach((answer, index) => {
      const name = question.answers.length === 1 ? "Answer" : "Answer " + "AB"[index];
      const column = element("section", { class: "answer", "aria-label": name }, element("h3", {}, name), passage(answer.text, name, false));
      column.style.gridRow = "span " + (data.items.length + 2); // so that statements stand side by side
      for (const item of data.items) column.append(statement(answer, name, item));
      columns.append(column);
    });
    shown.push(columns);
    part("main").replaceChildren(...shown);
    part("back").disabled = place === 0;
    part("next").disabled = place === data.questions.length - 1;
    count();
    if (focus) {
      keep();
      heading.focus({ preventScroll: true });
      heading.scrollIntoView();
    }
  }

  function count() {
    const given = rated();
    part("done").max = total;
    part("done").value = given;
    part("progress").textContent = given + " of " + total + " ratings";
    [...part("places").children].forEach((entry, place) => {
      const button = entry.firstChild;
      const left = open(place);
      const all = data.questions[place].answers.length * data.items.length;
      button.className = left === 0 ? "done" : left < all ? "partly" : "";
      button.setAttribute("aria-label", "Question " + (place + 1) + (left ? ", " + left + " not rated" : ", rated"));
      if (place === state.place) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
    part("places").scrollTop = part("places").children[state.place].offsetTop - part("places").offsetTop - 40;
    const here = open(state.place);
    part("place").textContent = "Question " + (state.place + 1) + " of " + data.questions.length + (here ? ": " + here + " not rated" : ": all rated");
    const left = total - given;
    const places = data.questions.map((_, place) => place).filter((place) => open(place));
    const listed = places.slice(0, 10).map((place) => place + 1).join(", ") + (places.length > 10 ? " and " + (places.length - 10) + " more" : "");
    part("missing").textContent = left
      ? left + (left === 1 ? " rating is" : " ratings are") + " missing, in " + (places.length === 1 ? "question " : "questions ") + listed + "."
      : "All " + total + " ratings are there. Download them and send the file to the person who sent you this page.";
    part("unanswered").disabled = left === 0;
    part("save").textContent = left ? "Download unfinished ratings" : "Download ratings";
  }

  function unanswered() {
    const place = firstOpen();
    if (place === undefined) return;
    show(place);
    const box = part("main").querySelector("fieldset:not(.rated)");
    box.querySelector("input").focus({ preventScroll: true });
    box.scrollIntoView({ block: "center" });
  }

  function start() {
    recall();
    part("title").textContent = data.title;
    part("introduction").textContent = data.introduction;
    part("rater").value = state.rater;
    part("places").replaceChildren(...data.questions.map((_, place) => {
      const button = element("button", { type: "button" }, String(place + 1));
      button.addEventListener("click", () => show(place));
      return element("li", {}, button);
    }));
    show(state.place, { focus: false });
  }

  part("rater").addEventListener("input", (event) => {
    state.rater = event.target.value;
    part("rater").setAttribute("aria-invalid", "false");
    if (kept) alarm("");
    keep();
  });
  part("main").addEventListener("keydown", pressed);
  part("back").addEventListener("click", () => show(state.place - 1));
  part("next").addEventListener("click", () => show(state.place + 1));
  part("unanswered").addEventListener("click", unanswered);
  part("save").addEventListener("click", download);
  part("load").addEventListener("change", async (event) => {
    if (event.target.files.length) await load(event.target.files[0]);
    part("rater").value = state.rater;
    event.target.value = "";
  });
  part("clear").addEventListener("click", () => {
    if (!confirm("Delete all ratings on this page?")) return;
    state = fresh();
    keep();
    start();
  });
  // Another tab rated: what it kept is the newer.
  addEventListener("storage", (event) => {
    if (event.key !== store) return;
    const place = state.place;
    recall();
    part("rater").value = state.rater;
    show(place, { focus: false });
  });
  start();
})();
