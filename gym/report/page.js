"use strict";
// Hovering, keys, sorting and copying. The page can be read without: everything it shows is in the markup.
(() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });

  const tip = document.getElementById("tip");
  const light = (trial, on) => {
    if (trial === undefined) return;
    const selector = '[data-trial="' + CSS.escape(trial) + '"]';
    for (const other of document.querySelectorAll(selector)) other.classList.toggle("hot", on);
  };
  const place = (x, y) => {
    const box = tip.getBoundingClientRect();
    const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
    const top = y + 16 + box.height > innerHeight ? y - 16 - box.height : y + 16;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, top) + "px";
  };
  let shown = null;
  const hide = () => {
    if (shown === null) return;
    light(shown.dataset.trial, false);
    shown = null;
    tip.hidden = true;
  };
  const show = (target, x, y) => {
    if (target !== shown) {
      hide();
      shown = target;
      tip.textContent = target.dataset.tip;
      tip.hidden = false;
      light(target.dataset.trial, true);
    }
    place(x, y);
  };
  document.addEventListener("pointermove", (event) => {
    const target = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    if (target === null) hide();
    else show(target, event.clientX, event.clientY);
  });
  const showBeside = (target) => {
    const box = target.getBoundingClientRect();
    show(target, box.right, box.bottom);
  };
  document.addEventListener("focusin", (event) => {
    if (event.target instanceof Element && event.target.matches("[data-tip]")) showBeside(event.target);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", () => {
    // What the keyboard is on scrolls into view by being reached.
    if (shown !== null && shown === document.activeElement) showBeside(shown);
    else hide();
  }, { passive: true, capture: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // A chart is one stop of the Tab key; arrows go on from mark to mark, from left to right.
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  for (const chart of document.querySelectorAll(".plot, .strip")) {
    const places = Array.from(chart.querySelectorAll("[data-tip]"), (mark) => {
      const box = mark.getBoundingClientRect();
      return [box.left + box.right, mark];
    });
    const marks = places.sort(([a], [b]) => a - b).map(([, mark]) => mark);
    if (marks.length === 0) continue;
    let stop = marks.find((mark) => mark.matches(".best")) || marks[0];
    for (const mark of marks) {
      mark.setAttribute("tabindex", mark === stop ? "0" : "-1");
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", mark.dataset.tip);
    }
    // Listened for around the chart: an svg that listens for the focus is a stop of its own in Chromium.
    chart.parentElement.addEventListener("focusin", (event) => {
      if (!marks.includes(event.target)) return;
      stop.setAttribute("tabindex", "-1");
      stop = event.target;
      stop.setAttribute("tabindex", "0");
    });
    chart.parentElement.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      const at = marks.indexOf(event.target);
      if (step === undefined || at < 0 || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      marks[Math.min(Math.max(at + step, 0), marks.length - 1)].focus();
    });
  }
  // What is wider than the page scrolls by keys, too: also what was folded away, or is since the window
  // is narrower. Its heading says what it is.
  const fit = () => {
    for (const box of document.querySelectorAll(".scroll, pre")) {
      if (box.scrollWidth <= box.clientWidth) continue;
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      const heading = box.closest("figure, section").querySelector("h2");
      box.setAttribute("aria-label", heading.textContent);
    }
  };
  fit();
  window.addEventListener("resize", fit);
  document.addEventListener("toggle", fit, { capture: true });

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    if (value === "") return null;
    const text = value === undefined ? cell.textContent.trim() : value;
    const number = Number(text);
    return text !== "" && Number.isFinite(number) ? number : text;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const sort = (table, column) => {
    const head = table.tHead.rows[0].cells[column];
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = Array.from(table.tBodies[0].rows, (row) => [keyOf(row, column), row]);
    // What has no value stays last either way.
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return down ? compare(b, a) : compare(a, b);
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const [column, head] of Array.from(table.tHead.rows[0].cells).entries()) {
      if (head.dataset.unsortable !== undefined) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, column));
      head.append(button);
    }
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "copied";
      } catch {
        // Not allowed from a file in some browsers: select it for the reader to copy.
        getSelection().selectAllChildren(code);
        button.textContent = "selected";
      }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }
  root.dataset.ready = "yes";
})();
