// Plots of a run under way: medians of round trips, rates and goodput of its valid trials, by time,
// over one another for the device and the direct cable. Drawn by uPlot; reads nothing itself.
"use strict";
const plots = (() => {
  const most = 2000;
  const kinds = [
    { of: "rtt_p50_ns", by: "rtt_ns", short: "Median RTT, newest trial", name: "RTT, median of a trial; of TCP smoothed, by the second", unit: "µs", divisor: 1e3 },
    { of: "frames_per_s", short: "Frames received, newest trial", name: "Frames received", unit: "frames/s", divisor: 1 },
    { of: "goodput_bits_per_s", by: "goodput_bits_per_s", short: "Goodput, newest trial", name: "Goodput, by the second", unit: "Mbit/s", divisor: 1e6 },
  ];
  const paths = [["device", "--c0", "through the device"], ["bypass", "--c1", "direct cable"]];
  const byId = (id) => document.getElementById(id);
  const colour = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (value) => value === null || value === undefined ? "–" : Number(value.toPrecision(4)).toLocaleString("en");
  const drawn = new Map(), trials = new Map();
  const clock = (at, finely) => new Date(at * 1000).toISOString().slice(11, finely ? 23 : 19);
  let asked = null, waiting = false;

  const sorted = () => [...trials.values()].sort((a, b) => a.began - b.began);
  // A trial is one point, or one a second where TCP tells of several.
  const pointsOf = (kind, trial) => {
    const seconds = kind.by ? trial.values.seconds.filter((second) => second[kind.by] !== null) : [];
    return seconds.length
      ? seconds.map((second) => [trial.began + second.at_s, second[kind.by], trial.path])
      : trial.values[kind.of] === null ? [] : [[trial.began, trial.values[kind.of], trial.path]];
  };
  const dataOf = (kind, all) => {
    const points = all.flatMap((trial) => pointsOf(kind, trial));
    return [points.map(([at]) => at), ...paths.map(([path]) => points.map(([, value, own]) => own === path ? value / kind.divisor : null))];
  };
  const range = () => {
    const all = sorted();
    const first = all[0].began, newest = all[all.length - 1];
    const last = newest.began + Math.max(0, ...newest.values.seconds.map((second) => second.at_s));
    return { min: first, max: Math.max(last, first + 1) };
  };
  const show = () => {
    const { min, max } = asked || range();
    for (const { plot } of drawn.values()) plot.setScale("x", { min, max });
  };
  const said = (plot, kind) => {
    const at = plot.cursor.idx;
    if (at === null || at === undefined || plot.cursor.left < 0) return;
    const began = clock(plot.data[0][at], true);
    const values = paths.map(([, , name], n) => [name, plot.data[n + 1][at]]).filter(([, value]) => value !== null);
    const text = values.map(([name, value]) => `${name} ${number(value)} ${kind.unit}`).join(", ");
    if (text) byId("at").textContent = `${began} UTC, ${kind.name}: ${text}`;
  };
  // As wide as its longest number, at seven pixels a character.
  const roomy = (_, values) => Math.max(40, ...(values || []).map((text) => String(text).length * 7 + 18));
  const make = (kind, data) => {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    const place = document.createElement("div");
    figure.className = "plot";
    caption.textContent = `${kind.name}, ${kind.unit}, by time (UTC)`;
    figure.append(caption, place);
    byId("plot-list").append(figure);
    const axis = { stroke: colour("--ink"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const series = paths.map(([path, name]) => ({
      stroke: colour(name), paths: () => null, show: byId(`show-${path}`).checked,
      points: { show: true, size: 6, fill: colour(name) },
    }));
    const plot = new uPlot({
      width: place.clientWidth || 320, height: 200, legend: { show: false },
      scales: { x: { time: true }, y: { range: (_, min, max) => min === null ? [0, 1] : uPlot.rangeNum(min, max, 0.1, true) } },
      series: [{}, ...series],
      axes: [{ ...axis, space: 80, values: (_, ticks, n, space, step) => ticks.map((at) => clock(at, step < 1)) }, { ...axis, size: roomy, values: (_, ticks) => ticks.map(number) }],
      cursor: { sync: { key: "run" }, drag: { x: true, y: false } },
      hooks: {
        setCursor: [(plot) => said(plot, kind)],
        // A drag across one plot is meant for all of them.
        setSelect: [(plot) => {
          if (plot.select.width < 4) return;
          asked = { min: plot.posToVal(plot.select.left, "x"), max: plot.posToVal(plot.select.left + plot.select.width, "x") };
          queueMicrotask(show);
        }],
      },
    }, data, place);
    plot.over.addEventListener("dblclick", () => { asked = null; queueMicrotask(show); });
    const canvas = place.querySelector("canvas");
    canvas.setAttribute("role", "img");
    new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 200 })).observe(place);
    return { plot, canvas };
  };
  const describe = (kind, [, ...columns]) => {
    const parts = columns.map((column, n) => {
      const values = column.filter((value) => value !== null);
      return values.length ? `${paths[n][2]}: ${values.length} points, ${number(Math.min(...values))} to ${number(Math.max(...values))} ${kind.unit}` : "";
    });
    return `${kind.name} by time. ${parts.filter(Boolean).join("; ")}`;
  };
  // The newest valid trial through the device, in a card with a large number for each quantity;
  // beneath it the newest of the same case over the direct cable.
  const cards = new Map();
  const card = (kind) => {
    const box = document.createElement("div");
    box.className = "card";
    const make = (name, className, ...inner) => {
      const made = document.createElement(name);
      made.className = className;
      made.append(...inner);
      return made;
    };
    const value = [make("span", "number"), " ", make("small", ""), make("div", "interval"), make("div", "why")];
    box.append(make("h2", ""), make("ul", "answers", make("li", "first", ...value)));
    byId("now").append(box);
    cards.set(kind.of, box);
    return box;
  };
  const headline = (kind, all) => {
    const newest = (path, label) => all.findLast((trial) => trial.path === path && trial.values[kind.of] !== null
      && (label === undefined || trial.label === label));
    const device = newest("device"), shown = device || newest("bypass");
    if (!shown) return;
    const cable = newest("bypass", shown.label);
    const box = cards.get(kind.of) || card(kind);
    const put = (what, text) => { box.querySelector(what).textContent = text; };
    const value = (trial) => number(trial.values[kind.of] / kind.divisor);
    put("h2", kind.short);
    put(".number", value(shown));
    put("small", kind.unit);
    put(".interval", `${shown.label}, ${device ? "through the device" : "direct cable"}, trial ${shown.ordinal + 1}`);
    put(".why", device && cable ? `Direct cable, trial ${cable.ordinal + 1}: ${value(cable)} ${kind.unit}` : "");
  };
  const draw = () => {
    waiting = false;
    const all = sorted();
    if (!all.length) return;
    for (const kind of kinds) headline(kind, all);
    byId("plots").hidden = false;
    for (const kind of kinds) {
      const data = dataOf(kind, all);
      if (!data[0].length) continue;
      if (drawn.has(kind.of)) drawn.get(kind.of).plot.setData(data, false);
      else drawn.set(kind.of, make(kind, data));
      drawn.get(kind.of).canvas.setAttribute("aria-label", describe(kind, data));
    }
    show();
  };
  const zoom = {
    in: (min, max) => [min + (max - min) / 4, max - (max - min) / 4],
    out: (min, max) => [min - (max - min) / 2, max + (max - min) / 2],
    earlier: (min, max) => [min - (max - min) / 4, max - (max - min) / 4],
    later: (min, max) => [min + (max - min) / 4, max + (max - min) / 4],
  };
  const section = byId("plots");
  if (section && window.uPlot) {
    section.addEventListener("click", (event) => {
      const how = event.target.dataset?.zoom;
      if (!how || !trials.size) return;
      const now = asked || range();
      if (how === "all") asked = null;
      else {
        const [min, max] = zoom[how](now.min, now.max), whole = range();
        asked = how === "out" && min <= whole.min && max >= whole.max ? null : { min, max };
      }
      show();
    });
    for (const [path] of paths) byId(`show-${path}`).addEventListener("change", (event) => {
      const at = paths.findIndex(([one]) => one === path) + 1;
      for (const { plot } of drawn.values()) plot.setSeries(at, { show: event.target.checked });
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const { plot } of drawn.values()) plot.redraw(false, true);
    });
  }
  return {
    // One that is tried again takes its former self's place, and whatever came behind it.
    take(some) {
      if (!section || !window.uPlot) return;
      for (const trial of some) {
        for (const ordinal of [...trials.keys()]) if (ordinal >= trial.ordinal) trials.delete(ordinal);
        if (trial.outcome === "valid") trials.set(trial.ordinal, { ...trial, began: Number(BigInt(trial.began_unix_ns) / 1000000n) / 1000 });
      }
      for (const ordinal of trials.keys()) if (trials.size > most) trials.delete(ordinal);
      if (!waiting) { waiting = true; requestAnimationFrame(draw); }
    },
  };
})();
