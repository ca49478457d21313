"use strict";
const data = JSON.parse(document.getElementById("operating-points").textContent);
const form = document.getElementById("sliders"), field = form.elements;
const places = { model: 0, point: 0, prevalence: data.prevalence };
const STEP = 0.07;
const logit = (x) => Math.log(x / (1 - x));
const text = (x, digits) => x === null || !isFinite(x) ? "–" : x.toFixed(digits);

function rates() {
  const model = data.models[places.model], [threshold, tp, fp] = model.points[places.point];
  const pi = places.prevalence, sensitivity = tp / model.positives, fpr = fp / model.negatives;
  const flagged = sensitivity * pi + fpr * (1 - pi), missed = (1 - sensitivity) * pi;
  const cost = threshold < 1 ? threshold / (1 - threshold) : NaN;
  const benefit = model.risks ? sensitivity * pi - fpr * (1 - pi) * cost : NaN;
  return { threshold, sensitivity, fpr, specificity: 1 - fpr, ppv: sensitivity * pi / flagged,
    npv: (1 - fpr) * (1 - pi) / ((1 - fpr) * (1 - pi) + missed), benefit, alarms: 1000 * flagged };
}

function move(now) {
  const name = data.models[places.model].name;
  for (const group of document.querySelectorAll("g.moving")) {
    const { x, y, model, pixels, values } = group.dataset;
    const [left, right, bottom, top] = pixels.split(" ").map(Number);
    const [low, high, least, most] = values.split(" ").map(Number);
    const at = left + (now[x] - low) / (high - low) * (right - left);
    const up = bottom + (now[y] - least) / (most - least) * (top - bottom);
    const inside = !y || (up >= top - 1 && up <= bottom + 1);
    const mine = (!model || model === name) && isFinite(at) && inside;
    const kind = y ? "circle" : "line";
    const mark = group.firstChild || group.appendChild(document.createElementNS(group.namespaceURI, kind));
    mark.setAttribute("class", "now");
    mark.setAttribute("visibility", mine ? "visible" : "hidden");
    const to = y ? { cx: at, cy: up, r: 6 } : { x1: at, x2: at, y1: bottom, y2: top };
    if (mine) for (const key in to) mark.setAttribute(key, to[key]);
  }
}

// while a number is typed its field keeps the text; done says that it shall hold what is in force
function show(done) {
  const points = data.models[places.model].points, now = rates();
  field.point.max = points.length - 1;
  field.point.value = points.length - 1 - places.point;
  field.point.setAttribute("aria-valuetext", `threshold ${now.threshold}`);
  if (done || document.activeElement !== field.threshold) field.threshold.value = now.threshold;
  field.logit.value = Math.round(logit(places.prevalence) / STEP);
  field.logit.setAttribute("aria-valuetext", `prevalence ${text(places.prevalence, 4)}`);
  if (done || document.activeElement !== field.prevalence) field.prevalence.value = Number(places.prevalence.toPrecision(4));
  for (const one of form.querySelectorAll("dd")) {
    const value = now[one.id.slice(4)];
    one.textContent = one.id === "now-threshold" ? value : text(value, one.id === "now-alarms" ? 1 : 3);
    one.dataset.value = value;
  }
  move(now);
}

function start(model) {
  places.model = model;
  places.point = data.models[model].start;
}

// the least listed threshold at or above one that is typed
function place(threshold) {
  const points = data.models[places.model].points;
  return Math.max(points.findLastIndex((point) => point[0] >= threshold), 0);
}

form.addEventListener("input", (event) => {
  const { name, value } = event.target;
  if (name === "model") start(Number(value));
  if (name === "point") places.point = field.point.max - Number(value);
  if (name === "threshold" && value !== "") places.point = place(Number(value));
  if (name === "logit") places.prevalence = 1 / (1 + Math.exp(-STEP * value));
  if (name === "prevalence" && value > 0 && value < 1) places.prevalence = Number(value);
  show();
});
form.addEventListener("change", () => show(true));
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("back").addEventListener("click", () => {
  start(places.model);
  places.prevalence = data.prevalence;
  show(true);
});
start(0);
form.hidden = false;
show(true);
