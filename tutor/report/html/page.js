"use strict";
(() => {
  const stops = JSON.parse(document.getElementById("stops").textContent);
  const nav = document.getElementById("time");
  const range = nav.querySelector("input");
  const out = nav.querySelector("output");
  const pane = document.getElementById("code");
  const last = stops.length - 1;
  const timed = [...document.querySelectorAll("[data-a],[data-z]")].map((element) => ({
    element,
    since: Number(element.dataset.a || 0),
    until: element.dataset.z === undefined ? Infinity : Number(element.dataset.z),
  }));
  let now = last;
  let row = null;

  function show(stop) {
    now = Math.max(0, Math.min(last, stop));
    for (const { element, since, until } of timed) {
      element.classList.toggle("off", now < since || now >= until);
    }
    const [words, , key] = stops[now];
    if (row) row.classList.remove("now");
    row = key ? document.getElementById(key) : null;
    if (row) {
      row.classList.add("now");
      row.setAttribute("aria-current", "step");
      const box = pane.getBoundingClientRect();
      const place = row.getBoundingClientRect();
      if (place.top < box.top || place.bottom > box.bottom) {
        pane.scrollTop += place.top - box.top - box.height / 2;
      }
    }
    for (const other of pane.querySelectorAll("[aria-current]")) {
      if (other !== row) other.removeAttribute("aria-current");
    }
    centre();
    range.value = now;
    range.setAttribute("aria-valuetext", words);
    out.textContent = `${words} · ${now + 1} of ${last + 1}`;
  }

  // A wide picture begins at what matters: where the backward failed, or at its root.
  function centre() {
    for (const wide of document.querySelectorAll("figure:not(.off) > .wide:not([data-seen])")) {
      const boxes = wide.querySelectorAll(".graph g.failed, .graph g.node, .graph g.module");
      const box = wide.querySelector(".failed") || boxes[boxes.length - 1];
      if (!box || !box.getClientRects().length) continue;
      wide.dataset.seen = "";
      const place = box.getBoundingClientRect();
      const view = wide.getBoundingClientRect();
      wide.scrollLeft += place.left + place.width / 2 - view.left - view.width / 2;
    }
  }

  function step(kind, way) {
    let stop = now + way;
    while (stop > 0 && stop < last && stops[stop][1] !== kind) stop += way;
    show(stop);
  }

  function cause() {
    const link = document.querySelector("[data-cause][data-k]") || document.querySelector("[data-k]");
    if (!link) return;
    show(Number(link.dataset.k));
    document.getElementById(link.hash.slice(1))?.scrollIntoView({ block: "nearest" });
  }

  const actions = {
    first: () => show(0),
    last: () => show(last),
    "line-": () => step("l", -1),
    "line+": () => step("l", 1),
    "op-": () => step("o", -1),
    "op+": () => step("o", 1),
    "pass-": () => step("p", -1),
    "pass+": () => step("p", 1),
    cause,
  };
  const keys = {
    "[": "line-", "]": "line+", "{": "op-", "}": "op+", "(": "pass-", ")": "pass+", c: "cause",
  };

  range.addEventListener("input", () => show(Number(range.value)));
  nav.addEventListener("click", (event) => actions[event.target.dataset.do]?.());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = keys[event.key];
    if (action) {
      event.preventDefault();
      actions[action]();
    }
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-k]");
    if (link) show(Number(link.dataset.k));
  });
  let before = last;
  window.addEventListener("beforeprint", () => { before = now; show(last); });
  window.addEventListener("afterprint", () => show(before));
  nav.hidden = false;
  show(last);
})();
