"use strict";
// Zooming and brushing, by D3. What the charts show is drawn already: this moves it.
(() => {
  const numbers = (text) => text.split(" ").map(Number);
  const svgOf = (chart, name) => {
    const node = document.createElementNS(chart.namespaceURI, name);
    chart.append(node);
    return node;
  };
  const button = (label, text, press) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "tool";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", press);
    return made;
  };

  // --- zoom: the plot scales, marks and words keep their size, axes are drawn anew -------------------------------
  const makeZoom = (chart) => {
    const [left, right, top, bottom] = numbers(chart.dataset.frame);
    // An axis is "low high from to", with "log" if it is logarithmic and "zero" if its low end stands for 0.
    const scaleOf = (text) => {
      const [low, high, from, to] = numbers(text);
      const log = text.includes("log");
      const scale = (log ? d3.scaleLog() : d3.scaleLinear()).domain([low, high]).range([from, to]);
      return { scale, log, zero: text.includes("zero") ? low : null };
    };
    const { scale: x, ...xKind } = scaleOf(chart.dataset.x);
    const { scale: y, ...yKind } = scaleOf(chart.dataset.y);
    const yFrom = numbers(chart.dataset.y)[2];
    const ticksOf = (axis, scale, kind, count) => {
      if (!kind.log) return axis.ticks(count);
      const [low, high] = scale.domain();
      const decades = Math.log10(high / low);
      const every = Math.max(1, Math.ceil(decades / 6));
      const values = scale.ticks(count).filter((tick) => {
        const power = Math.round(Math.log10(tick));
        return decades < 2 || (Math.abs(tick / 10 ** power - 1) < 1e-6 && power % every === 0);
      }).filter((tick) => kind.zero === null || tick > kind.zero * 2);
      if (kind.zero !== null && low <= kind.zero * 1.0001) values.unshift(kind.zero);
      return axis.tickValues(values).tickFormat((tick) => (tick === kind.zero ? "0" : String(Number(tick.toPrecision(2)))));
    };
    const whole = chart.dataset.whole !== undefined;
    const ticks = chart.querySelector(".scale");
    ticks.textContent = "";
    const across = d3.select(ticks).append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`);
    const up = d3.select(ticks).append("g").attr("class", "axis").attr("transform", `translate(${left},0)`);

    const stretched = svgOf(chart, "g");
    const clip = svgOf(chart, "g");
    clip.setAttribute("clip-path", `url(#${chart.id}-clip)`);
    clip.append(stretched);
    ticks.after(clip);
    stretched.append(...chart.querySelectorAll(".forbidden, .line"));
    const moving = Array.from(chart.querySelectorAll(".mark, .label"), (node) => {
      const box = node.getBBox();
      // A failed trial has no height, a line's name no place along the line.
      return { node, x: box.x + box.width / 2, y: box.y + box.height / 2,
               byX: !node.matches(".label.muted"), byY: !node.matches(".failed") };
    });

    const draw = (t) => {
      const rx = t.rescaleX(x);
      const ry = t.rescaleY(y);
      const below = whole ? d3.axisBottom(rx).ticks(8, "d").tickValues(rx.ticks(8).filter(Number.isInteger))
        : ticksOf(d3.axisBottom(rx), rx, xKind, 8);
      across.call(below.tickSize(top - bottom).tickPadding(8));
      up.call(ticksOf(d3.axisLeft(ry), ry, yKind, 6).tickSize(left - right).tickPadding(8));
      stretched.setAttribute("transform", t.toString());
      for (const { node, x: px, y: py, byX, byY } of moving) {
        const nx = byX ? t.applyX(px) : px;
        const ny = byY ? t.applyY(py) : py;
        node.setAttribute("transform", `translate(${nx - px},${ny - py})`);
        const seen = nx >= left - 1 && nx <= right + 1 && (!byY || (ny >= top - 9 && ny <= yFrom + 1));
        node.classList.toggle("away", t.k > 1 && !seen);
      }
    };
    const zoom = d3.zoom().scaleExtent([1, 60]).extent([[left, top], [right, bottom]])
      .translateExtent([[left, top], [right, bottom]])
      // The wheel and one finger scroll the page.
      .filter(() => (d3.event.type === "wheel" ? d3.event.ctrlKey || d3.event.metaKey
                     : d3.event.touches ? d3.event.touches.length > 1 : !d3.event.ctrlKey && !d3.event.button))
      .on("zoom", () => draw(d3.event.transform));
    const plot = d3.select(chart).call(zoom).style("touch-action", "pan-x pan-y");
    draw(d3.zoomIdentity);

    const focused = () => moving.find(({ node }) => node === document.activeElement);
    const by = (factor) => {
      const mark = focused();
      const t = d3.zoomTransform(chart);
      zoom.scaleBy(plot, factor, mark ? [t.applyX(mark.x), t.applyY(mark.y)] : undefined);
    };
    const whenever = {
      "+": () => by(1.5), "=": () => by(1.5), "-": () => by(1 / 1.5),
      "0": () => zoom.transform(plot, d3.zoomIdentity),
    };
    const pans = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const box = chart.parentElement;
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const pan = event.shiftKey ? pans[event.key] : undefined;
      const k = d3.zoomTransform(chart).k;
      if (pan !== undefined) zoom.translateBy(plot, pan[0] * (right - left) / 8 / k, pan[1] * (bottom - top) / 8 / k);
      else if (whenever[event.key] !== undefined) whenever[event.key]();
      else return;
      event.preventDefault();
    });
    // What the arrow keys reach comes into view.
    box.addEventListener("focusin", () => {
      const mark = focused();
      if (mark && mark.node.classList.contains("away")) zoom.translateTo(plot, mark.x, mark.y);
    });
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(button("Zoom in", "+", () => by(1.5)), button("Zoom out", "\u2212", () => by(1 / 1.5)),
                 button("Show the whole chart", "whole chart", whenever["0"]));
    box.after(tools);
  };
  for (const chart of document.querySelectorAll(".plot[data-zoom]")) makeZoom(chart);

  // --- brushes: a stretch of an axis keeps the trials that go through it -----------------------------------------
  const threads = document.getElementById("parallel");
  if (threads !== null) {
    const [top, bottom] = numbers(threads.dataset.brush);
    const lines = Array.from(threads.querySelectorAll(".thread"), (line) => {
      const places = Array.from(line.getAttribute("d").matchAll(/[ML]([\d.-]+) ([\d.-]+)/g), ([, x, y]) => [x, +y]);
      return { line, at: new Map(places) };
    });
    const kept = new Map();  // stretch by axis
    const said = document.createElement("p");
    said.className = "muted hint";
    said.setAttribute("role", "status");
    const filter = () => {
      const left = new Set();
      for (const { line, at } of lines) {
        const inside = Array.from(kept).every(([x, [from, to]]) => at.get(x) >= from && at.get(x) <= to);
        line.classList.toggle("out", !inside);
        if (inside) left.add(line.dataset.trial);
      }
      const out = (node) => kept.size > 0 && !left.has(node.dataset.trial);
      for (const row of document.querySelectorAll("#trials tr[data-trial]")) row.hidden = out(row);
      for (const mark of document.querySelectorAll(".plot .mark[data-trial]")) mark.classList.toggle("out", out(mark));
      said.textContent = kept.size > 0 ? `Showing ${left.size} of ${lines.length} trials, here and in the table below. Escape shows all.` : "";
      clear.hidden = kept.size === 0;
    };
    const axes = Array.from(threads.querySelectorAll("[data-pole]"), (title) => {
      const x = title.getAttribute("x");
      const group = d3.select(threads).append("g").attr("class", "brush");
      const brush = d3.brushY().extent([[+x - 10, top], [+x + 10, bottom]]).on("brush end", () => {
        if (d3.event.selection) kept.set(x, d3.event.selection);
        else kept.delete(x);
        filter();
      });
      group.call(brush);
      return { title, x, group, brush, step: Number(title.dataset.pole) || (bottom - top) / 10,
               choices: Number(title.dataset.pole) > 0 };
    });
    const showAll = () => { for (const { group, brush } of axes) group.call(brush.move, null); };
    const clear = button("Show all trials again", "all trials", showAll);
    clear.hidden = true;
    const box = threads.parentElement;
    box.after(said, clear);
    const place = (axis, centre, half) => {
      const at = Math.min(Math.max(centre, top), bottom);
      axis.group.call(axis.brush.move, [Math.max(top, at - half), Math.min(bottom, at + half)]);
      axis.centre = at;
      axis.half = half;
    };
    // Before the keys that go from point to point.
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") showAll();
      const axis = axes.find(({ title }) => title === event.target);
      if (axis === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      const way = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const grow = { "+": 1, "=": 1, "-": -1 }[event.key];
      if (way === undefined && grow === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      const stretch = kept.get(axis.x);
      if (stretch === undefined) {
        const half = axis.choices ? axis.step * 0.4 : (bottom - top) / 4;
        const edge = way === -1 ? top : bottom;
        place(axis, axis.choices ? edge : way === -1 ? top + half : bottom - half, half);
        return;
      }
      // By pointer it may have been put anywhere.
      const ours = axis.centre !== undefined && Math.abs(Math.max(top, axis.centre - axis.half) - stretch[0]) < 1;
      const centre = ours ? axis.centre : (stretch[0] + stretch[1]) / 2;
      const half = ours ? axis.half : (stretch[1] - stretch[0]) / 2;
      place(axis, centre + (way || 0) * axis.step, Math.max(half + (grow || 0) * axis.step / 2, axis.step * 0.2));
    }, { capture: true });
  }
  document.documentElement.dataset.zooms = "yes";
})();
