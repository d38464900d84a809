// A function: returns one sentence for each fault of the page. Text is found by the boxes of its text nodes, one a line.
((printed, wide) => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const faults = [];
  const say = (what, text) => faults.push(what + ": '" + text.trim().replace(/\s+/g, " ").slice(0, 70) + "'");
  const SLACK = 1.5;
  const STEP = 2;  // along a line
  const width = document.documentElement.clientWidth;

  // What an element shows of its content: all but what it cuts off. What a reader can scroll to is not
  // cut off; but paper does not scroll, and on a wide screen nobody should have to.
  const windows = new Map();
  const windowOf = (element) => {
    if (element === null || element === document.documentElement) return [-1e9, -1e9, 1e9, 1e9];
    if (windows.has(element)) return windows.get(element);
    let [left, top, right, bottom] = windowOf(element.parentElement);
    const style = getComputedStyle(element);
    const isSvg = element instanceof SVGElement && !(element instanceof SVGSVGElement);
    const cuts = (overflow) => overflow === "hidden" || overflow === "clip" ||
      ((printed || wide) && (overflow === "auto" || overflow === "scroll"));
    const scrolls = (overflow) => !printed && !wide && (overflow === "auto" || overflow === "scroll");
    if (!isSvg) {
      const box = element.getBoundingClientRect();
      if (scrolls(style.overflowX)) [left, right] = [-1e9, 1e9];
      if (scrolls(style.overflowY)) [top, bottom] = [-1e9, 1e9];
      if (cuts(style.overflowX)) [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      if (cuts(style.overflowY)) [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    windows.set(element, [left, top, right, bottom]);
    return windows.get(element);
  };
  const scrollable = (element) => {
    for (let at = element; at !== null && at !== document.body; at = at.parentElement) {
      const overflow = getComputedStyle(at).overflowX;
      if (!printed && (overflow === "auto" || overflow === "scroll")) return true;
    }
    return false;
  };
  // The nearest box that is drawn around a text.
  const isClear = (colour) => colour === "transparent" || colour.endsWith(", 0)");
  const frameOf = (element) => {
    for (let at = element; at !== null && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.display === "inline" || at instanceof SVGElement || at.matches("tr, td, th")) continue;
      if (!isClear(style.backgroundColor) || style.borderLeftWidth !== "0px") return at.getBoundingClientRect();
    }
    return null;
  };

  // Lines of text, with the boxes that letters fill rather than those of their lines.
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (node.data.trim() === "" || parent.closest("script, style, title, option") !== null) continue;
    if (!parent.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const inSvg = parent instanceof SVGElement;
    const boxes = inSvg ? [parent.getBoundingClientRect()] : Array.from(range.getClientRects());
    for (const box of boxes) {
      if (box.width < 1 || box.height < 1) continue;
      const shrink = box.height * 0.22;
      const scale = inSvg ? parent.getScreenCTM().a : 1;
      lines.push({ node, parent, text: node.data, inSvg, scale, left: box.left, right: box.right,
                   top: box.top + shrink, bottom: box.bottom - shrink });
    }
  }
  for (const line of lines) {
    const [left, top, right, bottom] = windowOf(line.parent);
    if (line.left < left - SLACK || line.right > right + SLACK || line.top < top - SLACK ||
        line.bottom > bottom + SLACK) say("cut off", line.text);
    else if (!scrollable(line.parent) && (line.right > width + SLACK || line.left < -SLACK)) {
      say("beyond the edge of the page", line.text);
    } else if (!line.inSvg) {
      const frame = scrollable(line.parent) ? null : frameOf(line.parent);
      if (frame !== null && (line.right > frame.right + SLACK || line.left < frame.left - SLACK ||
                             line.bottom > frame.bottom + SLACK)) say("beyond its box", line.text);
    }
    if (parseFloat(getComputedStyle(line.parent).fontSize) * line.scale < 7) say("too small to read", line.text);
  }
  if (document.documentElement.scrollWidth > width + 1) say("the page scrolls sideways", "");

  // Text over text.
  lines.sort((a, b) => a.top - b.top);
  for (let i = 0; i < lines.length; ++i) {
    for (let k = i + 1; k < lines.length && lines[k].top < lines[i].bottom; ++k) {
      const [a, b] = [lines[i], lines[k]];
      if (a.node === b.node) continue;
      const over = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const deep = Math.min(a.bottom, b.bottom) - b.top;
      if (over > SLACK && deep > SLACK) say("over '" + b.text.trim().slice(0, 40) + "'", a.text);
    }
  }

  // A line of a chart through a label. A halo around its letters, above the line, hides the line; but a
  // narrow one not between words, where a line along the label shows.
  const labels = lines.filter((line) => line.inSvg);
  for (const stroke of document.querySelectorAll("svg path.line, svg line.line, svg path.thread, svg line")) {
    if (stroke.closest(".legend") !== null || !stroke.checkVisibility({ opacityProperty: true })) continue;
    const svg = stroke.ownerSVGElement;
    const near = labels.filter((line) => line.parent.ownerSVGElement === svg && !line.struck);
    if (near.length === 0) continue;
    const clipped = stroke.closest("[clip-path]");
    const clip = clipped === null ? null : svg.querySelector("clipPath rect");
    const inside = (point) => clip === null ||
      (point.x >= clip.x.baseVal.value && point.x <= clip.x.baseVal.value + clip.width.baseVal.value &&
       point.y >= clip.y.baseVal.value && point.y <= clip.y.baseVal.value + clip.height.baseVal.value);
    const matrix = stroke.getScreenCTM();
    const length = stroke.getTotalLength();
    for (let at = 0; at <= length && near.length > 0; at += STEP) {
      const place = stroke.getPointAtLength(at);
      if (!inside(place)) continue;
      const point = place.matrixTransform(matrix);
      for (const line of near) {
        if (line.struck || point.x < line.left + 1 || point.x > line.right - 1 || point.y < line.top + 1 ||
            point.y > line.bottom - 1) continue;
        const style = getComputedStyle(line.parent);
        const halo = style.paintOrder.startsWith("stroke");
        const broad = parseFloat(style.strokeWidth) >= 8;
        const above = stroke.compareDocumentPosition(line.parent) & Node.DOCUMENT_POSITION_FOLLOWING;
        line.along = line.along?.stroke === stroke ? line.along : { stroke, pixels: 0 };
        line.along.pixels += STEP * matrix.a;
        const faint = stroke.closest(".scale, .grid") !== null;
        const shows = !broad && !faint && line.text.trim().includes(" ") && line.along.pixels > (line.right - line.left) / 3;
        if (halo && above && !shows) continue;
        line.struck = true;
        say("crossed by a " + (stroke.getAttribute("class") || "line"), line.text);
      }
    }
  }
  return Array.from(new Set(faults));
})
