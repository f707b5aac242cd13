"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Tables: open a row's details, filter, search, sort.
  const rows = (id) => all("tr.row", document.getElementById(id));
  const detailOf = (row) => (row.nextElementSibling?.classList.contains("detail") ? row.nextElementSibling : null);
  const open = (row, on) => {
    const detail = detailOf(row);
    const button = row.querySelector("[data-toggle]");
    if (!detail || !button) return;
    detail.hidden = !on;
    button.setAttribute("aria-expanded", String(on));
    button.textContent = on ? "close" : "open";
  };
  const sift = (id) => {
    const verdict = document.querySelector(`[data-filter="${id}"]`)?.value ?? "";
    const wanted = document.querySelector(`[data-search="${id}"]`)?.value.trim().toLowerCase() ?? "";
    for (const row of rows(id)) {
      const text = (row.textContent + (detailOf(row)?.textContent ?? "")).toLowerCase();
      const hit = (!verdict || row.dataset.verdict === verdict) && (!wanted || text.includes(wanted));
      row.hidden = !hit;
      if (!hit) open(row, false);
    }
    if (wanted) all(`#${id} details`).forEach((d) => { d.open = all("tr.row", d).some((r) => !r.hidden); });
  };
  all("[data-toggle]").forEach((b) => b.addEventListener("click", () => open(b.closest("tr"), b.getAttribute("aria-expanded") !== "true")));
  all("[data-filter]").forEach((s) => s.addEventListener("change", () => sift(s.dataset.filter)));
  all("[data-search]").forEach((s) => s.addEventListener("input", () => sift(s.dataset.search)));
  all("[data-expand]").forEach((b) => b.addEventListener("click", () => {
    const on = b.getAttribute("aria-expanded") !== "true";
    b.setAttribute("aria-expanded", String(on));
    b.textContent = on ? "Close all" : "Open all";
    rows(b.dataset.expand).forEach((row) => { if (!row.hidden) open(row, on); });
  }));
  const key = (text) => { const n = Number(text.replace(/[^0-9.-]/g, "")); return /^[-0-9.,\s]+/.test(text) && !Number.isNaN(n) ? n : text; };
  all("[data-sort]").forEach((b) => b.addEventListener("click", () => {
    const head = b.closest("th"), table = b.closest("table"), body = table.tBodies[0], column = Number(b.dataset.sort);
    const down = head.getAttribute("aria-sort") === "ascending";
    all("th", table).forEach((th) => th.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const pairs = all("tr.row", body).map((row) => [key(row.cells[column].textContent.trim()), row, detailOf(row)]);
    pairs.sort((x, y) => (typeof x[0] === typeof y[0] ? (x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : 0) : typeof x[0] === "number" ? -1 : 1) * (down ? -1 : 1));
    pairs.forEach(([, row, detail]) => { body.append(row); if (detail) body.append(detail); });
  }));

  // Charts: Vega draws; here the window of time moves and the samples are thinned to it.
  const holder = document.getElementById("charts");
  if (!holder || !window.vegaEmbed) return;
  all(".static:not(.always)").forEach((s) => s.classList.add("has-script"));
  const charts = JSON.parse(holder.textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => {
    const css = getComputedStyle(document.documentElement), pick = (name) => css.getPropertyValue(name).trim();
    const ink = pick("--ink"), soft = pick("--soft"), line = pick("--line");
    return {
      background: null, font: "system-ui, sans-serif", view: { stroke: line },
      axis: { labelColor: soft, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, gridOpacity: 0.5 },
      axisY: { minExtent: 58, maxExtent: 58 }, legend: { labelColor: ink, titleColor: ink, columns: document.body.clientWidth < 700 ? 2 : null, labelLimit: 140 }, text: { color: ink },
    };
  };
  const POINTS = 900;
  const thin = (samples, t0, t1) => {
    const { t, usage, running, queue, launch } = samples;
    const first = lower(t, t0), last = lower(t, t1), step = Math.max(1, Math.ceil((last - first) / POINTS)), out = [];
    for (let i = Math.max(0, first - 1); i < Math.min(t.length, last + 1); i += step) {
      const row = { t: t[i], usage: null, running: null, queue: null, launch: launch[i] };
      for (let j = i; j < Math.min(i + step, t.length) && launch[j] === row.launch; j++) {
        if (usage[j] !== null && !(row.usage >= usage[j])) row.usage = usage[j];
        if (running[j] !== null && !(row.running >= running[j])) row.running = running[j];
        if (queue[j] !== null && !(row.queue >= queue[j])) row.queue = queue[j];
      }
      out.push(row);
    }
    return out;
  };
  const lower = (sorted, x) => { let a = 0, b = sorted.length; while (a < b) { const m = (a + b) >> 1; if (sorted[m] < x) a = m + 1; else b = m; } return a; };
  const stamp = (t) => new Date(t).toISOString().slice(0, 16).replace("T", " ");

  const show = async (chart) => {
    const box = document.getElementById(`chart-${chart.number}`), spec = structuredClone(chart.spec);
    const width = Math.max(220, box.clientWidth - 110);
    spec.vconcat.forEach((panel) => { panel.width = width; });
    spec.params.forEach((p) => { p.value = chart.now[p.name === "t0" ? 0 : 1]; });
    spec.datasets.samples = thin(chart.samples, ...chart.now);
    chart.view?.finalize();
    const made = await vegaEmbed(box, spec, { mode: "vega-lite", ast: true, actions: false, renderer: "canvas", config: theme() });
    chart.view = made.view; chart.plot = width; say(chart);
  };
  const say = (chart) => { document.getElementById(`window-${chart.number}`).textContent = `${stamp(chart.now[0])} to ${stamp(chart.now[1])} UTC`; };
  const move = (chart, a, b) => {
    const [least, most] = chart.whole, span = Math.min(Math.max(b - a, 60000), most - least);
    a = Math.min(Math.max(a, least), most - span);
    chart.now = [a, a + span];
    if (chart.pending) return;
    chart.pending = requestAnimationFrame(() => {
      chart.pending = 0;
      if (!chart.view) return;
      chart.view.signal("t0", chart.now[0]).signal("t1", chart.now[1]).data("samples", thin(chart.samples, ...chart.now)).runAsync();
      say(chart);
    });
  };
  const act = (chart, what) => {
    const [a, b] = chart.now, span = b - a;
    if (what === "in") move(chart, a + span / 4, b - span / 4);
    else if (what === "out") move(chart, a - span / 2, b + span / 2);
    else if (what === "left") move(chart, a - span / 4, b - span / 4);
    else if (what === "right") move(chart, a + span / 4, b + span / 4);
    else move(chart, ...chart.whole);
  };
  const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all" };
  charts.forEach((chart) => {
    chart.whole = [chart.spec.params[0].value, chart.spec.params[1].value];
    chart.now = [...chart.whole];
    const box = document.getElementById(`chart-${chart.number}`);
    all(`[data-chart="${chart.number}"]`).forEach((b) => b.addEventListener("click", () => act(chart, b.dataset.zoom)));
    box.addEventListener("keydown", (e) => { const what = KEYS[e.key]; if (what && !e.ctrlKey && !e.metaKey) { e.preventDefault(); act(chart, what); } });
    box.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      const [a, b] = chart.now, at = Math.min(Math.max((e.clientX - box.getBoundingClientRect().left - 75) / chart.plot, 0), 1);
      const scale = Math.exp(Math.min(Math.max(e.deltaY, -200), 200) / 300), span = (b - a) * scale, mid = a + (b - a) * at;
      move(chart, mid - span * at, mid + span * (1 - at));
    }, { passive: false });
    let from = null;
    box.addEventListener("pointerdown", (e) => { if (e.button === 0) { from = [e.clientX, ...chart.now]; } });
    addEventListener("pointermove", (e) => {
      if (!from || Math.abs(e.clientX - from[0]) < 4 && !box.classList.contains("drag")) return;
      box.classList.add("drag");
      const shift = ((from[0] - e.clientX) / chart.plot) * (from[2] - from[1]);
      move(chart, from[1] + shift, from[2] + shift);
    });
    addEventListener("pointerup", () => { from = null; box.classList.remove("drag"); });
  });
  const draw = () => charts.reduce((done, chart) => done.then(() => show(chart)), Promise.resolve()).then(() => { document.documentElement.dataset.charts = "ready"; });
  let later = 0;
  addEventListener("resize", () => { clearTimeout(later); later = setTimeout(draw, 200); });
  dark.addEventListener("change", draw);
  draw();
})();
