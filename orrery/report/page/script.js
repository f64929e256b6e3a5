(function () {
  'use strict';
  var root = document.documentElement, tip = document.getElementById('tip');

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === 'dark'
                              : matchMedia('(prefers-color-scheme: dark)').matches;
  }
  document.getElementById('theme').addEventListener('click', function () {
    root.dataset.theme = isDark() ? 'light' : 'dark';
  });

  function duration(ns) {
    var units = ['ns', '\u00b5s', 'ms', 's'], unit = 0;
    while (Math.abs(ns) >= 999.5 && unit < 3) { ns /= 1000; ++unit; }
    return (unit ? ns.toPrecision(4) : Math.round(ns)) + ' ' + units[unit];
  }
  function place(svg, event) {
    var lines = [], at = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(svg.getScreenCTM().inverse());
    if (svg.dataset.rows) {
      var rows = svg.dataset.rows.split(' ').map(Number);
      var name = svg.dataset.rowNames.split('|')[Math.floor((at.y - rows[0]) / rows[1])];
      if (name) { lines.push(name); }
    }
    if (svg.dataset.x) {
      var x = svg.dataset.x.split(' ');
      var value = +x[2] + (at.x - x[0]) / (x[1] - x[0]) * (x[3] - x[2]);
      lines.push(x[4] === 'ns' ? 'at ' + duration(value) : 'no. ' + Math.floor(value));
    }
    return lines.join(' \u00b7 ');
  }
  document.addEventListener('pointermove', function (event) {
    var mark = event.target.closest && event.target.closest('[data-tip]');
    tip.style.display = mark ? 'block' : 'none';
    if (!mark) { return; }
    var where = mark.ownerSVGElement ? place(mark.ownerSVGElement, event) : '';
    tip.textContent = mark.dataset.tip + (where ? '\n' + where : '');
    var left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    var above = event.clientY + 18 + tip.offsetHeight > innerHeight;
    tip.style.left = left + 'px';
    tip.style.top = (above ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + 'px';
  });

  var filter = document.getElementById('filter');
  if (filter) {
    filter.addEventListener('input', function () {
      var wanted = filter.value.toLowerCase();
      document.querySelectorAll('.filtered tbody tr').forEach(function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0;
      });
    });
  }
})();
