"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // Tables: open a row's details, filter, search, sort.
  const rows = (id) => all("tr.row", byId(id));
  const detailOf = (row) => (row.nextElementSibling?.classList.contains("detail") ? row.nextElementSibling : null);
  const open = (row, on) => {
    const detail = detailOf(row), button = row.querySelector("[data-toggle]");
    if (!detail || !button) return;
    detail.hidden = !on;
    button.setAttribute("aria-expanded", String(on));
    button.textContent = on ? "close" : "open";
  };
  const control = (name, id) => document.querySelector(`[data-${name}="${id}"]`);
  const sift = (id) => {
    const verdict = control("filter", id)?.value ?? "", launch = control("launch", id)?.value ?? "";
    const wanted = control("search", id)?.value.trim().toLowerCase() ?? "";
    const folded = control("innocent", id)?.checked === false && !wanted && !verdict;
    let shown = 0;
    for (const row of rows(id)) {
      const text = wanted ? (row.textContent + (detailOf(row)?.textContent ?? "")).toLowerCase() : "";
      const hit = (!verdict || row.dataset.verdict === verdict) && (!wanted || text.includes(wanted))
        && (!launch || !row.dataset.of || ` ${row.dataset.of} `.includes(` ${launch} `))
        && !(folded && "apart" in row.dataset);
      row.hidden = !hit;
      shown += hit;
      if (!hit) open(row, false);
    }
    const count = byId(`${id}-count`);
    if (count) count.textContent = verdict || wanted || launch ? `${shown} shown` : "";
  };
  all("[data-toggle]").forEach((b) => b.addEventListener("click", () => open(b.closest("tr"), b.getAttribute("aria-expanded") !== "true")));
  all("[data-filter]").forEach((s) => s.addEventListener("change", () => sift(s.dataset.filter)));
  all("[data-launch]").forEach((s) => s.addEventListener("change", () => sift(s.dataset.launch)));
  all("[data-search]").forEach((s) => s.addEventListener("input", () => sift(s.dataset.search)));
  all("[data-innocent]").forEach((s) => { s.addEventListener("change", () => sift(s.dataset.innocent)); sift(s.dataset.innocent); });
  all("[data-expand]").forEach((b) => b.addEventListener("click", () => {
    const on = b.getAttribute("aria-expanded") !== "true";
    b.setAttribute("aria-expanded", String(on));
    b.textContent = on ? "Close all" : "Open all";
    rows(b.dataset.expand).forEach((row) => { if (!row.hidden) open(row, on); });
  }));
  const first = (text) => { const found = /-?[0-9][0-9,]*(\.[0-9]+)?/.exec(text); return found ? Number(found[0].replaceAll(",", "")) : null; };
  const compare = (x, y) => {
    const a = first(x), b = first(y);
    if (a !== null && b !== null && a !== b) return a - b;
    return x < y ? -1 : x > y ? 1 : 0;
  };
  all("[data-sort]").forEach((b) => b.addEventListener("click", () => {
    const head = b.closest("th"), table = b.closest("table"), body = table.tBodies[0], column = Number(b.dataset.sort);
    const down = head.getAttribute("aria-sort") === "ascending";
    all("th", table).forEach((th) => th.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const pairs = all("tr.row", body).map((row) => [row.cells[column].textContent.trim(), row, detailOf(row)]);
    pairs.sort((x, y) => compare(x[0], y[0]) * (down ? -1 : 1) || x[1].dataset.order - y[1].dataset.order);
    body.append(...pairs.flatMap(([, row, detail]) => (detail ? [row, detail] : [row])));
  }));

  // Charts: Vega draws; here the window of time moves and the samples are thinned to it.
  const holder = byId("charts");
  if (!holder || !window.vegaEmbed) return;
  const STILL = 800, MOVING = 260, LEAST = 60000, SETTLED = 140; // points at rest and in motion; ms
  const lower = (sorted, x) => { let a = 0, b = sorted.length; while (a < b) { const m = (a + b) >> 1; if (sorted[m] < x) a = m + 1; else b = m; } return a; };
  const stamp = (t, digits = 16) => new Date(t).toISOString().slice(0, digits).replace("T", " ");
  const count = (x) => (x === null || x === undefined ? "–" : x.toLocaleString("en"));
  const unpack = (packed) => {
    let t = 0;
    const samples = { t: packed.t.map((step) => (t += step) * 1000), usage: packed.usage.map((u) => (u === null ? null : u / 1000)), running: packed.running, queue: packed.queue, launch: [] };
    packed.launch.forEach(([name, length]) => { for (let i = 0; i < length; i++) samples.launch.push(name); });
    return samples;
  };
  const EMPTY = { usage: null, running: null, queue: null };
  const thin = (samples, [t0, t1], most) => {
    const { t, usage, running, queue, launch } = samples, out = [];
    const start = Math.max(0, lower(t, t0) - 1), end = Math.min(t.length, lower(t, t1) + 1), step = Math.max(1, Math.ceil((end - start) / most));
    for (let i = start, j; i < end; i = j) {
      const row = { t: t[i], ...EMPTY };
      for (j = i; j < Math.min(i + step, end) && launch[j] === launch[i]; j++) {
        if (usage[j] !== null && (row.usage === null || usage[j] > row.usage)) row.usage = usage[j];
        if (running[j] !== null && (row.running === null || running[j] > row.running)) row.running = running[j];
        if (queue[j] !== null && (row.queue === null || queue[j] > row.queue)) row.queue = queue[j];
      }
      if (i > start && launch[i] !== launch[i - 1]) out.push({ t: t[i - 1], ...EMPTY });
      out.push(row);
    }
    return out;
  };
  // What lies outside the window is left out or cut, so that no path is longer than the screen.
  const within = (chart, most) => {
    const [t0, t1] = chart.now, cut = (t) => Math.min(Math.max(t, t0), t1), steps = [];
    const launches = chart.launches.filter((each) => each.b >= t0 && each.a <= t1).map((each) => ({ ...each, a: cut(each.a), b: cut(each.b), r: cut(each.r) }));
    for (const [what, field] of [["KV pool", "pool_tokens"], ["context length", "context_tokens"]]) {
      let end = null;
      for (const each of launches) {
        if (end !== null && each.a - end > chart.gap) steps.push({ t: end, tokens: null, what });
        end = each.b;
        steps.push({ t: each.a, tokens: each[field], what }, { t: each.b, tokens: each[field], what });
      }
    }
    return { launches, steps, marks: chart.marks.filter((mark) => mark.t >= t0 && mark.t <= t1), samples: thin(chart.samples, chart.now, most) };
  };
  const theme = () => {
    const css = getComputedStyle(document.documentElement), pick = (name) => css.getPropertyValue(name).trim();
    const line = pick("--line"), soft = pick("--soft"), ink = pick("--ink");
    return { background: null, font: "system-ui, sans-serif", view: { stroke: line }, style: { cell: { stroke: line } }, axis: { labelColor: soft, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, gridOpacity: 0.5 } };
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const show = async (chart) => {
    const spec = structuredClone(chart.spec);
    spec.width = fit(chart);
    spec.signals.forEach((s) => { if (s.name === "t0" || s.name === "t1") s.value = chart.now[s.name === "t0" ? 0 : 1]; });
    const shown = within(chart, STILL);
    spec.data.forEach((each) => { if (each.name in shown) each.values = shown[each.name]; });
    chart.view?.finalize();
    chart.view = null;
    const made = await vegaEmbed(chart.box, spec, { mode: "vega", ast: true, actions: false, hover: false, renderer: "canvas", config: theme(), tooltip: { theme: dark.matches ? "dark" : "light" } });
    chart.view = made.view;
    say(chart);
  };
  const fit = (chart) => (chart.plot = Math.max(200, chart.box.clientWidth - 96));
  const say = (chart, more = "") => { byId(`window-${chart.number}`).textContent = `${stamp(chart.now[0])} to ${stamp(chart.now[1])} UTC${more}`; };
  // One frame at a time: while it is drawn, only the last window asked for is kept.
  const draw = async (chart, most) => {
    if (chart.busy) { chart.again = most; return; }
    chart.busy = true;
    await new Promise(requestAnimationFrame);
    if (chart.view) {
      chart.view.signal("t0", chart.now[0]).signal("t1", chart.now[1]);
      Object.entries(within(chart, most)).forEach(([name, rows]) => { if (chart.sets.has(name)) chart.view.data(name, rows); });
      await chart.view.runAsync();
    }
    chart.busy = false;
    if (chart.again) { const next = chart.again; chart.again = 0; draw(chart, next); }
  };
  const move = (chart, a, b, more = "") => {
    const [least, most] = chart.whole, span = Math.min(Math.max(b - a, LEAST), most - least);
    a = Math.min(Math.max(a, least), most - span);
    chart.now = [a, a + span];
    draw(chart, MOVING);
    clearTimeout(chart.settle);
    chart.settle = setTimeout(() => { say(chart, more); draw(chart, STILL); }, SETTLED);
  };
  const event = (chart, ahead) => {
    const marks = chart.marks, middle = (chart.now[0] + chart.now[1]) / 2, last = chart.event ?? (ahead ? -1 : marks.length);
    const from = chart.event === undefined && chart.now[0] > chart.whole[0] ? lower(marks.map((m) => m.t), middle) - (ahead ? 1 : 0) : last;
    const next = Math.min(Math.max(from + (ahead ? 1 : -1), 0), marks.length - 1), mark = marks[next];
    if (!mark) return;
    chart.event = next;
    const half = Math.min((chart.whole[1] - chart.whole[0]) / 2, Math.max((chart.now[1] - chart.now[0]) / 2, LEAST), 12 * 3600000);
    read(chart, mark.t);
    move(chart, mark.t - half, mark.t + half, `. ${mark.tip.UTC}, ${mark.kind}: ${mark.tip.what}`);
  };
  const read = (chart, t) => {
    const launches = chart.launches, launch = launches.findLast((each) => each.a <= t);
    const { samples } = chart, at = lower(samples.t, t + 1) - 1, near = at >= 0 && launch && samples.launch[at] === launch.launch ? at : -1;
    const parts = [`${stamp(t, 19)} UTC`];
    if (launch) {
      parts.push(`${launch.launch}${t > launch.b ? ` (${launch.end})` : t < launch.r ? " (starting)" : ""}`, `pool ${count(launch.pool_tokens)}`, `context ${count(launch.context_tokens)}`, `free ${count(launch.free_gib)} GiB`);
      if (near >= 0) parts.push(`usage ${samples.usage[near] === null ? "–" : `${Math.round(samples.usage[near] * 100)}%`}`, `running ${count(samples.running[near])}`, `queued ${count(samples.queue[near])} at ${stamp(samples.t[near], 19).slice(11)}`);
      if (launch.where) parts.push(launch.where);
    }
    byId(`readout-${chart.number}`).textContent = parts.join("  ·  ");
    if (chart.view) chart.view.signal("cursor", t).runAsync();
  };
  const act = (chart, what) => {
    const [a, b] = chart.now, span = b - a;
    if (what !== "next" && what !== "previous") chart.event = undefined;
    if (what === "in") move(chart, a + span / 4, b - span / 4);
    else if (what === "out") move(chart, a - span / 2, b + span / 2);
    else if (what === "left") move(chart, a - span / 4, b - span / 4);
    else if (what === "right") move(chart, a + span / 4, b + span / 4);
    else if (what === "next" || what === "previous") event(chart, what === "next");
    else move(chart, ...chart.whole);
  };
  const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all", n: "next", p: "previous" };
  const listen = (chart) => {
    const { box } = chart, left = () => box.getBoundingClientRect().left + 9 + (chart.view?.origin()[0] ?? 66);
    const timeOf = (e) => chart.now[0] + ((e.clientX - left()) / chart.plot) * (chart.now[1] - chart.now[0]);
    all(`[data-chart="${chart.number}"]`).forEach((b) => b.addEventListener("click", () => act(chart, b.dataset.zoom)));
    box.addEventListener("keydown", (e) => { const what = KEYS[e.key]; if (what && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); act(chart, what); } });
    box.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      chart.event = undefined;
      const [a, b] = chart.now, at = Math.min(Math.max((timeOf(e) - a) / (b - a), 0), 1);
      const span = Math.min(Math.max((b - a) * Math.exp(Math.min(Math.max(e.deltaY, -200), 200) / 300), LEAST), chart.whole[1] - chart.whole[0]), mid = a + (b - a) * at;
      move(chart, mid - span * at, mid + span * (1 - at));
    }, { passive: false });
    let from = null, hover = 0;
    box.addEventListener("pointerdown", (e) => { if (e.button === 0) from = [e.clientX, ...chart.now]; });
    box.addEventListener("pointermove", (e) => {
      if (from || hover) return;
      hover = requestAnimationFrame(() => { hover = 0; const t = timeOf(e); if (t >= chart.now[0] && t <= chart.now[1] && !chart.busy) read(chart, t); });
    });
    addEventListener("pointermove", (e) => {
      if (!from || (Math.abs(e.clientX - from[0]) < 4 && !box.classList.contains("drag"))) return;
      box.classList.add("drag");
      chart.event = undefined;
      const shift = ((from[0] - e.clientX) / chart.plot) * (from[2] - from[1]);
      move(chart, from[1] + shift, from[2] + shift);
    });
    ["pointerup", "pointercancel"].forEach((name) => addEventListener(name, () => { from = null; box.classList.remove("drag"); }));
  };

  all(".static").forEach((s) => s.classList.add("has-script"));
  all(".live").forEach((s) => { s.hidden = false; });
  const charts = JSON.parse(holder.textContent);
  for (const chart of charts) {
    const value = (name) => chart.spec.signals.find((s) => s.name === name).value;
    chart.samples = unpack(chart.samples);
    chart.sets = new Set(chart.spec.data.map((each) => each.name));
    chart.whole = [value("t0"), value("t1")];
    chart.now = [...chart.whole];
    chart.box = byId(`chart-${chart.number}`);
    listen(chart);
  }
  // A chart is drawn when it comes near the screen, one after the other, each in a task of its own.
  let queue = Promise.resolve();
  const order = (chart) => { queue = queue.then(() => new Promise(requestAnimationFrame)).then(() => show(chart)).then(() => { chart.box.dataset.drawn = "yes"; document.documentElement.dataset.charts = "ready"; }); };
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    seen.unobserve(entry.target);
    order(charts.find((chart) => chart.box === entry.target));
  }), { rootMargin: "600px" });
  charts.forEach((chart) => seen.observe(chart.box));
  let later = 0;
  addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(() => charts.forEach((chart) => { if (chart.view) chart.view.width(fit(chart)).runAsync(); }), 150);
  });
  dark.addEventListener("change", () => charts.forEach((chart) => { if (chart.view) order(chart); }));
})();
