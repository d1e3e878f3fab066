// The page of `gridlock explore`. It keeps the walk: `path` is a list of moves from the initial state, `at` how many of
// them have been gone; `repeats` is the step from which it goes round for ever, if it is such a run. Whatever is shown is asked for with both; nothing is shown of an answer that came too late.
"use strict";

const $ = (id) => document.getElementById(id);
const KEY = "walk " + location.pathname;

let path = [];
let at = 0;
let repeats = null;
let actions = [];
let turn = 0;
// What the chart shows: the walk it was drawn for, and which of its steps.
let drawn = { of: null, from: 0, to: 0 };
let longest = Infinity;
// More processes than this get a box with a scroll bar.
const MANY = 12;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function note(text, bad) {
  $("note").hidden = !text;
  $("note").classList.toggle("bad", Boolean(bad));
  $("note-text").textContent = text || "";
}

async function ask(about, body) {
  let answer;
  try {
    answer = await fetch(about, body === undefined ? {} : { method: "POST", body });
  } catch {
    throw new Error("The server does not answer: has gridlock been ended?");
  }
  if (!answer.ok) throw new Error(await answer.text());
  const reply = await answer.json();
  if (reply.error) throw new Error(reply.error);
  return reply;
}

const counted = (n, noun) => n.toLocaleString("en") + " " + noun + (n === 1 ? "" : "s");

// Goes to a place; stays where it was if that is not possible.
async function go(newPath, newAt, filter, newRepeats = newPath === path ? repeats : null) {
  const mine = ++turn;
  const place = {
    path: newPath, at: newAt, filter: filter === undefined ? $("filter").value : filter, repeats_from: newRepeats,
  };
  const body = JSON.stringify(place);
  const key = JSON.stringify([newPath, newRepeats]);
  // Steps beyond the middle of a long history are drawn when one comes near.
  const inside = (newAt > drawn.from || drawn.from === 0) && newAt <= drawn.to;
  const redraw = drawn.of !== key || !inside;
  try {
    const [view, chart] = await Promise.all([ask("look", body), redraw ? ask("chart", body) : null]);
    if (mine !== turn) return;
    if (newPath !== path || newAt !== at) note("");
    path = newPath;
    at = newAt;
    repeats = newRepeats;
    if (filter !== undefined) $("filter").value = filter;
    show(view);
    if (chart) draw(chart, key);
    mark();
    remember();
    document.body.dataset.shown = String(turn);
  } catch (e) {
    if (mine === turn) note(e.message, true);
  }
}

function remember() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ path, at, repeats }));
  } catch {
    // Without it a reload begins anew.
  }
}

function show(view) {
  const round = repeats ? `, repeats from step ${repeats.toLocaleString("en")}` : "";
  $("position").textContent = `step ${at.toLocaleString("en")} of ${path.length.toLocaleString("en")}${round}`;
  $("first").disabled = $("back").disabled = at === 0;
  $("last").disabled = at === path.length;
  $("forward").disabled = at === path.length && !repeats;
  $("save").disabled = path.length === 0;
  showLeaves(view);
  showActions(view);
}

function showLeaves(view) {
  const cards = view.leaves.map((leaf) => {
    const card = element("article", "leaf" + (leaf.changed ? " changed" : ""));
    card.dataset.name = leaf.name;
    card.append(element("div", "name", leaf.name));
    const head = element("div", "head mono", leaf.head === null ? leaf.state : leaf.head);
    head.title = leaf.state;
    card.append(head);
    if (leaf.values.length > 0) {
      const table = element("table", "mono");
      for (const value of leaf.values) {
        const row = table.insertRow();
        row.insertCell().textContent = value.name;
        const cell = row.insertCell();
        cell.append(element("span", value.changed ? "new" : "", value.value));
      }
      card.append(table);
    }
    if (leaf.source) {
      const source = element("code", "source", leaf.source);
      source.title = leaf.source;
      card.append(source);
    }
    return card;
  });
  if (view.more_leaves > 0) cards.push(element("p", "faint", `… and ${view.more_leaves.toLocaleString("en")} more`));
  const box = $("leaves");
  box.classList.toggle("many", cards.length > MANY);
  box.replaceChildren(...cards);
  if (cards.length > MANY) reveal(box.querySelector(".changed"));
}

// Scrolls the box of the processes, and nothing else, until a card can be seen.
function reveal(card) {
  if (!card) return;
  const box = $("leaves"), frame = box.getBoundingClientRect(), place = card.getBoundingClientRect();
  if (place.top < frame.top || place.bottom > frame.bottom) box.scrollTop += place.top - frame.top - 4;
}

function showActions(view) {
  const groups = new Map();
  for (const action of view.actions) {
    const who = action.leaves.map((part) => part.name).join("  ·  ");
    if (!groups.has(who)) groups.set(who, []);
    groups.get(who).push(action);
  }
  actions = [...groups.values()].flat();
  const shown = [];
  let number = 0;
  for (const [who, members] of groups) {
    shown.push(element("div", "group", who));
    for (const action of members) shown.push(actionButton(action, ++number));
  }
  if (view.possible === 0) {
    shown.push(element("p", "stuck", "No action is possible: this is a deadlock."));
    shown.push(...whyStuck(view.stuck));
  } else if (view.passing === 0) {
    shown.push(element("p", "empty", "None of them passes the filter."));
  } else if (view.passing > view.actions.length) {
    const more = (view.passing - view.actions.length).toLocaleString("en");
    shown.push(element("p", "faint", `… and ${more} more; the filter narrows them down`));
  }
  $("actions").replaceChildren(...shown);
  $("count").textContent = view.passing === view.possible ? `(${view.possible.toLocaleString("en")})`
    : `(${view.passing.toLocaleString("en")} of ${view.possible.toLocaleString("en")})`;
  $("random").disabled = !actions.some((action) => !action.fault);
}

// What each process offers, and why that does not happen; a remedy that helps several processes is given once.
function whyStuck(processes) {
  const shown = [], remedies = new Set();
  for (const process of processes) {
    shown.push(element("div", "group", process.name));
    for (const offer of process.offers) {
      shown.push(element("p", "why", `offers ${offer.action}: ${offer.why}`));
      if (offer.remedy) remedies.add(offer.remedy);
    }
    if (process.offers.length === 0) shown.push(element("p", "why", "offers nothing"));
    if (process.more_offers > 0) shown.push(element("p", "why", `and ${process.more_offers} more`));
  }
  for (const remedy of remedies) shown.push(element("p", "why", `Help: ${remedy}`));
  return shown;
}

function actionButton(action, number) {
  const button = element("button", "action");
  button.dataset.number = String(number);
  button.classList.toggle("hidden", action.unhidden !== undefined);
  button.classList.toggle("fault", action.fault);
  const next = path[at];
  button.classList.toggle("next", Boolean(next) && next[0] === action.move[0] && next[1] === action.move[1]);
  const badge = element("span", "number");
  if (number <= 9) badge.append(element("kbd", "", String(number)));
  else badge.textContent = String(number);
  const label = action.unhidden === undefined ? action.label : `${action.label} [${action.unhidden}]`;
  button.append(badge, element("span", "label mono", label));
  if (action.fault) {
    button.append(element("span", "parts", "the specification has no meaning here"));
  } else {
    // What each contributes, unless the label says it; and where it goes.
    const whole = action.unhidden === undefined ? action.label : action.unhidden;
    const parts = action.leaves.map((part) =>
      (action.leaves.length === 1 && part.action === whole ? "" : `${part.name}: ${part.action} `) + `→ ${part.state}`);
    button.append(element("span", "parts mono", parts.join("\n")));
  }
  button.addEventListener("click", () => take(action));
  const names = action.leaves.map((part) => part.name);
  for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) {
    button.addEventListener(event, () => involve(on ? names : []));
  }
  return button;
}

function involve(names) {
  for (const card of document.querySelectorAll(".leaf")) {
    card.classList.toggle("involved", names.includes(card.dataset.name));
  }
  if ($("leaves").classList.contains("many")) reveal(document.querySelector(".leaf.involved"));
}

function take(action) {
  if (!action) return;
  if (action.fault) {
    note("The specification has no meaning here: " + action.label, true);
    return;
  }
  if (at >= longest) {
    note(`A walk has at most ${counted(longest, "step")}.`, true);
    return;
  }
  const next = path[at];
  const same = next && next[0] === action.move[0] && next[1] === action.move[1];
  go(same ? path : [...path.slice(0, at), action.move], at + 1, "");
}

function draw(chart, key) {
  drawn = { of: key, from: chart.from, to: chart.to };
  if (path.length === 0) {
    $("chart").replaceChildren(element("p", "empty", "No steps yet: choose an action, or open a saved trace."));
    $("window").textContent = "";
    return;
  }
  const svg = document.importNode(new DOMParser().parseFromString(chart.svg, "image/svg+xml").documentElement, true);
  // As wide as there is room for, as long as it can still be read.
  const width = Number(svg.getAttribute("width"));
  const fitting = Math.min(width, Math.max($("chart").clientWidth, width * 0.75));
  svg.setAttribute("height", String(Math.round((Number(svg.getAttribute("height")) * fitting) / width)));
  svg.setAttribute("width", String(Math.round(fitting)));
  // Rounded sizes must not shift it: the names are drawn once more, above the same lines.
  svg.setAttribute("preserveAspectRatio", "none");
  $("chart").replaceChildren(namesOf(svg), svg);
  $("window").textContent = chart.to - chart.from < path.length
    ? `steps ${(chart.from + 1).toLocaleString("en")} to ${chart.to.toLocaleString("en")} of ${path.length.toLocaleString("en")}` : "";
}

// The names above the lifelines once more, as a part that stays when the chart scrolls down.
function namesOf(svg) {
  const names = svg.cloneNode(false);
  const heads = [...svg.querySelectorAll(":scope > g:not(.at)")];
  const top = Math.min(...heads.map((head) => Number(head.querySelector("rect").getAttribute("y"))));
  names.append(...heads.filter((head) => Number(head.querySelector("rect").getAttribute("y")) === top)
    .map((head) => head.cloneNode(true)));
  const box = svg.viewBox.baseVal, height = 2 * top + Number(heads[0].querySelector("rect").getAttribute("height"));
  names.setAttribute("viewBox", `0 0 ${box.width} ${height}`);
  names.setAttribute("height", String(Math.round((height * Number(svg.getAttribute("width"))) / box.width)));
  const holder = element("div");
  holder.id = "names";
  holder.append(names);
  return holder;
}

// Shows in the chart which step was the last.
function mark() {
  let current = null;
  for (const row of document.querySelectorAll("#chart .at")) {
    const step = Number(row.dataset.step);
    row.classList.toggle("current", step === at);
    row.classList.toggle("ahead", step > at);
    if (step === at) current = row;
  }
  const box = $("chart");
  if (!current) {
    box.scrollTop = 0;
    return;
  }
  const row = current.querySelector(".row").getBoundingClientRect();
  const frame = box.getBoundingClientRect();
  const covered = document.querySelector("#names svg").getBoundingClientRect().height;
  if (row.top < frame.top + covered || row.bottom > frame.bottom) {
    box.scrollTop += row.top - frame.top - frame.height / 2 + row.height / 2;
  }
  // Those who take part may be far to the right.
  const parts = [...current.querySelectorAll(".box, .step, .bar")].map((part) => part.getBoundingClientRect());
  const left = Math.min(...parts.map((part) => part.left)), right = Math.max(...parts.map((part) => part.right));
  if (parts.length > 0 && (left < frame.left || right > frame.right)) {
    box.scrollLeft += Math.min((left + right - frame.left - frame.right) / 2, left - frame.left - 60);
  }
}

function step(to) {
  // A run that goes round is at its end where it was before the step from which it repeats.
  if (to === path.length + 1 && repeats) go(path, repeats, "");
  if (to >= 0 && to <= path.length && to !== at) go(path, to, "");
}

function random() {
  const possible = actions.filter((action) => !action.fault);
  if (possible.length > 0) take(possible[Math.floor(Math.random() * possible.length)]);
}

async function open(file) {
  if (file.size > 16 * 1024 * 1024) {
    note(`${file.name} is longer than 16 MiB; give it on the command line with --trace.`, true);
    return;
  }
  try {
    const trace = await ask("trace", await file.arrayBuffer());
    await go(trace.path, trace.path.length, "", trace.repeats_from);
    const told = `${file.name}: ${counted(trace.path.length, "step")}.`;
    note(trace.note ? `${told} ${trace.note}` : told, Boolean(trace.note) && !trace.repeats_from);
  } catch (e) {
    note(`${file.name}: ${e.message}`, true);
  }
}

async function save() {
  try {
    const { text } = await ask("save", JSON.stringify({ path, repeats_from: repeats }));
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.download = "walk.trace";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (e) {
    note(e.message, true);
  }
}

// Moves the focus through the actions.
function focusAction(by) {
  const buttons = [...document.querySelectorAll(".action")];
  const now = buttons.indexOf(document.activeElement);
  const next = buttons[now < 0 ? (by > 0 ? 0 : buttons.length - 1) : Math.min(Math.max(now + by, 0), buttons.length - 1)];
  if (next) next.focus();
}

const KEYS = {
  ArrowLeft: () => step(at - 1), u: () => step(at - 1), ArrowRight: () => step(at + 1),
  Home: () => step(0), End: () => step(path.length),
  ArrowDown: () => focusAction(1), ArrowUp: () => focusAction(-1),
  r: random, o: () => $("file").click(), s: () => path.length > 0 && save(),
  "/": () => $("filter").focus(), "?": () => $("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (event.target === $("filter")) {
    if (event.key === "ArrowDown") focusAction(1);
    else if (event.key === "Escape") $("filter").blur();
    else if (event.key === "Enter") take(actions[0]);
    else return;
  } else if (/^[1-9]$/.test(event.key)) {
    take(actions[Number(event.key) - 1]);
  } else if (Object.hasOwn(KEYS, event.key)) {
    KEYS[event.key]();
  } else {
    return;
  }
  event.preventDefault();
});

$("first").addEventListener("click", () => step(0));
$("back").addEventListener("click", () => step(at - 1));
$("forward").addEventListener("click", () => step(at + 1));
$("last").addEventListener("click", () => step(path.length));
$("random").addEventListener("click", random);
$("open").addEventListener("click", () => $("file").click());
$("save").addEventListener("click", save);
$("help").addEventListener("click", () => $("keys").showModal());
$("note-close").addEventListener("click", () => note(""));
$("filter").addEventListener("input", () => go(path, at));
$("file").addEventListener("change", () => {
  const file = $("file").files[0];
  if (file) open(file).finally(() => { $("file").value = ""; });
});
$("chart").addEventListener("click", (event) => {
  const row = event.target.closest(".at");
  if (row) step(Number(row.dataset.step));
});

(async () => {
  try {
    const start = await ask("start");
    $("specification").textContent = start.specification;
    document.title = `${start.specification} · gridlock explore`;
    longest = start.longest;
    const kept = sessionStorage.getItem(KEY);
    const place = kept ? JSON.parse(kept) : 
      { path: start.trace.path, at: start.trace.path.length, repeats: start.trace.repeats_from };
    await go(place.path, place.at, "", place.repeats || null);
    if (!kept && start.trace.note) note(start.trace.note, !start.trace.repeats_from);
  } catch (e) {
    note(e.message, true);
  }
})();
