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
