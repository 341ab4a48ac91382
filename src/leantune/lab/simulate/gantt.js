"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const types = [...new Set(data.offers.map(o => o.type))];
const WHY = {
  notice: "taken by the provider; saved within the notice", revoked: "taken by the provider before it could be saved",
  move: "moved on: another machine promised more", "theta reached": "reached theta: paused until the best are selected",
  finished: "finished", converged: "converged: nothing more to learn", diverged: "diverged",
};
let chart = data.charts[0], view = [0, 1], hover = null, cursor = null, drag = null, geometry = null, colours = {};

// -- words
const usd = v => v === 0 ? "$0.00" : Math.abs(v) >= 1 ? "$" + v.toFixed(2) : "$" + v.toFixed(Math.min(8, Math.max(2, 2 - Math.floor(Math.log10(Math.abs(v))))));
const span = s => s < 120 ? `${Math.round(s)} s` : s < 7200 ? `${Math.round(s / 60)} min` : s < 172800 ? `${(s / 3600).toFixed(1)} h` : `${(s / 86400).toFixed(1)} days`;
const clock = s => new Date((data.start + s) * 1000).toLocaleString("en-GB", {timeZone: "UTC", weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"});
const count = v => Math.round(v).toLocaleString("en-US");
const after = s => view[1] - view[0] > 172800 ? `day ${+(s / 86400).toFixed(1)}` : s % 3600 ? `${Math.floor(s / 3600)}:${String(Math.round(s % 3600 / 60)).padStart(2, "0")} h` : `${s / 3600} h`;
const text = (tag, content, parent) => { const e = document.createElement(tag); e.textContent = content; parent.append(e); return e; };

// -- geometry: both panels share the gutter and the time axis
function measure() {
  const width = at("jobs").parentElement.clientWidth, narrow = width < 640;
  const n = chart.rows.length, row = n <= 24 ? 24 : n <= 48 ? 17 : n <= 120 ? 11 : 7;
  const heads = [];
  const top = narrow ? 36 : 22;
  let y = top;
  const tops = chart.rows.map((r, i) => {
    const several = chart.rows[0].family !== chart.rows[n - 1].family;
    if (several && (!i || r.family !== chart.rows[i - 1].family)) { heads.push({y, text: r.family}); y += 22; }
    y += row; if (several) heads[heads.length - 1].end = y;
    return y - row;
  });
  return {top, left: narrow ? 104 : 190, right: width - (narrow ? 10 : 18), width, row, tops, heads, bottom: y, height: y + 26, panel: narrow ? 170 : 220, narrow};
}
const x = t => geometry.left + (t - view[0]) / (view[1] - view[0]) * (geometry.right - geometry.left);
const time = px => view[0] + (px - geometry.left) / (geometry.right - geometry.left) * (view[1] - view[0]);
function canvas(id, height) {
  const c = at(id), scale = window.devicePixelRatio || 1;
  c.width = Math.round(geometry.width * scale); c.height = Math.round(height * scale); c.style.height = height + "px";
  const g = c.getContext("2d");
  g.scale(scale, scale); g.clearRect(0, 0, geometry.width, height); g.textBaseline = "middle";
  g.font = "12px " + getComputedStyle(document.body).fontFamily;
  return g;
}
function palette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "soft", "line", "grid", "stripe", "good", "bad", "boot"]) colours[name] = style.getPropertyValue("--" + name).trim();
  types.forEach((type, i) => colours["type " + type] = style.getPropertyValue("--t" + i % 8).trim());
}
const colour = offer => colours["type " + data.offers[offer].type];

// -- the axis of time
function ticks() {
  const most = geometry.narrow ? 4 : 9, length = view[1] - view[0];
  const steps = [60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 604800];
  const step = steps.find(s => length / s <= most) || 1209600;
  const found = [];
  for (let t = Math.ceil(view[0] / step) * step; t <= view[1]; t += step) found.push(t);
  return found;
}
function axis(g, top, bottom, labels) {
  g.strokeStyle = colours.grid; g.fillStyle = colours.soft; g.lineWidth = 1; g.textAlign = "center";
  for (const t of ticks()) {
    const px = Math.round(x(t)) + .5;
    g.beginPath(); g.moveTo(px, top); g.lineTo(px, bottom); g.stroke();
    if (labels) g.fillText(after(t), Math.min(px, geometry.right - 14), bottom + 13);
  }
}
function marks(g, top, bottom, named) {
  const shown = chart.marks.filter(m => !m.family).concat(data.deadline === null ? [] : [{t: data.deadline, text: "finish by"}]);
  let free = -Infinity;
  for (const mark of shown.sort((a, b) => a.t - b.t)) {
    const px = Math.round(x(mark.t)) + .5;
    if (px < geometry.left || px > geometry.right + 1) continue;
    g.strokeStyle = mark.text === "finish by" ? colours.bad : colours.ink; g.setLineDash(mark.text === "selected" ? [5, 4] : []);
    g.lineWidth = 1.2; g.beginPath(); g.moveTo(px, top); g.lineTo(px, bottom); g.stroke(); g.setLineDash([]);
    if (!named) continue;
    const label = `${mark.text} ${after(Math.round(mark.t / 60) * 60)}`, half = g.measureText(label).width / 2;
    const middle = Math.min(Math.max(px, geometry.left + half), geometry.right - half);
    const crowded = middle - half < free;
    if (crowded && !geometry.narrow) continue;
    g.fillStyle = colours.ink; g.textAlign = "center"; g.fillText(label, middle, top - (crowded ? 24 : 10)); free = middle + half + 8;
  }
}
function familyMarks(g) {
  for (const mark of chart.marks.filter(m => m.family)) {
    const head = geometry.heads.find(h => h.text === mark.family), px = Math.round(x(mark.t)) + .5;
    if (!head || px < geometry.left || px > geometry.right + 1) continue;
    g.strokeStyle = colours.ink; g.lineWidth = 1.2; g.setLineDash(mark.text === "selected" ? [5, 4] : []);
    g.beginPath(); g.moveTo(px, head.y + 18); g.lineTo(px, head.end); g.stroke(); g.setLineDash([]);
    g.fillStyle = colours.soft; g.textAlign = px > geometry.right - 60 ? "right" : "center";
    if (!geometry.narrow || mark.text === "finished") g.fillText(mark.text, Math.min(px, geometry.right), head.y + 11);
  }
}
function crosshair(g, top, bottom) {
  if (cursor === null || cursor < geometry.left || cursor > geometry.right) return;
  g.strokeStyle = colours.soft; g.lineWidth = 1; g.beginPath(); g.moveTo(cursor + .5, top); g.lineTo(cursor + .5, bottom); g.stroke();
}
function selection(g, top, bottom) {
  if (!drag || Math.abs(drag.to - drag.from) < 4) return;
  g.globalAlpha = .14; g.fillStyle = colours.ink; g.fillRect(Math.min(drag.from, drag.to), top, Math.abs(drag.to - drag.from), bottom - top); g.globalAlpha = 1;
}

// -- bars
const patterns = {};
function hatch(g, shade) {
  const key = shade + colours.paper;
  if (!patterns[key]) {
    const tile = document.createElement("canvas"); tile.width = tile.height = 8;
    const h = tile.getContext("2d"); h.globalAlpha = .16; h.fillStyle = shade; h.fillRect(0, 0, 8, 8); h.globalAlpha = .75;
    h.strokeStyle = shade; h.lineWidth = 1.3; h.beginPath();
    for (const d of [-8, 0, 8]) { h.moveTo(d, 8); h.lineTo(d + 8, 0); }
    h.stroke(); patterns[key] = tile;
  }
  return g.createPattern(patterns[key], "repeat");
}
function bar(g, box, shade, free, spot) {
  g.fillStyle = free ? hatch(g, shade) : shade; g.fillRect(box.x, box.y, box.w, box.h);
  if (free) { g.strokeStyle = shade; g.lineWidth = 1; if (box.w > 2) g.strokeRect(box.x + .5, box.y + .5, box.w - 1, box.h - 1); }
  if (!spot) { g.fillStyle = colours.ink; g.fillRect(box.x, box.y + box.h - 2.5, box.w, 2.5); }
}
function shaded(g, from, to, y, h, shade, alpha) {
  const a = Math.max(x(from), geometry.left), b = Math.min(x(to), geometry.right);
  if (b - a < .4) return;
  g.globalAlpha = alpha; g.fillStyle = shade; g.fillRect(a, y, b - a, h); g.globalAlpha = 1;
}
function glyph(g, kind, px, y, size) {
  g.lineWidth = 1.4; g.beginPath();
  if (kind === "revoked") { g.fillStyle = colours.bad; g.moveTo(px - size, y - size * .9); g.lineTo(px + size, y - size * .9); g.lineTo(px, y + size * .9); g.closePath(); g.fill(); }
  else if (kind === "move") { g.strokeStyle = colours.ink; g.moveTo(px - size * .7, y - size); g.lineTo(px + size * .5, y); g.lineTo(px - size * .7, y + size); g.stroke(); }
  else if (kind === "theta") { g.fillStyle = colours.paper; g.strokeStyle = colours.ink; g.arc(px, y, size, 0, 7); g.fill(); g.stroke(); }
  else if (kind === "end") { g.fillStyle = colours.ink; g.arc(px, y, size, 0, 7); g.fill(); }
  else { g.strokeStyle = colours.bad; g.lineWidth = 2; g.moveTo(px - size, y - size); g.lineTo(px + size, y + size); g.moveTo(px + size, y - size); g.lineTo(px - size, y + size); g.stroke(); }
}
const kindOf = s => s.why === "theta reached" ? "theta" : s.why === "finished" || s.why === "converged" ? "end" : s.why === "diverged" ? "diverged" : s.why === "move" ? "move" : "revoked";
function drawStay(g, s) {
  if (x(s.left) < geometry.left || x(s.from) > geometry.right) return;
  const air = Math.max(1, Math.round(geometry.row * .14)), y = geometry.tops[s.row] + air, h = geometry.row - 2 * air;
  const a = Math.max(x(s.from), geometry.left), b = Math.min(x(s.left), geometry.right), free = s.revoked && s.usd <= 0;
  bar(g, {x: a, y, w: Math.max(b - a - (b - a > 4 ? 1 : 0), 1), h}, colour(s.offer), free, data.offers[s.offer].spot);
  shaded(g, s.from, s.ready === null ? s.left : s.ready, y, h, colours.paper, .72);
  shaded(g, s.from, s.ready === null ? s.left : s.ready, y, h, colours.boot, .75);
  shaded(g, Math.max(s.left - s.saving, s.from), s.left, y, h, colours.ink, .6);
  if (s === hover) { g.strokeStyle = colours.ink; g.lineWidth = 2; g.strokeRect(a, y, Math.max(b - a, 2), h); }
}
function drawMarks(g) {
  const size = Math.min(4.2, geometry.row * .2), last = {};
  for (const s of chart.stays) {
    const px = x(s.left), kind = kindOf(s), y = geometry.tops[s.row] + (kind === "revoked" ? geometry.row * .22 : geometry.row / 2);
    if (px < geometry.left || px > geometry.right + 2) continue;
    if (kind === "move" && px - x(s.from) < 12) continue;
    if ((kind === "revoked" || kind === "move") && px - (last[s.row] ?? -99) < size * 2.2) continue;  // they would hide each other
    last[s.row] = px; glyph(g, kind, kind === "theta" || kind === "end" ? px + 1 : px - .5, y, size);
  }
}
function clipped(g, content, width) {
  if (g.measureText(content).width <= width) return content;
  let n = content.length;
  while (n > 1 && g.measureText(content.slice(0, n) + "…").width > width) n--;
  return content.slice(0, n) + "…";
}
function labels(g) {
  g.textAlign = "left";
  const face = getComputedStyle(document.body).fontFamily, size = Math.min(geometry.narrow ? 11 : 12.5, geometry.row - 1);
  for (const head of geometry.heads) { g.font = `600 13px ${face}`; g.fillStyle = colours.ink; g.fillText(head.text, 0, head.y + 12); }
  chart.rows.forEach((r, i) => {
    const y = geometry.tops[i] + geometry.row / 2;
    g.font = `${r.selected ? "650 " : ""}${size}px ${face}`; g.fillStyle = r.selected ? colours.ink : colours.soft;
    const rank = r.rank === null ? "–" : String(r.rank), gutter = geometry.row < 9 ? 0 : 20;
    if (gutter) { g.textAlign = "right"; g.fillText(rank, 15, y); g.textAlign = "left"; }
    const star = r.best ? "★ " : "";
    if (star) { g.fillStyle = colours.good; g.fillText("★", gutter, y); g.fillStyle = r.selected ? colours.ink : colours.soft; }
    const shift = gutter + (star ? 14 : 0);
    const prefix = r.family.toLowerCase() + "-", name = r.name.toLowerCase().startsWith(prefix) ? r.name.slice(prefix.length) : r.name;
    g.fillText(clipped(g, name, geometry.left - shift - 8), shift, y);
  });
}
function drawJobs() {
  const g = canvas("jobs", geometry.height);
  chart.rows.forEach((_, i) => { if (i % 2) { g.fillStyle = colours.stripe; g.fillRect(0, geometry.tops[i], geometry.right, geometry.row); } });
  labels(g);
  g.font = "12px " + getComputedStyle(document.body).fontFamily;
  axis(g, geometry.top, geometry.bottom, true);
  for (const s of chart.stays) drawStay(g, s);
  marks(g, geometry.top - 2, geometry.bottom, true); familyMarks(g); drawMarks(g); crosshair(g, geometry.top, geometry.bottom); selection(g, geometry.top, geometry.bottom);
}

// -- prices
function priceRange() {
  let low = .5, high = 1.15;
  for (const s of data.prices) s.p.forEach((p, i) => {
    if ((s.t[i + 1] ?? Infinity) < view[0] || s.t[i] > view[1]) return;
    const share = p / data.offers[s.offer].usd; low = Math.min(low, share); high = Math.max(high, share);
  });
  return [low * .9, high * 1.1];
}
function priceAt(s, t) {
  let low = 0, high = s.t.length - 1;
  while (low < high) { const middle = (low + high + 1) >> 1; if (s.t[middle] <= t) low = middle; else high = middle - 1; }
  return s.p[low];
}
function priceLine(g, s, y) {
  const full = data.offers[s.offer].usd;
  g.beginPath();
  let px = x(Math.max(view[0], s.t[0])), started = false, before = 0;
  for (let i = 0; i < s.t.length && s.t[i] <= view[1]; i++) {
    if ((s.t[i + 1] ?? Infinity) < view[0]) continue;
    px = Math.max(x(s.t[i]), geometry.left);
    const py = y(s.p[i] / full);
    if (!started) { g.moveTo(px, py); started = true; } else { g.lineTo(px, before); g.lineTo(px, py); }
    before = py;
  }
  g.lineTo(geometry.right, before); g.stroke();
}
function drawPrices() {
  const height = geometry.panel, g = canvas("prices", height), top = 6, bottom = height - 24, [low, high] = priceRange();
  const y = share => bottom - (Math.log(share) - Math.log(low)) / (Math.log(high) - Math.log(low)) * (bottom - top);
  axis(g, top, bottom, true);
  g.textAlign = "right";
  for (const share of [.05, .1, .2, .3, .5, 1, 2, 5, 10]) {
    if (share < low || share > high) continue;
    g.strokeStyle = share === 1 ? colours.ink : colours.grid; g.lineWidth = share === 1 ? 1.2 : 1;
    g.beginPath(); g.moveTo(geometry.left, y(share)); g.lineTo(geometry.right, y(share)); g.stroke();
    g.fillStyle = share === 1 ? colours.ink : colours.soft;
    g.fillText(share === 1 && !geometry.narrow ? "on demand 100 %" : `${share * 100} %`, geometry.left - 8, y(share));
  }
  for (const s of data.prices) {
    const mine = hover && hover.offer === s.offer;
    g.globalAlpha = hover ? (mine ? 1 : .16) : .8; g.lineWidth = mine ? 2.2 : 1.25; g.strokeStyle = colour(s.offer); g.lineJoin = "round";
    priceLine(g, s, y);
  }
  g.globalAlpha = 1;
  if (hover && hover.bid !== null) {
    const level = y(Math.min(hover.bid / data.offers[hover.offer].usd, high)), a = Math.max(x(hover.from), geometry.left), b = Math.min(x(hover.gone), geometry.right);
    g.strokeStyle = colours.ink; g.lineWidth = 1.6; g.setLineDash([4, 3]); g.beginPath(); g.moveTo(a, level); g.lineTo(b, level); g.stroke(); g.setLineDash([]);
  }
  marks(g, top, bottom, false); crosshair(g, top, bottom); selection(g, top, bottom);
}
let waiting = false;
function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; geometry = measure(); drawJobs(); drawPrices(); document.documentElement.dataset.drawn = chart.policy; });
}

// -- what is told
function rowsOf(s) {
  const offer = data.offers[s.offer], free = s.revoked && s.usd <= 0;
  const found = [["from", `${clock(s.from)}, for ${span(s.left - s.from)}`]];
  found.push(["cost", free ? `free: ${usd(s.refund)} given back` : usd(s.usd)]);
  found.push(["steps", `${count(s.kept)} kept from ${count(s.step)} on${s.lost >= 1 ? `, ${count(s.lost)} lost` : ""}`]);
  if (s.bid !== null) found.push(["max price", `${usd(s.bid)} an hour (on demand ${usd(offer.usd)})`]);
  if (s.ready !== null) found.push(["boot, restore", span(s.ready - s.from)]);
  if (s.saving > 0) found.push(["saving", span(s.saving)]);
  found.push(["ended", WHY[s.why] || s.why || "in use at the end"]);
  return found;
}
function tellStay(tip, s) {
  const offer = data.offers[s.offer], head = text("b", "", tip), dot = document.createElement("i");
  dot.style.background = colour(s.offer); head.append(dot, `${offer.type}, ${offer.spot ? offer.market.split("/")[1] : "on demand"}`);
  text("div", chart.rows[s.row].name, tip);
  const table = document.createElement("table"); tip.append(table);
  for (const [name, value] of rowsOf(s)) { const row = table.insertRow(); row.insertCell().textContent = name; row.insertCell().textContent = value; }
}
function tellPrices(tip, t) {
  text("b", clock(t), tip);
  const table = document.createElement("table"); tip.append(table);
  const found = data.prices.map(s => ({s, p: priceAt(s, t)})).sort((a, b) => a.p / data.offers[a.s.offer].usd - b.p / data.offers[b.s.offer].usd);
  for (const {s, p} of found.slice(0, 14)) {
    const row = table.insertRow(), name = row.insertCell(), dot = document.createElement("i");
    dot.style.background = colour(s.offer); name.append(dot, data.offers[s.offer].market);
    row.insertCell().textContent = `${usd(p)}, ${Math.round(100 * p / data.offers[s.offer].usd)} %`;
  }
}
function tell(event, fill) {
  const tip = at("tip"), stage = tip.parentElement.getBoundingClientRect();
  tip.replaceChildren(); tip.hidden = !fill;
  if (!fill) return;
  fill(tip);
  const px = event.clientX - stage.left, py = event.clientY - stage.top, w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = `${Math.max(0, Math.min(px + 16 + w > stage.width ? px - w - 12 : px + 16, stage.width - w))}px`;
  tip.style.top = `${event.clientY + 18 + h > window.innerHeight ? Math.max(py - h - 12, 0) : py + 18}px`;
}
function found(px, py) {
  const row = geometry.tops.findIndex(top => py >= top && py < top + geometry.row);
  if (row < 0 || px < geometry.left) return null;
  const mine = chart.stays.filter(s => s.row === row && x(s.from) - 2 <= px && px <= x(s.left) + 2);
  return mine.sort((a, b) => Math.abs(x(a.from) + x(a.left) - 2 * px) - Math.abs(x(b.from) + x(b.left) - 2 * px))[0] || null;
}

// -- zoom
function show(from, to) {
  const whole = full(), length = Math.min(Math.max(to - from, 120), whole), start = Math.min(Math.max(from, 0), whole - length);
  view = [start, start + length]; draw();
}
const full = () => Math.max(...chart.stays.map(s => s.left), chart.end) * 1.01;
const zoom = (factor, middle = (view[0] + view[1]) / 2) => show(middle - (middle - view[0]) * factor, middle + (view[1] - middle) * factor);
for (const id of ["jobs", "prices"]) {
  const c = at(id), place = e => { const box = c.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  c.addEventListener("pointermove", e => {
    const [px, py] = place(e);
    cursor = Math.round(px); if (drag) drag.to = Math.min(Math.max(px, geometry.left), geometry.right);
    hover = id === "jobs" ? found(px, py) : null;
    const inside = px >= geometry.left && px <= geometry.right;
    tell(e, id === "jobs" ? hover && (tip => tellStay(tip, hover)) : inside && (tip => tellPrices(tip, time(px))));
    draw();
  });
  c.addEventListener("pointerdown", e => { const [px] = place(e); if (e.button === 0 && px >= geometry.left) { drag = {from: px, to: px}; if (e.pointerType === "mouse") c.setPointerCapture(e.pointerId); } });
  c.addEventListener("pointerup", () => { if (drag && Math.abs(drag.to - drag.from) > 6) show(time(Math.min(drag.from, drag.to)), time(Math.max(drag.from, drag.to))); drag = null; draw(); });
  c.addEventListener("pointercancel", () => { drag = null; draw(); });
  c.addEventListener("pointerleave", e => { cursor = hover = null; tell(e, null); draw(); });
  c.addEventListener("dblclick", () => show(0, full()));
  c.addEventListener("wheel", e => { if (!e.ctrlKey) return; e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : .8, time(place(e)[0])); }, {passive: false});
}
at("in").onclick = () => zoom(.5); at("out").onclick = () => zoom(2); at("all").onclick = () => show(0, full());
at("jobs").addEventListener("keydown", e => {
  const move = (view[1] - view[0]) / 5, keys = {"+": () => zoom(.5), "-": () => zoom(2), 0: () => show(0, full()), ArrowLeft: () => show(view[0] - move, view[1] - move), ArrowRight: () => show(view[0] + move, view[1] + move)};
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});

// -- the head of the figure
function key() {
  at("key").replaceChildren();
  const item = (name, paint) => {
    const li = document.createElement("li"), c = document.createElement("canvas"), scale = window.devicePixelRatio || 1;
    c.width = 26 * scale; c.height = 14 * scale; const g = c.getContext("2d"); g.scale(scale, scale); paint(g); li.append(c, name); at("key").append(li);
  };
  const box = {x: 0, y: 1, w: 26, h: 12}, first = colours["type " + types[0]];
  const kinds = new Set(chart.stays.map(kindOf));
  for (const type of types) item(type, g => bar(g, box, colours["type " + type], false, true));
  if (chart.stays.some(s => s.revoked && s.usd <= 0)) item("free: given back", g => bar(g, box, first, true, true));
  if (chart.stays.some(s => !data.offers[s.offer].spot)) item("on demand", g => bar(g, box, first, false, false));
  item("boot, restore", g => { g.globalAlpha = .8; g.fillStyle = colours.boot; g.fillRect(0, 1, 26, 12); });
  item("saving", g => { g.globalAlpha = .7; g.fillStyle = colours.ink; g.fillRect(10, 1, 6, 12); });
  for (const [kind, name] of [["revoked", "taken by the provider"], ["move", "moved on"], ["theta", "reached theta"], ["end", "finished or converged"], ["diverged", "diverged"]])
    if (kinds.has(kind)) item(name, g => glyph(g, kind, 13, 7, 4.2));
  const best = text("li", "", at("key")); const star = text("span", "★", best); star.style.color = colours.good; best.append("truly best setting; bold: went on to the end");
}
function told() {
  const paid = chart.stays.reduce((sum, s) => sum + s.usd, 0), back = chart.stays.reduce((sum, s) => sum + s.refund, 0);
  const taken = chart.stays.filter(s => s.revoked).length;
  const start = new Date(data.start * 1000).toLocaleString("en-GB", {timeZone: "UTC", day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit"});
  at("told").textContent = `${chart.policy}: ${chart.rows.length} jobs on ${count(chart.stays.length)} machines, ${count(taken)} of them taken by the provider; ${usd(paid)} paid, ${usd(back)} given back. Jobs are in the order of their ranking; hours count from ${start} UTC.`;
}
function choose(index) {
  chart = data.charts[index]; hover = null;
  [...at("tabs").children].forEach((b, i) => b.setAttribute("aria-pressed", i === index));
  told(); key(); show(0, full());
}
function restyle() { palette(); key(); draw(); }
palette();
data.charts.forEach((c, i) => { text("button", c.policy, at("tabs")).onclick = () => choose(i); });
choose(0);
window.addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
