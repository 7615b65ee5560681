// Saves pictures and numbers as files. The page shows everything without it.
"use strict";

const read = (id) => JSON.parse(document.getElementById(id).textContent);

function save(name, kind, contents) {
  const link = document.createElement("a");
  link.href = contents instanceof Blob ? URL.createObjectURL(contents) : contents;
  link.download = `${name}.${kind}`;
  link.click();
}

function csv(rows) {
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  return new Blob([rows.map((row) => row.map(cell).join(",") + "\n").join("")], { type: "text/csv" });
}

function dataOf(figure) {
  const columns = JSON.parse(figure.querySelector("script").textContent);
  const names = Object.keys(columns);
  return [names, ...(columns[names[0]] ?? []).map((_, row) => names.map((name) => columns[name][row]))];
}

function tableOf(button) {
  const table = button.closest(".table").querySelector("table");
  return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
}

// A picture by itself has its title, and the colours of a light page.
function svgOf(figure) {
  const shown = figure.querySelector(".wide svg") ?? figure.querySelector(".narrow svg");
  const picture = shown.cloneNode(true);
  const [width, height] = [Number(shown.getAttribute("width")), Number(shown.getAttribute("height"))];
  const words = [figure.querySelector("figcaption").textContent, read("subtitle")];
  const whole = Math.max(width, ...words.map((line) => 7 * line.length));
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  const attributes = { width: whole, height: height + 44, viewBox: `0 0 ${whole} ${height + 44}` };
  attributes["font-family"] = "Arial, Helvetica, Liberation Sans, sans-serif";
  Object.entries(attributes).forEach(([name, value]) => svg.setAttribute(name, value));
  const background = document.createElementNS(namespace, "rect");
  Object.entries({ width: "100%", height: "100%", fill: "var(--page)" }).forEach(([name, value]) =>
    background.setAttribute(name, value));
  picture.setAttribute("y", 44);
  svg.append(background);
  words.forEach((line, index) => {
    const text = document.createElementNS(namespace, "text");
    const style = { x: 4, y: 16 + 18 * index, "font-size": index ? 11 : 13, fill: "var(--ink)" };
    Object.entries(style).forEach(([name, value]) => text.setAttribute(name, value));
    text.setAttribute("font-weight", index ? "normal" : "bold");
    text.textContent = line;
    svg.append(text);
  });
  svg.append(picture);
  const light = read("light");
  return new XMLSerializer().serializeToString(svg).replace(/var\(--([a-z0-9-]+)\)/g, (_, name) => light[name]);
}

function savePng(name, text) {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(name, "png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-save]");
  if (!button) return;
  const kind = button.dataset.save;
  if (kind === "table") return save(button.closest(".caption").id, "csv", csv(tableOf(button)));
  const figure = button.closest("figure");
  if (kind === "csv") return save(figure.id, kind, csv(dataOf(figure)));
  const text = svgOf(figure);
  if (kind === "png") return savePng(figure.id, text);
  return save(figure.id, kind, new Blob([text], { type: "image/svg+xml" }));
});

// A link into what is folded away opens it.
addEventListener("hashchange", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
});
