"use strict";
const form = document.getElementById("filter");
const most = form.elements.most;
const rows = [...document.querySelectorAll("#points tbody tr")];
const cell = (row, field) => row.cells[Number(field.dataset.column)].textContent.trim();

function wanted(row) {
  for (const axis of form.querySelectorAll("fieldset[data-column]")) {
    const values = [...axis.querySelectorAll("input:checked")].map((box) => box.value);
    if (!values.includes(cell(row, axis))) return false;
  }
  return most.value === "" || parseFloat(cell(row, most)) <= Number(most.value);
}

function show() {
  let count = 0;
  for (const row of rows) {
    const kept = wanted(row);
    count += kept;
    row.hidden = !kept;
    const job = row.id.replace("point", "#job");
    for (const link of document.querySelectorAll(`#map svg a[href="${job}"]`)) link.classList.toggle("out", !kept);
  }
  form.querySelector("output").value = `${count} of ${rows.length} points shown`;
}

form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
show();
