"use strict";
// Draws DATA, which the Rust side has worked out. Times are nanoseconds since the first event.
const began = performance.now();
const $ = (id) => document.getElementById(id);
const canvas = $("chart"), panel = $("panel"), search = $("search"), scroller = $("rows");
const paint = canvas.getContext("2d");
const polls = DATA.task.length;

// The columns come as differences where that is shorter.
const begin = new Float64Array(polls);
for (let i = 0, at = 0; i < polls; i++) begin[i] = at += DATA.begin[i];
const queueAt = [], queueLength = [];
for (let i = 0, at = 0; i < DATA.queue.length; i += 2) {
  queueAt.push(at += DATA.queue[i]);
  queueLength.push(DATA.queue[i + 1]);
}
const kernel = new Map(DATA.kernel.map(([poll, late, text]) => [poll, { late, text }]));
const ofLane = DATA.lanes.map(() => []), ofTask = DATA.tasks.map(() => []);
for (let i = 0; i < polls; i++) {
  ofLane[DATA.lane[i]].push(i);
  ofTask[DATA.task[i]].push(i);
}
const holdsOf = DATA.tasks.map(() => []), holdsOfThing = new Map();
for (const hold of DATA.holds) {
  if (hold[1] >= 0) holdsOf[hold[1]].push(hold);
  if (!holdsOfThing.has(hold[0])) holdsOfThing.set(hold[0], []);
  holdsOfThing.get(hold[0]).push(hold);
}
const sleepsOf = DATA.lanes.map((_, lane) => DATA.sleeps.filter((sleep) => sleep[0] === lane));
const longestQueue = queueLength.reduce((most, length) => Math.max(most, length), 1);

// The kinds of waits: a colour, how it is hatched, and what is waited for.
const WAITS = [["io", "/", "a socket or another descriptor"], ["timer", ".", "a timer"],
  ["join", "|", "the end of another task"], ["lock", "x", "a lock, or permits"],
  ["channel", "-", "a channel"], ["notify", "\\", "a Notify, a Barrier, a token"],
  ["unknown", "", "nothing that arc knows of"]];
const UNKNOWN = WAITS.length - 1;

// What is seen: a span of time, the tasks that were picked, the poll or the wait that was clicked.
const view = { from: 0, to: Math.max(1, DATA.span) };
let picked = [], chosen = -1, chosenWait = null, chain = [], matching = null, hover = -1;

// A model's schedule: the lane, the time and the text of each step, and which of them is shown.
const schedule = DATA.schedule, stepsOf = DATA.lanes.map((_, lane) => schedule.filter((step) => step[0] === lane));
let shownStep = -1;

const LABELS = 150, ROW = 26, GAP = 8, AXIS = 24;

function time(nanos) {
  const digits = (value) => value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0);
  if (nanos < 1e3) return `${nanos.toFixed(0)} ns`;
  if (nanos < 1e6) return `${digits(nanos / 1e3)} us`;
  if (nanos < 1e9) return `${digits(nanos / 1e6)} ms`;
  return `${digits(nanos / 1e9)} s`;
}

function label(task) {
  const [id, name, line, kind] = DATA.tasks[task];
  const text = `${["task", "job", "block_on"][kind]} ${id}`;
  const where = DATA.lines[line];
  return text + (name ? ` "${name}"` : "") + (where ? ` (${where})` : "");
}

/// What a task waited for between its polls: from when on, how long, the polls before and behind
/// it, and the numbers of the things. What is not known is not in the list.
const knownWaits = new Map();
function waitsOf(task) {
  if (knownWaits.has(task)) return knownWaits.get(task);
  const list = ofTask[task], [, , , , , until, , kept] = DATA.tasks[task], waits = [];
  const add = (from, to, before, next, things) => {
    if (to > from) waits.push({ task, from, time: to - from, before, next, things });
  };
  list.forEach((poll, i) => {
    const next = list[i + 1] ?? -1, to = next < 0 ? until : begin[next] - DATA.waited[next];
    if (DATA.waits[poll]) add(begin[poll] + DATA.time[poll], to, poll, next, DATA.waits[poll]);
  });
  if (kept) add(kept[0], until, list.at(-1) ?? -1, -1, kept[1]);
  knownWaits.set(task, waits);
  return waits;
}

function waitText(thing) {
  const [kind, text] = DATA.things[thing];
  if (kind !== 1) return text;
  return text > DATA.span ? `for a timer that is due ${time(text - DATA.span)} after the end`
    : `for a timer that was due at ${time(text)}`;
}

/// The kinds of what is waited for, each once.
function kindsOf(wait) {
  const kinds = [...new Set(wait.things.map((thing) => DATA.things[thing][0]))];
  return kinds.length ? kinds : [UNKNOWN];
}

// Rows, from the top: the workers and other threads, the kernel, the queues, the picked tasks.
function rows() {
  const all = DATA.lanes.map((name, lane) => ({ kind: "lane", name, lane }));
  all.sort((a, b) => DATA.ranks[a.lane] - DATA.ranks[b.lane]);
  const used = all.filter((row) => ofLane[row.lane].length || sleepsOf[row.lane].length || stepsOf[row.lane].length);
  used.push({ kind: "kernel", name: "the kernel" }, { kind: "queue", name: "tasks in queues" });
  for (const task of picked) used.push({ kind: "task", name: label(task), task });
  return used;
}

/// Where a row is in the canvas, now that others above it are scrolled away.
const yOfRow = (index) => AXIS + GAP + index * ROW - scroller.scrollTop;
/// As much of a text as has room. Squeezed letters cannot be read.
function fit(text, width) {
  if (paint.measureText(text).width <= width) return text;
  let least = 0, most = text.length;
  while (least < most) {
    const middle = (least + most + 1) >> 1;
    if (paint.measureText(text.slice(0, middle) + "…").width <= width) least = middle;
    else most = middle - 1;
  }
  return least ? text.slice(0, least) + "…" : "";
}

const x = (at, width) => LABELS + (at - view.from) / (view.to - view.from) * (width - LABELS);
const timeAt = (px, width) => view.from + (px - LABELS) / (width - LABELS) * (view.to - view.from);

/// The first index at which a growing list reaches a value.
function lowerBound(length, value, get) {
  let low = 0, high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (get(middle) < value) low = middle + 1; else high = middle;
  }
  return low;
}

let colors = {}, hatches = [];
function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["back", "text", "faint", "line", "poll", "job", "main", "long", "nothing",
    "sleep", "seat", "look", "queue", "chosen", "wait", ...WAITS.map(([name]) => name)]) {
    colors[name] = style.getPropertyValue(`--${name}`).trim();
  }
  hatches = WAITS.map(([name, lines]) => hatch(colors[name], lines));
}

/// A colour with lines in it, so that nobody need tell colours apart.
function hatch(color, lines) {
  const tile = document.createElement("canvas"), size = 8;
  tile.width = tile.height = size;
  const pen = tile.getContext("2d");
  pen.fillStyle = color;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = pen.fillStyle = colors.back;
  pen.lineWidth = 1.5;
  const from = { "/": [[0, 8, 8, 0]], "\\": [[0, 0, 8, 8]], x: [[0, 8, 8, 0], [0, 0, 8, 8]],
    "|": [[4, 0, 4, 8]], "-": [[0, 4, 8, 4]] };
  for (const [a, b, c, d] of from[lines] ?? []) {
    pen.beginPath();
    pen.moveTo(a, b);
    pen.lineTo(c, d);
    pen.stroke();
  }
  if (lines === ".") pen.fillRect(3, 3, 3, 3);
  return paint.createPattern(tile, "repeat");
}

function colorOf(poll) {
  if (DATA.flags[poll] & 41) return colors.long;
  if (DATA.flags[poll] & 2) return colors.nothing;
  return [colors.poll, colors.job, colors.main][DATA.tasks[DATA.task[poll]][3]];
}

/// A bar. What is narrower than a pixel is drawn once for each pixel.
function bars(list, beginOf, timeOf, width, draw) {
  const first = Math.max(0, lowerBound(list.length, view.from, (i) => beginOf(list[i])) - 1);
  let covered = -1;
  for (let i = first; i < list.length; i++) {
    const from = beginOf(list[i]);
    if (from > view.to) break;
    const left = Math.max(LABELS, x(from, width)), right = Math.min(width, x(from + timeOf(list[i]), width));
    if (right < LABELS || right < covered) continue;
    covered = Math.max(covered, left + 1);
    draw(list[i], left, Math.max(1, right - left));
  }
}

function drawPolls(list, y, width) {
  bars(list, (i) => begin[i], (i) => DATA.time[i], width, (poll, left, wide) => {
    paint.globalAlpha = matching && !matching.has(DATA.task[poll]) ? 0.18 : 1;
    paint.fillStyle = colorOf(poll);
    paint.fillRect(left, y, wide, ROW - 8);
    if (wide > 60) {
      const [id, name] = DATA.tasks[DATA.task[poll]];
      paint.fillStyle = colors.back;
      paint.fillText(fit(String(name || id), wide - 8), left + 4, y + 13);
    }
  });
  paint.globalAlpha = 1;
}

/// How many tasks were in queues in the time of each pixel: at most, and on average.
function queueOf(width) {
  const most = new Float64Array(width), mean = new Float64Array(width);
  const each = (view.to - view.from) / (width - LABELS);
  let i = Math.max(0, lowerBound(queueAt.length, view.from, (at) => queueAt[at]) - 1);
  for (; i < queueAt.length && queueAt[i] <= view.to; i++) {
    const from = Math.max(queueAt[i], view.from), to = Math.min(queueAt[i + 1] ?? DATA.span, view.to);
    if (!queueLength[i] || to < from) continue;
    const last = Math.min(width - 1, Math.floor(x(to, width)));
    for (let pixel = Math.floor(x(from, width)); pixel <= last; pixel++) {
      const begins = timeAt(pixel, width), ends = timeAt(pixel + 1, width);
      const part = Math.min(to, ends) - Math.max(from, begins);
      if (part < 0 || (part === 0 && to > from)) continue;
      most[pixel] = Math.max(most[pixel], queueLength[i]);
      mean[pixel] += queueLength[i] * part / each;
    }
  }
  return { most, mean };
}

const draws = {
  lane(row, y, width) {
    bars(sleepsOf[row.lane], (s) => s[1], (s) => s[2], width, (sleep, left, wide) => {
      paint.fillStyle = sleep[3] ? colors.seat : colors.sleep;
      paint.fillRect(left, y + 5, wide, ROW - 18);
    });
    drawPolls(ofLane[row.lane], y, width);
    bars(stepsOf[row.lane], (s) => s[1], () => 1000, width, (_, left, wide) => {
      paint.fillStyle = colors.look;
      paint.fillRect(left, y + ROW - 7, Math.max(1, wide - 1), 3);
    });
  },
  kernel(_, y, width) {
    bars(DATA.looks, (l) => l[1], (l) => l[2], width, (look, left, wide) => {
      paint.fillStyle = look[3] ? colors.seat : colors.look;
      paint.fillRect(left, y + 3, wide, ROW - 14);
      if (look[4]) {
        paint.fillStyle = colors.look;
        paint.fillRect(left + wide - 1, y, 2, ROW - 8);
      }
    });
  },
  queue(_, y, width) {
    const { most, mean } = queueOf(width), high = (ROW - 6) / longestQueue, bottom = y + ROW - 6;
    paint.fillStyle = colors.queue;
    for (let from = LABELS, to; from < width; from = to) {
      to = from + 1;
      while (to < width && most[to] === most[from] && mean[to] === mean[from]) to++;
      if (!most[from]) continue;
      // Faint: the most that there were. Solid: how many there were on average.
      paint.globalAlpha = 0.3;
      paint.fillRect(from, bottom - high * most[from], to - from, high * most[from]);
      paint.globalAlpha = 1;
      paint.fillRect(from, bottom - high * mean[from], to - from, high * mean[from]);
    }
  },
  task(row, y, width) {
    const list = ofTask[row.task], [, , , , , until, isQueued] = DATA.tasks[row.task];
    bars(waitsOf(row.task), (w) => w.from, (w) => w.time, width, (wait, left, wide) => {
      const kinds = kindsOf(wait), high = (ROW - 14) / kinds.length;
      kinds.forEach((kind, i) => {
        paint.fillStyle = hatches[kind];
        paint.fillRect(left, y + 2 + i * high, wide, high);
      });
      if (wait === chosenWait) {
        paint.strokeStyle = colors.chosen;
        paint.strokeRect(left, y + 1, wide, ROW - 12);
      }
    });
    paint.fillStyle = colors.lock;
    bars(holdsOf[row.task], (h) => h[3], (h) => h[4], width, (_, left, wide) => {
      paint.fillRect(left, y + ROW - 7, wide, 3);
    });
    if (isQueued) bars([until], (at) => at, (at) => DATA.span - at, width, (_, left, wide) => {
      paint.fillStyle = colors.wait;
      paint.fillRect(left, y + 5, wide, ROW - 18);
    });
    bars(list, (i) => begin[i] - DATA.waited[i], (i) => DATA.waited[i], width, (_, left, wide) => {
      paint.fillStyle = colors.wait;
      paint.fillRect(left, y + 5, wide, ROW - 18);
    });
    drawPolls(list, y, width);
  },
};

function drawAxis(width, height) {
  const target = (view.to - view.from) / Math.max(2, (width - LABELS) / 110);
  const power = 10 ** Math.floor(Math.log10(target));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= target);
  paint.strokeStyle = colors.line;
  paint.fillStyle = colors.faint;
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const left = Math.round(x(at, width)) + 0.5;
    paint.beginPath();
    paint.moveTo(left, AXIS);
    paint.lineTo(left, height);
    paint.stroke();
    paint.fillText(time(at), left + 3, 15);
  }
}

/// The polls of the chain, with lines from the one that woke to the one that was woken.
function drawChain(width, shown) {
  const yOf = (poll) => {
    const index = shown.findIndex((row) => row.kind === "lane" && row.lane === DATA.lane[poll]);
    return yOfRow(index);
  };
  paint.strokeStyle = colors.chosen;
  paint.lineWidth = 1.5;
  chain.forEach((poll, index) => {
    const left = x(begin[poll], width), y = yOf(poll);
    const right = Math.max(left + 2, x(begin[poll] + DATA.time[poll], width));
    if (right > LABELS) paint.strokeRect(Math.max(LABELS, left), y - 1, right - Math.max(LABELS, left), ROW - 6);
    if (index + 1 < chain.length) {
      const woken = x(begin[poll] - DATA.waited[poll], width);
      paint.beginPath();
      paint.moveTo(Math.max(LABELS, woken), yOf(chain[index + 1]) + ROW / 2 - 4);
      paint.lineTo(Math.max(LABELS, left), y + ROW / 2 - 4);
      paint.stroke();
    }
  });
  paint.lineWidth = 1;
}

let waitsForFrame = false;
function draw() {
  if (waitsForFrame) return;
  waitsForFrame = true;
  requestAnimationFrame(drawNow);
}

function drawNow() {
  waitsForFrame = false;
  const shown = rows(), scale = window.devicePixelRatio || 1;
  const height = scroller.clientHeight;
  canvas.style.height = `${height}px`;
  // Below the canvas is as much as the rows are higher than it. A scroll bar takes of the width.
  $("more").style.height = `${Math.max(0, AXIS + 2 * GAP + shown.length * ROW - height)}px`;
  const width = scroller.clientWidth;
  canvas.style.width = `${width}px`;
  canvas.width = Math.max(1, width * scale);
  canvas.height = Math.max(1, height * scale);
  paint.setTransform(scale, 0, 0, scale, 0, 0);
  paint.font = "12px system-ui, sans-serif";
  paint.fillStyle = colors.back;
  paint.fillRect(0, 0, width, height);
  drawAxis(width, height);

  paint.beginPath();
  paint.rect(0, AXIS, width, height - AXIS);
  paint.clip(); // until the canvas is given its size again
  shown.forEach((row, index) => {
    const y = yOfRow(index);
    if (y + ROW < AXIS || y > height) return;
    paint.fillStyle = colors.text;
    paint.fillText(fit(row.name, LABELS - 14), 8, y + 13);
    draws[row.kind](row, y, width);
  });
  drawChain(width, shown);
  drawStep(width, height);
}

/// The step of a model that is shown: a line through all rows.
function drawStep(width, height) {
  if (shownStep < 0) return;
  const left = x(schedule[shownStep][1] + 500, width);
  if (left < LABELS) return;
  paint.strokeStyle = colors.chosen;
  paint.beginPath();
  paint.moveTo(left, AXIS);
  paint.lineTo(left, height);
  paint.stroke();
}

/// The chain of causes: this poll, the one that woke its task, and so on.
function chainOf(poll) {
  const polls = [];
  while (poll >= 0 && polls.length < 8 && !polls.includes(poll)) {
    polls.push(poll);
    poll = DATA.by[poll];
  }
  return polls;
}

function queueText(poll) {
  const place = DATA.place[poll];
  const where = place === -1 ? "in the injector" : place === -2 ? "for a thread of the blocking pool"
    : `in the queue of ${DATA.lanes[place]}`;
  const behind = DATA.behind[poll];
  if (!behind) return `${where}; no poll was under way there`;
  const [count, total, longest] = behind;
  return `${where}, behind ${count} poll${count > 1 ? "s" : ""} (${time(total)}), the longest of ` +
    `${label(DATA.task[longest])}: ${time(DATA.time[longest])}`;
}

/// The parts of the time from the first cause to the end of a poll, the first cause first.
function why(poll) {
  const links = [];
  let until = begin[poll] + DATA.time[poll];
  for (const link of chainOf(poll)) {
    links.push(["poll", until - begin[link], `${label(DATA.task[link])} was polled on ${DATA.lanes[DATA.lane[link]]}`, link]);
    if (DATA.place[link] === -3) break;
    links.push(["queue", DATA.waited[link], `it waited ${queueText(link)}`, link]);
    until = begin[link] - DATA.waited[link];
    const by = DATA.by[link];
    if (by === -1) {
      const told = kernel.get(link);
      if (told) links.push(["kernel", told.late, told.text, link]);
    } else if (by <= -3) {
      links.push(["kernel", 0, `it was woken or spawned by ${DATA.lanes[-3 - by]}`, link]);
    }
  }
  return links.reverse();
}

function element(kind, text, style) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (style) made.className = style;
  return made;
}

/// A line of the panel with a coloured edge, which leads somewhere.
function linked(text, act, kind = "") {
  const made = element("button", text, `link ${kind}`);
  made.onclick = act;
  return made;
}

function button(text, act) {
  const made = element("button", text, "row");
  made.onclick = act;
  return made;
}

/// A step of a model, with those before and behind it.
function showStep(index) {
  shownStep = Math.max(0, Math.min(index, schedule.length - 1));
  const at = schedule[shownStep][1];
  if (at < view.from || at > view.to) {
    const half = (view.to - view.from) / 2;
    zoomTo(at - half, at + half);
  }
  panel.replaceChildren(element("h2", `Step ${shownStep + 1} of ${schedule.length}`));
  for (let i = Math.max(0, shownStep - 8); i < Math.min(schedule.length, shownStep + 9); i++) {
    const [lane, , text] = schedule[i];
    const row = button(`${i + 1}  ${DATA.lanes[lane]} ${text}`, () => showStep(i));
    if (i === shownStep) row.id = "shown-step";
    panel.append(row);
  }
  panel.append(button("back to what stands out", () => { shownStep = -1; choose(-1); }));
  draw();
}

function showFindings() {
  panel.replaceChildren();
  if (schedule.length) {
    panel.append(element("h2", `A model, of ${schedule.length} steps: 1 us is one of them`),
      button("show the last step  ( . , )", () => showStep(schedule.length - 1)));
  }
  panel.append(element("h2", "What stands out"));
  if (!DATA.findings.length) panel.append(element("p", "Nothing does."));
  DATA.findings.forEach(([poll, at, cost, text], index) => {
    const row = button(`${cost ? `${time(cost)}, from ${time(at)} on` : `at ${time(at)}`}: ${text}`, () => {
      zoomTo(at - cost * 0.2, at + cost * 1.3 + 1000);
      if (poll < 0) return;
      const isAt = (wait) => wait.from <= at && at < wait.from + wait.time;
      const wait = waitsOf(DATA.task[poll]).find(isAt);
      if (wait) chooseWait(wait); else choose(poll);
    });
    row.id = `finding-${index}`;
    panel.append(row);
  });
  showLegend();
}

function showLegend() {
  const legend = (title, entries) => {
    panel.append(element("h2", title));
    for (const [fill, text] of entries) {
      const row = element("p", "", "swatch"), swatch = element("canvas", "");
      [swatch.width, swatch.height] = [28, 12];
      const pen = swatch.getContext("2d");
      pen.fillStyle = fill;
      pen.fillRect(0, 0, 28, 12);
      row.append(swatch, text);
      panel.append(row);
    }
  };
  legend("Colours", [["poll", "a poll"], ["long", "longer than 10 ms, not ended, or panicked"],
    ["nothing", "it did nothing, and waits for the same again"], ["job", "a job of spawn_blocking"],
    ["main", "the future of a block_on"], ["seat", "the worker waits for the kernel"],
    ["sleep", "the worker is parked"],
    ["look", "a look at the kernel without waiting, or what it reported"],
    ["queue", "how many tasks wait in queues, on average; faint: at most"]].map(([name, text]) => [colors[name], text]));
  legend("In the row of a task, it waits", [[colors.wait, "in a queue"],
    ...WAITS.map(([, , text], kind) => [hatches[kind], `for ${text}`])]);
  panel.append(element("p", "The line below is as long as the task has a lock or a permit."));
}

function showPoll(poll) {
  const task = DATA.task[poll], waits = DATA.tasks[task][4], flags = DATA.flags[poll];
  const links = why(poll);
  const total = links.reduce((sum, link) => sum + link[1], 0) || 1;
  panel.replaceChildren(element("h2", "Why did it run then?"), element("p", label(task)));
  for (const [kind, took, text, link] of links) {
    const row = linked("", () => choose(link), kind);
    row.append(element("b", `${(100 * took / total).toFixed(0)} %  ${time(took)}  `), text);
    panel.append(row);
  }
  if (flags & 2) panel.append(element("p", "This poll did nothing, and the task waits for the same again."));
  if (flags & 8) panel.append(element("p", "This poll has not ended."));
  if (flags & 32) panel.append(element("p", "The task panicked in this poll."));
  if (flags & 16) panel.append(element("p", "The task used up its budget, and let others run."));
  if (waits) panel.append(element("p", `At the end it waits ${waits}.`));
  showRowButtons(task, () => choose(poll));
}

function showRowButtons(task, again) {
  const is = picked.includes(task);
  panel.append(button(is ? "take its row away" : "give the task a row", () => {
    if (is) chosenWait = null;
    picked = is ? picked.filter((other) => other !== task) : [...picked, task];
    again();
  }), button("back to what stands out", () => choose(-1)));
}

/// What a wait was for, who had that meanwhile, and how it ended.
function showWait(wait) {
  const { task, from, time: took, next, things } = wait;
  const first = things.length > 1 ? " for whatever comes first:" : "";
  panel.replaceChildren(element("h2", "What did it wait for?"), element("p", label(task)),
    element("p", `It waited ${time(took)}, from ${time(from)} on,${first}`));
  for (const thing of things) {
    const [kind, , resource] = DATA.things[thing], row = element("p", waitText(thing), "link");
    row.style.borderColor = colors[WAITS[kind][0]];
    panel.append(row);
    showHolders(resource, from, from + took);
  }
  if (!things.length) panel.append(element("p",
    "for nothing that arc knows of: a lock, a channel or a future of another library.", "link"));
  if (next >= 0) {
    const by = DATA.by[next], told = kernel.get(next);
    const ended = by >= 0 ? `${label(DATA.task[by])} woke it` : told ? told.text
      : by <= -3 ? `${DATA.lanes[-3 - by]} woke it` : "it was polled again";
    panel.append(element("p", "Then"), linked(ended, () => choose(by >= 0 ? by : next)),
      button("the poll after it  ( n )", () => choose(next)));
  } else if (!DATA.tasks[task][6]) panel.append(element("p", "Nobody has woken it."));
  showRowButtons(task, () => choose(wait.before));
}

/// Who had a lock between two times. A click gives that task a row, and shows how it got the lock.
function showHolders(resource, from, to) {
  const overlap = ([, , , at, took]) => Math.min(to, at + took) - Math.max(from, at);
  const all = (holdsOfThing.get(resource) ?? []).filter((hold) => overlap(hold) > 0);
  all.sort((a, b) => overlap(b) - overlap(a));
  for (const [, task, line, at, took, goesOn] of all.slice(0, 5)) {
    const who = task < 0 ? "a thread" : label(task), since = line < 0 ? "" : `, since ${DATA.holdLines[line]}`;
    panel.append(linked(`${who} ${goesOn ? "has had" : "had"} it for ${time(took)}${since}`, () => {
      if (task < 0) return;
      if (!picked.includes(task)) picked.push(task);
      const list = ofTask[task], past = lowerBound(list.length, at + 1, (i) => begin[list[i]]);
      if (list.length) choose(list[Math.max(0, past - 1)]);
    }));
  }
  if (all.length > 5) panel.append(element("p", `and ${all.length - 5} more had it meanwhile`));
}

function chooseWait(wait) {
  if (!picked.includes(wait.task)) picked.push(wait.task);
  [chosen, chain, chosenWait] = [-1, [], wait];
  revealRow((row) => row.kind === "task" && row.task === wait.task);
  showWait(wait);
  draw();
}

function choose(poll) {
  [chosen, chosenWait] = [poll, null];
  chain = poll < 0 ? [] : chainOf(poll);
  if (poll >= 0) reveal(poll);
  if (poll < 0) showFindings(); else showPoll(poll);
  draw();
}

/// Scrolls, if the row of a poll's thread is not seen.
function reveal(poll) {
  revealRow((row) => row.kind === "lane" && row.lane === DATA.lane[poll]);
}

function revealRow(isIt) {
  const index = rows().findIndex(isIt);
  const y = yOfRow(index), last = scroller.clientHeight - ROW;
  if (y < AXIS + GAP) scroller.scrollTop += y - AXIS - GAP;
  else if (y > last) scroller.scrollTop += y - last;
}

function showMatches() {
  const text = search.value.trim().toLowerCase();
  matching = null;
  if (text) {
    matching = new Set();
    DATA.tasks.forEach((_, task) => {
      if (label(task).toLowerCase().includes(text)) matching.add(task);
    });
    panel.replaceChildren(element("h2", `${matching.size} tasks match`));
    for (const task of [...matching].slice(0, 50)) {
      panel.append(button(`${label(task)}: ${ofTask[task].length} polls`, () => {
        if (!picked.includes(task)) picked.push(task);
        if (ofTask[task].length) choose(ofTask[task][0]);
        draw();
      }));
    }
  } else {
    choose(chosen);
  }
  draw();
}

function zoomTo(from, to) {
  const least = 200;
  const middle = (from + to) / 2, half = Math.max(least, to - from) / 2;
  const width = Math.min(2 * half, DATA.span || 1);
  view.from = Math.max(0, Math.min(middle - width / 2, DATA.span - width));
  view.to = view.from + width;
  draw();
}

function zoomAt(at, factor) {
  zoomTo(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function move(share) {
  const by = (view.to - view.from) * share;
  zoomTo(view.from + by, view.to + by);
}

/// The row under the mouse, and the time there.
function placeAt(event) {
  const box = canvas.getBoundingClientRect();
  const y = event.clientY - box.top;
  const row = y < AXIS ? null : rows()[Math.floor((y - yOfRow(0)) / ROW)];
  return { box, row, at: timeAt(event.clientX - box.left, box.width) };
}

/// The wait under the mouse, if there is one.
function waitAt(event) {
  const { row, at } = placeAt(event);
  if (row?.kind !== "task") return undefined;
  return waitsOf(row.task).find((wait) => wait.from <= at && at <= wait.from + wait.time);
}

/// Chooses what is under the mouse or the finger.
function chooseAt(event) {
  const poll = pollAt(event), wait = poll < 0 && waitAt(event);
  if (wait) chooseWait(wait); else choose(poll);
}

/// The poll under the mouse, or -1.
function pollAt(event) {
  const { box, row, at } = placeAt(event);
  const list = row?.kind === "lane" ? ofLane[row.lane] : row?.kind === "task" ? ofTask[row.task] : [];
  const slack = timeAt(3, box.width) - timeAt(0, box.width);
  let best = -1, nearest = Infinity;
  const near = lowerBound(list.length, at + slack, (i) => begin[list[i]]);
  for (let i = near - 1; i >= Math.max(0, near - 50); i--) {
    const from = begin[list[i]], to = from + DATA.time[list[i]];
    const far = at < from ? from - at : at > to ? at - to : 0;
    if (far <= slack && far < nearest) [best, nearest] = [list[i], far];
  }
  return best;
}

canvas.addEventListener("wheel", (event) => {
  const box = canvas.getBoundingClientRect();
  // Over the names, it scrolls as everywhere else.
  if (event.clientX - box.left < LABELS && !event.ctrlKey) return;
  event.preventDefault();
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    move((event.deltaX || event.deltaY) / box.width);
  } else {
    zoomAt(timeAt(event.clientX - box.left, box.width), 1.0015 ** event.deltaY);
  }
}, { passive: false });

let drag = null;
canvas.addEventListener("mousedown", (event) => {
  drag = { x: event.clientX, y: event.clientY, moved: false };
});
window.addEventListener("mousemove", (event) => {
  if (drag) {
    const by = event.clientX - drag.x, down = event.clientY - drag.y;
    if (Math.abs(by) > 2 || Math.abs(down) > 2 || drag.moved) {
      drag = { x: event.clientX, y: event.clientY, moved: true };
      scroller.scrollTop -= down;
      move(-by / Math.max(1, canvas.clientWidth - LABELS));
    }
  } else if (event.target === canvas) {
    const poll = pollAt(event), under = poll < 0 ? waitAt(event) ?? -1 : poll;
    if (under === hover) return;
    hover = under;
    $("under").textContent = under === -1 ? ""
      : poll < 0 ? `${label(under.task)} waited ${time(under.time)}`
        : `${label(DATA.task[poll])}: ${time(DATA.time[poll])}, after ${time(DATA.waited[poll])} in a queue`;
  }
});
window.addEventListener("mouseup", (event) => {
  const wasClick = drag && !drag.moved;
  drag = null;
  if (wasClick && event.target === canvas) chooseAt(event);
});

/// Fingers: one moves and, if it does not, chooses; two zoom to where they are.
let fingers = null;
function touched(event) {
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  const at = [...event.touches].map((touch) => touch.clientX - box.left);
  const far = at.length > 1 ? Math.max(20, Math.abs(at[0] - at[1])) : 0;
  const middle = at.length > 1 ? (at[0] + at[1]) / 2 : at[0];
  const first = event.touches[0];
  if (event.type === "touchmove" && fingers && fingers.count === at.length) {
    const by = middle - fingers.middle, down = first.clientY - fingers.y;
    if (!fingers.moved && at.length === 1 && Math.abs(by) + Math.abs(down) < 8) return;
    scroller.scrollTop -= at.length > 1 ? 0 : down;
    move(-by / Math.max(1, canvas.clientWidth - LABELS));
    if (far) zoomAt(timeAt(middle, box.width), fingers.far / far);
    fingers = { ...fingers, middle, far, y: first.clientY, moved: true };
  } else if (event.type === "touchend" && !at.length) {
    if (fingers && !fingers.moved) chooseAt(event.changedTouches[0]);
    fingers = null;
  } else if (at.length) {
    fingers = { count: at.length, middle, far, y: first.clientY, moved: event.type !== "touchstart" || at.length > 1 };
  }
}
for (const kind of ["touchstart", "touchmove", "touchend"]) {
  canvas.addEventListener(kind, touched, { passive: false });
}
canvas.addEventListener("touchcancel", () => { fingers = null; });

/// Moves what is seen, if a time is not in it.
function bring(at) {
  const half = (view.to - view.from) / 2;
  if (at < view.from || at > view.to) zoomTo(at - half, at + half);
}

/// The task's next or previous poll, from a poll or from a wait.
function step(by) {
  if (chosen < 0 && !chosenWait) return;
  const list = chosenWait ? [] : ofTask[DATA.task[chosen]];
  const next = chosenWait ? (by > 0 ? chosenWait.next : chosenWait.before) : list[list.indexOf(chosen) + by] ?? -1;
  if (next < 0) return;
  bring(begin[next]);
  choose(next);
}

/// Its next or previous wait, likewise.
function stepWait(by) {
  if (chosen < 0 && !chosenWait) return;
  const list = waitsOf(chosenWait ? chosenWait.task : DATA.task[chosen]);
  const next = chosenWait ? list[list.indexOf(chosenWait) + by]
    : by > 0 ? list.find((wait) => wait.from >= begin[chosen]) : list.findLast((wait) => wait.from < begin[chosen]);
  if (!next) return;
  bring(next.from);
  chooseWait(next);
}

function stepTo(index) {
  if (schedule.length) showStep(index);
}

window.addEventListener("keydown", (event) => {
  if (event.target === search && event.key !== "Escape") return;
  const middle = (view.from + view.to) / 2;
  const keys = {
    ArrowUp: () => { scroller.scrollTop -= 2 * ROW; }, ArrowDown: () => { scroller.scrollTop += 2 * ROW; },
    ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), a: () => move(-0.2), d: () => move(0.2),
    "+": () => zoomAt(middle, 0.7), "=": () => zoomAt(middle, 0.7), w: () => zoomAt(middle, 0.7),
    "-": () => zoomAt(middle, 1 / 0.7), s: () => zoomAt(middle, 1 / 0.7),
    0: () => zoomTo(0, DATA.span), n: () => step(1), p: () => step(-1),
    N: () => stepWait(1), P: () => stepWait(-1),
    Escape: () => { search.value = ""; matching = null; search.blur(); choose(-1); },
    "/": () => search.focus(),
    ".": () => stepTo(shownStep + 1), ",": () => stepTo(shownStep < 0 ? schedule.length - 1 : shownStep - 1),
  };
  if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
  // These scroll the panel, where it has the focus.
  if (/Up|Down/.test(event.key) && panel.contains(document.activeElement)) return;
  event.preventDefault();
  keys[event.key]();
});

search.addEventListener("input", showMatches);
$("all").onclick = () => zoomTo(0, DATA.span);
$("theme").onclick = () => setTheme(document.documentElement.dataset.theme !== "dark");
window.addEventListener("resize", draw);
scroller.addEventListener("scroll", draw);

function setTheme(isDark) {
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  readColors();
  if (chosen < 0 && !chosenWait && !search.value) showFindings();
  draw();
}

const left = DATA.leftOut ? `, and ${DATA.leftOut} older ones were left out` : "";
$("about").textContent = `${time(DATA.span)}, ${DATA.events} events${left}`;
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
choose(-1);
drawNow();
document.body.dataset.opened = (performance.now() - began).toFixed(0);
