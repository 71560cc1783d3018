// Shows the value nearest to the pointer. Without it, each point's own title does the same, later.
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  for (const svg of document.querySelectorAll("svg.plot")) {
    const points = [];
    for (const g of svg.querySelectorAll("g.pt")) {
      const title = g.querySelector("title"), hit = g.querySelector(".hit");
      if (!title || !hit) continue;
      points.push({ g, text: title.textContent, x: +hit.getAttribute("cx"), y: +hit.getAttribute("cy") });
    }
    let near = null;
    const leave = () => { near?.g.classList.remove("near"); near = null; tip.hidden = true; };
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let best = null, least = 45;
      for (const p of points) {
        const d = Math.hypot(p.x - x, p.y - y);
        if (d < least) { least = d; best = p; }
      }
      if (!best) { leave(); return; }
      near?.g.classList.remove("near");
      near = best;
      near.g.classList.add("near");
      tip.textContent = best.text;
      tip.hidden = false;
      const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
      tip.style.left = left + "px";
      tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 10) + "px";
    });
  }
})();
// A link to a folded section opens it.
(() => {
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target?.querySelector("details") ?? target; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
    }
  };
  addEventListener("hashchange", open);
  open();
})();
// Each table sorts by a click on a column's head, and is copied as CSV.
(() => {
  const button = (text, title, press) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.title = title;
    made.addEventListener("click", press);
    return made;
  };
  const key = (row, at) => {
    const cell = row.cells[at];
    return cell.dataset.value === undefined ? cell.textContent : +cell.dataset.value;
  };
  // What has no number comes last, whichever way the column is sorted.
  const order = (a, b, sign) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  };
  const sort = (table, at) => {
    const head = table.tHead.rows[0].cells[at], down = head.ariaSort === "ascending";
    for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
    head.ariaSort = down ? "descending" : "ascending";
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => order(key(a, at), key(b, at), down ? -1 : 1));
    table.tBodies[0].append(...rows);
  };
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // What is written small below a value has a column of its own.
  const csv = (table) => {
    const head = [...table.tHead.rows[0].cells], rows = [...table.tBodies[0].rows];
    const noted = head.map((_, at) => rows.some((row) => row.cells[at].querySelector("small")));
    const line = (cells, parts) => cells.flatMap((cell, at) => {
      const [text, note] = parts(cell);
      return noted[at] ? [text, note] : [text];
    }).map((text) => quoted(text.replaceAll("\u00a0", " ").trim())).join(",");
    const parts = (cell) => {
      const note = cell.querySelector("small")?.textContent ?? "";
      return [cell.textContent.slice(0, cell.textContent.length - note.length), note];
    };
    const name = (cell) => [cell.textContent, `${cell.textContent}: note`];
    return [line(head, name), ...rows.map((row) => line([...row.cells], parts))].join("\n") + "\n";
  };
  // A page opened as a file has no clipboard in some browsers: there it goes by a selection.
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const table of document.querySelectorAll(".wide > table")) {
    for (const [at, head] of [...table.tHead.rows[0].cells].entries()) {
      if (!head.textContent) continue;
      head.replaceChildren(button(head.textContent, "Sort by this column", () => sort(table, at)));
    }
    const own = button("Copy as CSV", "Copy this table as CSV", async () => {
      await copy(csv(table));
      own.textContent = "Copied";
      setTimeout(() => { own.textContent = "Copy as CSV"; }, 1500);
    });
    own.className = "copy";
    table.caption.append(" ", own);
  }
})();
// A plot is enlarged by a click; there the wheel zooms, a drag moves, and a double click resets.
(() => {
  const enlarge = (plot) => {
    const dialog = document.createElement("dialog"), svg = plot.cloneNode(true);
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    dialog.ariaLabel = plot.getAttribute("aria-label");
    dialog.append(svg, close);
    dialog.addEventListener("close", () => dialog.remove());
    const view = svg.viewBox.baseVal, whole = [view.x, view.y, view.width, view.height];
    const show = (x, y, width, height) => Object.assign(view, { x, y, width, height });
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = svg.getBoundingClientRect(), by = event.deltaY < 0 ? 0.8 : 1.25;
      if (view.width * by > whole[2]) return show(...whole);
      if (view.width * by < whole[2] / 50) return;
      const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
      show(view.x + x * view.width * (1 - by), view.y + y * view.height * (1 - by), view.width * by, view.height * by);
    }, { passive: false });
    svg.addEventListener("pointermove", (event) => {
      if (!event.buttons) return;
      const scale = view.width / svg.getBoundingClientRect().width;
      view.x -= event.movementX * scale;
      view.y -= event.movementY * scale;
    });
    svg.addEventListener("dblclick", () => show(...whole));
    document.body.append(dialog);
    dialog.showModal();
  };
  for (const plot of document.querySelectorAll("svg.plot")) {
    const own = document.createElement("button");
    own.type = "button";
    own.className = "enlarge";
    own.textContent = "Enlarge";
    own.addEventListener("click", () => enlarge(plot));
    plot.closest("figure")?.append(own);
    plot.addEventListener("dblclick", () => enlarge(plot));
  }
})();
