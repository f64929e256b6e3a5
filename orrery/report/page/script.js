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
  // A timeline shows the part `view` of its plot: from, width, and those of the whole.
  function placeIn(svg, event) {
    var at = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(svg.getScreenCTM().inverse()), view = svg.view;
    if (view) { at.x = view.from + (at.x - view.begin) / view.whole * view.width; }
    return at;
  }
  function place(svg, event) {
    var lines = [], at = placeIn(svg, event);
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
    var svg = mark.closest('.figure>svg'), where = svg ? place(svg, event) : '';
    tip.textContent = mark.dataset.tip + (where ? '\n' + where : '');
    var left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    var above = event.clientY + 18 + tip.offsetHeight > innerHeight;
    tip.style.left = left + 'px';
    tip.style.top = (above ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + 'px';
  });

  function element(name, attributes) {
    var made = document.createElementNS(document.querySelector('svg').namespaceURI, name);
    for (var key in attributes) { made.setAttribute(key, attributes[key]); }
    return made;
  }
  // Ticks of the part that is shown, all in the unit of the largest.
  function drawTicks(svg, plot, view) {
    svg.querySelectorAll('.live').forEach(function (old) { old.remove(); });
    if (view.width === view.whole) { return; }
    var x = svg.dataset.x.split(' ').map(Number), slope = (x[3] - x[2]) / (x[1] - x[0]);
    var low = x[2] + (view.from - x[0]) * slope, high = low + view.width * slope;
    var step = Math.pow(10, Math.floor(Math.log10((high - low) / 4)));
    while ((high - low) / step > 9) { step *= (high - low) / step > 18 ? 5 : 2; }
    var units = ['ns', '\u00b5s', 'ms', 's'], unit = 0;
    while (high >= Math.pow(1000, unit + 1) && unit < 3) { ++unit; }
    var scale = Math.pow(1000, unit);
    var digits = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
    var top = +plot.getAttribute('y'), bottom = top + +plot.getAttribute('height');
    for (var n = Math.ceil(low / step); n * step <= high; ++n) {
      var at = view.begin + (n * step - low) / (high - low) * view.whole;
      svg.insertBefore(element('line', {x1: at, x2: at, y1: top, y2: bottom, 'class': 'grid live'}),
                       plot);
      var text = element('text', {x: at, y: bottom + 18, 'class': 'tick live',
                                  'text-anchor': 'middle'});
      text.textContent = (n * step / scale).toFixed(digits) + ' ' + units[unit];
      svg.appendChild(text);
    }
  }
  function show(svg, from, width) {
    var view = svg.view, plot = svg.querySelector('svg');
    view.width = Math.min(view.whole, Math.max(width, view.whole / svg.dataset.zoom));
    view.from = Math.min(Math.max(from, view.begin), view.begin + view.whole - view.width);
    var part = view.width / view.whole;
    plot.setAttribute('viewBox', [view.from, plot.getAttribute('y'), view.width,
                                  plot.getAttribute('height')].join(' '));
    svg.classList.toggle('zoomed', part < 1);
    // Labels that have room now.
    plot.querySelectorAll('[data-label]').forEach(function (slice) {
      var width = +slice.getAttribute('width'), name = slice.dataset.label;
      if (!slice.label && width / part > 7.2 * (name.length + 0.4)) {
        slice.label = element('text', {x: +slice.getAttribute('x') + width / 2,
            y: +slice.getAttribute('y') + slice.getAttribute('height') / 2 + 4,
            'class': 'on-' + slice.getAttribute('class'), 'text-anchor': 'middle'});
        slice.label.textContent = name;
        slice.after(slice.label);
      }
      if (slice.label) {
        slice.label.style.display = width / part > 7.2 * (name.length + 0.4) ? '' : 'none';
      }
    });
    // Texts, hatching and slices too short to be seen keep their size.
    plot.querySelectorAll('text').forEach(function (text) {
      var x = +text.getAttribute('x') * (1 - part);
      text.setAttribute('transform', 'matrix(' + part + ' 0 0 1 ' + x + ' 0)');
    });
    plot.querySelectorAll('[data-width]').forEach(function (slice) {
      slice.setAttribute('width', Math.max(slice.dataset.width, 0.6 * part));
    });
    view.hatch.setAttribute('patternTransform', 'scale(' + part + ' 1) rotate(45)');
    drawTicks(svg, plot, view);
  }
  function zoom(svg, factor, around) {
    var view = svg.view, centre = around || view.from + view.width / 2;
    show(svg, centre - (centre - view.from) / factor, view.width / factor);
  }
  function reset(svg) { show(svg, svg.view.begin, svg.view.whole); }
  function move(svg, share) { show(svg, svg.view.from + share * svg.view.width, svg.view.width); }

  var actions = {
    '+': function (svg) { zoom(svg, 1.6); }, '=': function (svg) { zoom(svg, 1.6); },
    '-': function (svg) { zoom(svg, 1 / 1.6); }, '0': reset, 'Home': reset, 'Escape': reset,
    'ArrowLeft': function (svg) { move(svg, -0.2); },
    'ArrowRight': function (svg) { move(svg, 0.2); }
  };
  function addTools(svg, isFirst) {
    var tools = document.createElement('div');
    tools.className = 'tools';
    [['+', 'zoom in'], ['-', 'zoom out'], ['ArrowLeft', 'earlier', '\u2190'],
     ['ArrowRight', 'later', '\u2192'], ['0', 'show all', 'all']].forEach(function (one) {
      var button = document.createElement('button');
      button.type = 'button';
      button.textContent = one[2] || one[0].replace('-', '\u2212');
      button.title = button.ariaLabel = one[1];
      button.addEventListener('click', function () { actions[one[0]](svg); });
      tools.appendChild(button);
    });
    if (isFirst) {
      tools.append('Drag over a range to zoom in, double-click to see all. After a click the ' +
                   'wheel and the keys + \u2212 \u2190 \u2192 0 work too; Shift + drag moves.');
    }
    svg.parentNode.before(tools);
  }
  function addDragging(svg) {
    var plot = svg.querySelector('svg'), range = element('rect', {'class': 'range', height: '100%',
        y: plot.getAttribute('y')}), start = null;
    svg.addEventListener('pointerdown', function (event) {
      if (event.pointerType === 'touch' || event.button !== 0) { return; }
      svg.focus({preventScroll: true});
      svg.setPointerCapture(event.pointerId);
      start = {x: placeIn(svg, event).x, moves: event.shiftKey};
    });
    svg.addEventListener('pointermove', function (event) {
      if (!start) { return; }
      var x = placeIn(svg, event).x;
      if (start.moves) { show(svg, svg.view.from + start.x - x, svg.view.width); return; }
      range.setAttribute('x', Math.min(x, start.x));
      range.setAttribute('width', Math.abs(x - start.x));
      plot.appendChild(range);
    });
    svg.addEventListener('pointerup', function (event) {
      var x = placeIn(svg, event).x, first = start;
      start = null;
      range.remove();
      if (first && !first.moves && Math.abs(x - first.x) > svg.view.width / 200) {
        show(svg, Math.min(x, first.x), Math.abs(x - first.x));
      }
    });
    svg.addEventListener('pointercancel', function () { start = null; range.remove(); });
  }
  document.querySelectorAll('svg[data-zoom]').forEach(function (svg, number) {
    var whole = svg.querySelector('svg').viewBox.baseVal;
    var hatch = document.getElementById('hatch').cloneNode(true);
    hatch.id = 'hatch-' + number;
    document.getElementById('hatch').after(hatch);
    svg.style.setProperty('--hatch', 'url(#' + hatch.id + ')');
    svg.view = {from: whole.x, width: whole.width, begin: whole.x, whole: whole.width,
                hatch: hatch};
    svg.setAttribute('tabindex', '0');
    addTools(svg, number === 0);
    addDragging(svg);
    svg.addEventListener('dblclick', function () { reset(svg); });
    // Without a click before, the wheel scrolls the page.
    svg.addEventListener('wheel', function (event) {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== svg) { return; }
      event.preventDefault();
      zoom(svg, Math.exp(-0.002 * event.deltaY), placeIn(svg, event).x);
    }, {passive: false});
    svg.addEventListener('keydown', function (event) {
      if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) { return; }
      event.preventDefault();
      actions[event.key](svg);
    });
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
