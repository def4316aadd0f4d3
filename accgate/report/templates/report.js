// The filter of the checks, links to them, and paper.
(() => {
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

  // ---- on paper everything is unfolded ----

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = each("details:not([open])");
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
})();
