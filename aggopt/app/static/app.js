// @ts-check
"use strict";
// What the computing process does, shown as it changes; each screen works without it.

/**
 * @typedef {{status: string, says: string, share: number, search: boolean,
 *   number: number, pages: number, ends: number | null}} Activity
 */

/** @param {string} id @returns {HTMLElement | null} */
const find = (id) => document.getElementById(id);

/** @param {string} id @param {boolean} shown */
const show = (id, shown) => {
  const part = find(id);
  if (part) part.hidden = !shown;
};

const BUSY = ["running", "starting"];
let before = Number(document.body.dataset.number);
let wasBusy = BUSY.includes(document.body.dataset.status || "");
// whether a field has a value that was not sent
let edited = false;

addEventListener("input", () => (edited = true));

/** @param {Activity} activity */
function update(activity) {
  const busy = BUSY.includes(activity.status);
  show("second", activity.pages > 1);
  show("ends", activity.ends !== null);
  show("gone", false);
  show("progress", busy);
  show("stop", activity.search);
  const bar = /** @type {HTMLProgressElement | null} */ (find("bar"));
  if (bar && activity.share > 0) bar.value = activity.share;
  else if (bar) bar.removeAttribute("value");
  const step = find("step");
  if (step && busy) step.textContent = activity.says;
  const ended = !busy && activity.number !== before && (wasBusy || activity.number < before);
  before = activity.number;
  wasBusy = busy;
  if (ended && edited) show("ended", true);
  else if (ended) location.reload();
}

if (find("progress")) {
  const events = new EventSource("/events");
  events.onmessage = (message) => update(JSON.parse(message.data));
  events.onerror = () => show("gone", true);
  addEventListener("pagehide", () => events.close());
}
