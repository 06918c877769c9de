// Draws the report. Every string of the report becomes a text node, never HTML.
(function () {
  'use strict';
  const report = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  const drawings = [];  // functions that draw a chart in the present colours

  function add(parent, tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  }
  const count = (n) => n === undefined || n < 0 ? '?' : Number(n).toLocaleString('en-US');
  const short = (n) => n >= 1e9 ? (n / 1e9).toFixed(2) + 'G' : n >= 1e6 ? (n / 1e6).toFixed(2) + 'M'
    : n >= 1e4 ? (n / 1e3).toFixed(1) + 'k' : count(Math.round(n));
  const bytes = (n) => n >= 1e9 ? (n / 1e9).toFixed(2) + ' GB' : n >= 1e6 ? (n / 1e6).toFixed(1) + ' MB'
    : n >= 1e3 ? (n / 1e3).toFixed(1) + ' kB' : n + ' B';
  const percent = (x) => (100 * x).toFixed(x > 0 && x < 0.01 ? 2 : 1) + ' %';
  const utc = (s) => s > 0 ? new Date(s * 1000).toISOString().slice(0, 19).replace('T', ' ') + ' UTC' : '?';
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  // Colours that differ for people with any kind of colour vision (Okabe and Ito), lighter on dark ground.
  const palette = () => dark.matches
    ? ['#6ea0ff', '#ffb454', '#4cc9a0', '#e58fd0', '#f4e06d', '#7fd3ff', '#ff8f6b']
    : ['#2f6fed', '#e08600', '#009e73', '#b8509a', '#8a7a00', '#2c9fd8', '#d55e00'];

  function facts(parent, entries) {
    const box = add(parent, 'div', 'facts');
    for (const [value, label] of entries) {
      const cell = add(box, 'div');
      add(cell, 'b', '', value);
      add(cell, 'span', '', label);
    }
  }

  function card(parent, title, note, wide) {
    const box = add(parent, 'section', 'card' + (wide ? ' wide' : ''));
    add(box, 'h3', '', title);
    if (note) add(box, 'p', 'note', note);
    return box;
  }

  function chart(parent, label, tall, config) {
    const holder = add(parent, 'div', 'chart' + (tall ? ' tall' : ''));
    const canvas = add(holder, 'canvas');
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', label);
    let present = null;
    drawings.push(function () {
      if (present) present.destroy();
      present = new Chart(canvas, config());
    });
  }

  function axis(title, more) {
    return Object.assign({
      title: {display: Boolean(title), text: title, color: colour('soft'), font: {size: 12}},
      grid: {color: colour('grid'), drawBorder: false, drawTicks: false},
      ticks: {color: colour('soft'), font: {size: 11}, maxTicksLimit: 6, maxRotation: 0, padding: 6},
    }, more);
  }
  function options(x, y, more) {
    return Object.assign({
      responsive: true, maintainAspectRatio: false, animation: false,
      plugins: {legend: {display: false}, tooltip: {displayColors: false}},
      scales: {x: x, y: y},
    }, more);
  }

  // The bars of a histogram. Values from `cut` on have another colour.
  function bars(parent, label, histogram, unit, cut) {
    const number = histogram.counts.length;
    const width = (histogram.highest - histogram.lowest) / number;
    const digits = width >= 1 || width === 0 && Number.isInteger(histogram.lowest) ? 0
      : width === 0 ? 3 : Math.min(12, Math.max(0, Math.ceil(-Math.log10(width)) + 1));
    const edge = (i) => (histogram.lowest + i * width).toFixed(digits);
    if (width === 0) {
      add(parent, 'p', 'note', 'Every value is ' + edge(0) + '.');
    }
    const counts = width === 0 ? [histogram.counts[0]] : histogram.counts;
    chart(parent, label, false, () => ({
      type: 'bar',
      data: {
        labels: counts.map((_, i) => edge(i)),
        datasets: [{
          data: counts, categoryPercentage: 1, barPercentage: 0.92, maxBarThickness: 60, borderRadius: 2,
          backgroundColor: counts.map((_, i) =>
            cut > 0 && histogram.lowest + (i + 1) * width > cut ? palette()[1] : palette()[0]),
        }],
      },
      options: options(axis(unit, {grid: {display: false, drawBorder: false}, ticks: {color: colour('soft'), font: {size: 11},
        maxTicksLimit: digits > 4 ? 3 : 6, maxRotation: 0, padding: 6}}),
        axis('rows', {beginAtZero: true}), {plugins: {
        legend: {display: false},
        tooltip: {displayColors: false, callbacks: {
          title: (items) => width === 0 ? edge(0) : edge(items[0].dataIndex) + ' to ' + edge(items[0].dataIndex + 1),
          label: (item) => count(item.raw),
        }},
      }}),
    }));
  }

  // Draws lines over the samples of the run. `value` of a series returns the number for a sample, or null.
  // `scale`, if given, returns settings of the vertical axis that replace the usual ones.
  function lines(parent, label, series, format, scale) {
    const start = report.timeline[0].time;
    const last = report.timeline[report.timeline.length - 1].time - start;
    const [size, unit] = last > 7200 ? [3600, 'hours'] : last > 180 ? [60, 'minutes'] : [1, 'seconds'];
    chart(parent, label, false, () => ({
      type: 'line',
      data: {datasets: series.map((one, i) => ({
        label: one.label, borderColor: palette()[i], backgroundColor: palette()[i], borderWidth: 2, tension: 0.2,
        pointRadius: report.timeline.length > 40 ? 0 : 3,
        spanGaps: true,
        data: report.timeline.map((point, at) => ({x: (point.time - start) / size, y: one.value(point, at)})),
      }))},
      options: options(axis(unit + ' since the first sample', {type: 'linear', min: 0}),
        axis('', Object.assign({beginAtZero: true,
          ticks: {color: colour('soft'), font: {size: 11}, maxTicksLimit: 5, padding: 6, callback: format}}, scale ? scale() : {})),
        {interaction: {mode: 'index', intersect: false}, plugins: {
          legend: {display: series.length > 1, align: 'start', labels: {color: colour('soft'), boxWidth: 10, boxHeight: 10}},
          tooltip: {callbacks: {label: (item) => item.dataset.label + ': ' + format(item.parsed.y)}},
        }}),
    }));
  }

  // The stages, and the threads that they are on. Only the stages of the first thread add up to the time of the run.
  const threads = [['encode', 'rows awaited', 'commit awaited'], ['read', 'tokenize', 'pack'], ['commit']];
  const stages = threads.flat();
  const encoding = (seconds) => threads[0].reduce((sum, stage) => sum + seconds[stage], 0);

  function drawStages(grid) {
    const run = report.run.stages;
    if (encoding(run) <= 0) return;
    const seconds = (stage) => run[stage].toFixed(run[stage] < 10 ? 2 : 1) + ' s';
    const box = card(grid, 'Stages', 'Seconds of all workers. The encoding thread (blue) encodes, or waits for rows or for commits; reading (orange) and committing (green) go on beside it',
      report.timeline.length < 2);
    chart(box, 'stages', false, () => ({
      type: 'bar',
      data: {labels: stages.map((stage) => stage + ', ' + seconds(stage)), datasets: [{
        data: stages.map((stage) => run[stage]), borderRadius: 2, barPercentage: 0.8, minBarLength: 3,
        backgroundColor: stages.map((stage) => palette()[threads.findIndex((of) => of.includes(stage))]),
      }]},
      options: options(axis('seconds', {beginAtZero: true}),
        axis('', {grid: {display: false, drawBorder: false}, ticks: {color: colour('soft'), font: {size: 11}, padding: 6}}),
        {indexAxis: 'y', plugins: {legend: {display: false}, tooltip: {displayColors: false, callbacks: {
          label: (item) => seconds(stages[item.dataIndex]),
        }}}}),
    }));
    if (report.timeline.length < 2) return;
    const since = (at) => Object.fromEntries(stages.map((stage) =>
      [stage, report.timeline[at].stages[stage] - (at > 0 ? report.timeline[at - 1].stages[stage] : 0)]));
    const shown = stages.filter((stage) => report.timeline.some((point) => point.stages[stage] > 0));
    if (shown.length === 0) return;
    // One stage takes nearly all the time, so the axis is logarithmic. It ends at `least`.
    const least = 1e-4;
    lines(card(grid, 'Stages over time', 'Since the sample before, as a share of the time of the encoding thread, on a logarithmic axis'),
      'stages over time', shown.map((stage) => ({label: stage, value: (point, at) => {
        const spent = since(at), whole = encoding(spent);
        return whole > 0 ? Math.max(least, spent[stage] / whole) : null;
      }})), (share) => (share > least ? '' : 'at most ') + percent(share),
      () => ({type: 'logarithmic', min: least, ticks: {color: colour('soft'), font: {size: 11}, padding: 6,
        callback: (share) => Math.abs(Math.log10(share) % 1) < 1e-9 ? percent(share) : null}}));
  }

  function table(parent, heads, rows) {
    const node = add(add(parent, 'div', 'scroll'), 'table');
    const head = add(add(node, 'thead'), 'tr');
    heads.forEach((text) => add(head, 'th', text.startsWith('#') ? 'number' : '', text.replace('#', '')));
    const body = add(node, 'tbody');
    for (const row of rows) {
      const line = add(body, 'tr');
      row.forEach((text, i) => add(line, 'td', heads[i].startsWith('#') ? 'number' : '', text));
    }
  }

  function list(title, className, sentences) {
    if (sentences.length === 0) return;
    const box = add(page, 'section', 'box ' + className);
    add(box, 'h3', '', title);
    const items = add(box, 'ul');
    sentences.forEach((text) => add(items, 'li', '', text));
  }

  function drawHead() {
    const run = report.run;
    const head = add(page, 'header');
    add(head, 'h1', '', 'Embeddings of ' + (report.output || run.config || run.cache_dir));
    const state = add(head, 'span', 'badge', run.state);
    if (run.state === 'failed' || run.state === 'died') state.className += ' bad';
    else if (run.state !== 'done') state.className += ' warn';
    add(head, 'p', 'soft', 'started ' + utc(run.started) + ', reported ' + utc(report.generated));
    list('Something cannot be read', 'bad', report.problems);
    if (run.error.code) list('The run has failed', 'bad', ['[' + run.error.code + '] ' + run.error.what + ' (' + run.error.where + ')']);
    list('A filter chose the rows', '', report.streams.filter((s) => s.filter).map((s) => s.name + ': ' + s.filter + '.'));
    list('Texts were cut', '', report.streams.filter((s) => s.truncation)
      .map((s) => s.name + ': ' + s.truncation.found + '. To lose less, ' + s.truncation.next + '.'));
    list('Rows without a text', '', report.streams.filter((s) => s.empty_rows)
      .map((s) => s.name + ': ' + s.empty_rows.found + '. To leave them out, ' + s.empty_rows.next + '.'));
    list('Not in this report', '', report.missing);
    const finals = report.streams.map((s) => s.final).filter(Boolean);
    const sum = (key) => finals.reduce((total, one) => total + one[key], 0);
    const rates = report.timeline.map((p) => p.tokens_per_second).filter((rate) => rate > 0).sort((a, b) => a - b);
    facts(page, [
      [count(report.streams.length), report.streams.length === 1 ? 'stream' : 'streams'],
      [short(sum('vectors')), 'finished vectors'],
      [short(sum('tokens')), 'tokens'],
      [count(sum('truncated_rows')), 'truncated rows'],
      [rates.length ? short(rates[Math.floor(rates.length / 2)]) : '-', 'tokens/s, median'],
      [count(report.faults.reduce((total, one) => total + one.count, 0)), 'faults'],
    ]);
  }

  function drawStreams() {
    add(page, 'h2', '', 'What was encoded');
    const box = add(page, 'section', 'card');
    table(box, ['stream', '#rows', '#dim', 'type', '#size', '#tokens', 'model', 'device'], report.streams.map((s) => {
      const f = s.final;
      return [s.name, (f ? '' : count(s.rows_done) + ' of ') + count(s.rows), f ? count(f.dim) : '-', f ? f.type : 'unfinished',
        f ? bytes(f.file_bytes) : '-', f ? count(f.tokens) : '-', s.model, f ? f.devices.join(', ') : '-'];
    }));
  }

  function drawTimeline() {
    if (report.timeline.length === 0 && encoding(report.run.stages) <= 0) return;
    add(page, 'h2', '', 'The run');
    if (report.timeline.length === 1) {
      const only = report.timeline[0];
      facts(page, [[only.tokens_per_second > 0 ? short(only.tokens_per_second) : '-', 'tokens/s'],
        [bytes(only.worker_bytes), 'memory of the worker'], [bytes(only.host_used_bytes), 'host memory in use'],
        [bytes(only.host_limit_bytes), 'host memory in all']]);
      add(page, 'p', 'note', 'The run has recorded one sample, so there is no chart over time.');
    }
    const grid = add(page, 'div', 'grid');
    if (report.timeline.length > 1) drawSamples(grid);
    drawStages(grid);
  }

  function drawSamples(grid) {
    const of = (key) => (point) => point[key];
    lines(card(grid, 'Throughput', 'Tokens per second since the sample before'), 'throughput over time',
      [{label: 'tokens/s', value: of('tokens_per_second')}], short);
    const memory = [{label: 'worker', value: of('worker_bytes')}, {label: 'host in use', value: of('host_used_bytes')}];
    if (report.timeline.some((point) => point.device_total_bytes > 0)) memory.push({label: 'device', value: of('device_bytes')});
    lines(card(grid, 'Memory', 'Of the worker process, the host and the device'), 'memory over time', memory, bytes);
  }

  function drawMap() {
    if (!report.map) return;
    add(page, 'h2', '', 'Map of the vectors');
    const [a, b] = report.map.shares;
    const box = card(page, 'First two principal components',
      'They hold ' + percent(a) + ' and ' + percent(b) + ' of the variance. Point at a dot to read its text.', true);
    const text = (item) => {
      const point = item.raw;
      const words = ['row ' + count(point.row)];
      for (let i = 0; i < point.text.length && i < 180; i += 60) words.push(point.text.slice(i, i + 60));
      return words;
    };
    chart(box, 'map of the vectors', true, () => ({
      type: 'scatter',
      data: {datasets: report.map.streams.map((stream, i) => ({
        label: stream.name, data: stream.points, pointRadius: 3, pointHoverRadius: 6, borderWidth: 0,
        backgroundColor: palette()[i % 7] + 'b0',
      }))},
      options: options(axis('component 1'), axis('component 2'), {plugins: {
        legend: {align: 'start', labels: {color: colour('ink'), usePointStyle: true, boxWidth: 8, boxHeight: 8}},
        tooltip: {callbacks: {title: (items) => items[0].dataset.label, label: text}, displayColors: false},
      }}),
    }));
  }

  function drawStream(stream) {
    if (!stream.final) return;
    add(page, 'h2', '', stream.name);
    const entries = [[count(stream.final.truncated_rows), 'truncated rows'], [count(stream.final.lost_tokens), 'tokens cut off'],
      [count(stream.final.zero_token_rows), 'rows without tokens'], [count(stream.set_aside || 0), 'rows set aside']];
    if (stream.final.passages) entries.push([count(stream.final.passages), 'passages']);
    const sample = stream.sample;
    if (sample) {
      entries.push([sample.mean_cosine.toFixed(3), 'mean cosine of pairs']);
      entries.push([percent(sample.near_duplicates), 'near duplicates']);
    }
    facts(page, entries);
    const grid = add(page, 'div', 'grid');
    if (stream.lengths) {
      const cut = stream.lengths.cut;
      bars(card(grid, 'Token lengths', cut > 0 ? 'Rows with more than ' + count(cut) + ' tokens are cut (orange); the last bar has all rows beyond it' : 'Of the sampled rows'),
        'token lengths of ' + stream.name, stream.lengths, 'tokens', cut);
    }
    if (sample) {
      bars(card(grid, 'Cosines of random pairs', 'The mean is near 0 if the vectors point in all directions, and near 1 if in one'),
        'cosines of ' + stream.name, sample.cosines, 'cosine', 0);
      bars(card(grid, 'Norms', 'Of ' + count(sample.rows) + ' sampled rows'), 'norms of ' + stream.name, sample.norms, 'norm', 0);
    }
    if (stream.truncated && stream.truncated.length) {
      table(card(grid, 'Truncated rows', 'The first of ' + count(stream.final.truncated_rows)),
        ['#row', '#tokens kept', '#tokens cut off'],
        stream.truncated.slice(0, 7).map((t) => [count(t.row), count(t.tokens), count(t.lost_tokens)]));
    }
    if (stream.quantization) {
      const q = stream.quantization;
      table(card(grid, 'Quantization error', 'The matrix (' + stream.final.type + ') against the float32 chunks, on the sampled rows'),
        ['measure', '#value'], [['largest difference', q.largest.toPrecision(3)], ['root mean square', q.root_mean.toPrecision(3)],
          ['mean cosine', q.mean_cosine.toFixed(5)], ['least cosine', q.least_cosine.toFixed(5)]]);
    }
    if (sample && sample.queries.length) {
      const box = add(card(grid, 'Nearest neighbours', 'Among the ' + count(sample.rows) + ' sampled rows; near duplicates have a cosine of at least ' +
        sample.near_cosine, true), 'div', 'queries');
      for (const query of sample.queries) {
        const node = add(box, 'div', 'query');
        add(node, 'p', 'text', query.text || 'row ' + count(query.row));
        for (const hit of query.neighbours) {
          const line = add(node, 'div', 'hit');
          add(line, 'b', '', hit.cosine.toFixed(3));
          add(line, 'p', 'text soft', hit.text || 'row ' + count(hit.row));
        }
      }
    }
  }

  function drawFaults() {
    add(page, 'h2', '', 'Faults');
    const box = add(page, 'section', 'card');
    if (report.faults.length === 0) {
      add(box, 'p', 'soft', 'The record of faults is empty.');
      return;
    }
    table(box, ['#count', 'type', 'code', 'last', 'stream', 'action', 'message'], report.faults.map((f) =>
      [count(f.count), f.type, f.code, utc(f.time), f.stream, f.action, f.message]));
  }

  function drawConfig() {
    add(page, 'h2', '', 'Config');
    const box = add(page, 'details', 'card');
    add(box, 'summary', '', 'Every value and where it comes from');
    add(box, 'pre', '', report.config);
  }

  drawHead();
  drawStreams();
  drawTimeline();
  drawMap();
  report.streams.forEach(drawStream);
  drawFaults();
  drawConfig();
  const drawAll = () => drawings.forEach((draw) => draw());
  drawAll();
  dark.addEventListener('change', drawAll);
})();
