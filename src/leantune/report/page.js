(function () {
  "use strict";
  var page = JSON.parse(document.getElementById("data").textContent);
  var plots = Array.prototype.slice.call(document.querySelectorAll("[data-figure]"));
  var touch = window.matchMedia("(pointer: coarse)").matches;

  // "@kept" is a colour of the style sheet; only values of keys that name a colour are looked at.
  function coloured(value, key, sheet) {
    if (typeof value === "string") {
      return /color$/.test(key) && value[0] === "@" ? sheet.getPropertyValue("--" + value.slice(1)).trim() : value;
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "object" ? value.map(function (part) { return coloured(part, key, sheet); }) : value.slice();
    }
    if (value === null || typeof value !== "object") return value;
    var copy = {};
    Object.keys(value).forEach(function (name) { copy[name] = coloured(value[name], name, sheet); });
    return copy;
  }

  function draw(element) {
    var sheet = getComputedStyle(document.documentElement);
    var figure = coloured(page.figures[element.dataset.figure], "", sheet);
    figure.layout.template = coloured(page.template, "", sheet);
    figure.layout.dragmode = touch ? false : "zoom";
    figure.data.forEach(function (trace) {
      if (trace.customdata) trace.hovertext = trace.customdata.map(function (index) { return page.results[index]; });
    });
    var options = { responsive: true, displaylogo: false, displayModeBar: false };
    return window.Plotly.react(element, figure.data, figure.layout, options);
  }

  // One figure after the other, so that the page can be read and scrolled meanwhile.
  function drawAll() {
    var left = plots.slice();
    document.documentElement.dataset.figures = "drawing";
    (function next() {
      var element = left.shift();
      if (!element) { document.documentElement.dataset.figures = "drawn"; return; }
      Promise.resolve(draw(element)).then(function () { setTimeout(next, 0); });
    })();
  }
  drawAll();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  var table = document.getElementById("trial-table");
  if (!table) return;
  var body = table.tBodies[0];
  var rows = Array.prototype.slice.call(body.rows);
  var texts = null;
  var wanted = "";
  var most = Number(table.dataset.most);
  var shown = document.getElementById("shown");

  function key(cell) {
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.classList.contains("n") ? Number(cell.textContent.replace(/[^0-9.eE+-]/g, "")) : cell.textContent;
  }

  function sortBy(column, down) {
    var keyed = rows.map(function (row) {
      var cell = row.cells[column];
      return { row: row, empty: cell.classList.contains("none"), key: key(cell) };
    });
    keyed.sort(function (a, b) {
      if (a.empty || b.empty) return a.empty - b.empty; // unknown values always last
      var numbers = typeof a.key === "number" && typeof b.key === "number";
      var order = numbers ? a.key - b.key : String(a.key).localeCompare(String(b.key));
      return down ? -order : order;
    });
    rows = keyed.map(function (entry) { return entry.row; });
    rows.forEach(function (row) { body.appendChild(row); });
  }

  function show() {
    var found = 0;
    if (wanted && !texts) {
      texts = new Map(rows.map(function (row) { return [row, row.textContent.toLowerCase()]; }));
    }
    rows.forEach(function (row) {
      var match = !wanted || texts.get(row).indexOf(wanted) >= 0;
      if (match) found += 1;
      row.hidden = !match || found > most;
    });
    shown.hidden = found <= most;
    shown.firstElementChild.textContent = "The first " + most + " of " + found.toLocaleString("en") + " rows are shown.";
  }

  table.tHead.addEventListener("click", function (event) {
    var heading = event.target.closest("th");
    if (!heading) return;
    var down = heading.getAttribute("aria-sort") === "ascending";
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    sortBy(heading.cellIndex, down);
    show();
  });

  body.addEventListener("click", function (event) { // long texts are cut; a click on the row shows them
    var row = event.target.closest("tr");
    if (row && !String(window.getSelection())) row.classList.toggle("open");
  });

  shown.querySelector("button").addEventListener("click", function () { most = Infinity; show(); });
  document.getElementById("find").addEventListener("input", function (event) {
    wanted = event.target.value.toLowerCase();
    show();
  });
  show();
})();
