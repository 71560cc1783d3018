// Two things that a page can't do by itself: remember picked runs from page to page of the list,
// and follow a run under way. Reads nothing but this server, and writes no markup.
"use strict";
{
const byId = (id) => document.getElementById(id);

// The list: which runs are picked, also on other pages of it.
const picks = byId("picks");
if (picks) {
  // Each by when it began and its id, so that they sort: an id alone has the second, no more.
  const key = "switchmark-picked", status = byId("picked");
  const own = (box) => `${box.dataset.began} ${box.value}`, id = (pick) => pick.split(" ")[1];
  let chosen = [];
  try { chosen = JSON.parse(sessionStorage.getItem(key)) || []; } catch { chosen = []; }
  const boxes = [...picks.querySelectorAll("input[type=checkbox]")];
  const show = () => {
    for (const box of boxes) box.checked = chosen.includes(own(box));
    const said = [...chosen].sort().map(id);
    status.textContent = chosen.length === 2
      ? `${said[1]} will be compared with ${said[0]}.`
      : chosen.length === 1 ? `${said[0]} is picked: pick one more.`
      : "Pick two runs; the older one is the reference.";
    try { sessionStorage.setItem(key, JSON.stringify(chosen)); } catch { /* this page alone, then */ }
  };
  for (const box of boxes) box.addEventListener("change", () => {
    chosen = chosen.filter((pick) => pick !== own(box));
    if (box.checked) chosen = [...chosen, own(box)].slice(-2);
    show();
  });
  picks.addEventListener("submit", (event) => {
    event.preventDefault();
    if (chosen.length !== 2) { status.textContent = "Two runs are needed: pick one more."; return; }
    const query = new URLSearchParams(chosen.map((pick) => ["run", id(pick)]));
    location.assign("/compare?" + query);
  });
  show();
}

// A run under way: its events become rows.
const live = byId("live");
if (live) {
  const most = 200, rows = new Map(), body = byId("trials");
  const list = (id, texts) => byId(id).replaceChildren(...(texts.length ? texts : ["none so far"]).map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  const moment = (ns) => new Date(Number(BigInt(ns) / 1000000n)).toISOString().slice(0, 19).replace("T", " ");
  const row = (trial) => {
    const tr = document.createElement("tr");
    const cells = [["trial", trial.ordinal + 1], ["began (UTC)", moment(trial.began_unix_ns)], ["label", trial.label],
      ["path", trial.path], ["outcome", trial.outcome], ["result", trial.result]];
    for (const [name, text] of cells) {
      const td = document.createElement("td");
      td.dataset.name = name;
      if (name === "trial") td.className = "number";
      if (name === "outcome") {
        const word = document.createElement("span");
        word.className = "state " + text;
        word.textContent = text;
        td.append(word);
      } else td.textContent = text;
      tr.append(td);
    }
    return tr;
  };
  // The testbed's cables, by the newest trial over each; the same in words.
  const kinds = [["whole", "nothing was missing"], ["lossy", "frames were lost"], ["spoilt", "it does not count"]];
  const colour = (ports) => {
    const picture = byId("testbed"), key = byId("ports");
    if (!picture || !ports.length) return;
    const known = new Map(ports.map((one) => [one.port, one]));
    for (const cable of picture.querySelectorAll("[data-ports]")) {
      const own = cable.dataset.ports.split(" ").map((port) => known.get(port)).filter(Boolean);
      if (!own.length) continue;
      const title = cable.querySelector("title");
      cable.dataset.title ||= title.textContent;
      cable.dataset.state = own[0].state;
      title.textContent = `${cable.dataset.title}: ${own[0].said}`;
    }
    const lines = kinds.map(([state, what]) => [state, what, ports.filter((one) => one.state === state)]);
    key.replaceChildren(...lines.filter(([, , own]) => own.length).map(([state, what, own]) => {
      const item = document.createElement("li"), named = own.slice(0, 8).map((one) => one.port).join(", ");
      item.dataset.state = state;
      item.textContent = `In the newest trial ${what}: ${named}${own.length > 8 ? ` and ${own.length - 8} more` : ""}`;
      return item;
    }));
  };
  const take = (now) => {
    for (const trial of now.trials) {
      for (const [ordinal, old] of rows) if (ordinal >= trial.ordinal) { old.remove(); rows.delete(ordinal); }
      const tr = row(trial);
      rows.set(trial.ordinal, tr);
      body.prepend(tr);
    }
    for (const [ordinal, old] of rows) if (rows.size > most) { old.remove(); rows.delete(ordinal); }
    plots.take(now.trials);
    colour(now.ports);
    byId("state").textContent = now.status;
    byId("state").className = "state " + now.status.split(",")[0].replace(" ", "-");
    // A watch has no expected number of trials.
    const of = [now.expected ? `of ${now.expected} expected` : "", now.unusable ? `${now.unusable} not valid` : ""];
    byId("bar").hidden = !now.expected;
    byId("bar").max = Math.max(now.expected, now.done, 1);
    byId("bar").value = now.done;
    document.title = `${now.status} · ${document.querySelector("h1").textContent}`;
    byId("done").textContent = now.done;
    byId("of").textContent = of.filter(Boolean).join(", ");
    byId("left").textContent = now.left;
    list("warnings", now.warnings.map((one) => `${one.trials} trials: ${one.reason}`));
    list("brackets", now.brackets.map((one) => `${one.of}: ${one.text}`));
  };
  const link = byId("link");
  const events = new EventSource(`/runs/${live.dataset.run}/events`);
  events.onopen = () => { link.textContent = "following"; };
  events.onerror = () => { link.textContent = "the connection broke; trying again"; };
  events.onmessage = (event) => {
    const now = JSON.parse(event.data);
    take(now);
    if (now.ended) {
      events.close();
      link.textContent = "ended";
      live.dataset.ended = "yes";
      // What can be done to it is another thing now.
      if (live.dataset.reloads) location.reload();
    }
  };
  events.addEventListener("trouble", (event) => { link.textContent = event.data; });
}
}
