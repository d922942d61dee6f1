"use strict";
/* Theme, search, previews, filters, the graph's neighbours and keys. Everything can be read without. */
const COMPANION = (window.COMPANION = { pages: null, told: {}, problems: {}, served: false });
const ROOT = document.documentElement.dataset.root;

/* Data come as scripts: pages opened from a folder may not fetch. */
COMPANION.load = (name) =>
  (COMPANION.load[name] ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${ROOT}static/${name}`;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  }));
COMPANION.index = (pages) => { COMPANION.pages = pages; };
COMPANION.previews = (paper, told) => Object.assign(COMPANION.told, told);
COMPANION.problem = (name, held) => { COMPANION.problems[name] = held; };

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/* --- Theme --- */
document.getElementById("theme").addEventListener("click", () => {
  const html = document.documentElement;
  const dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  html.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", html.dataset.theme); } catch { /* a page may have no storage */ }
});

/* --- Search --- */
const box = document.getElementById("search");
const found = document.getElementById("found");

COMPANION.search = (query) => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const whole = words.join(" ");
  const scored = [];
  for (const [title, address, kind, status, text] of COMPANION.pages) {
    const name = title.toLowerCase();
    const all = `${name} ${kind} ${status} ${text.toLowerCase()}`;
    if (!words.every((word) => all.includes(word))) continue;
    const number = name.split(":").pop().trim();
    const score = number === whole || name === whole ? 0 : name.includes(whole) ? 1 : words.every((word) => name.includes(word)) ? 2 : 3;
    scored.push([score, title.length, title, address, kind, status]);
  }
  return scored.sort((a, b) => a[0] - b[0] || (a[0] < 3 ? a[1] - b[1] : 0)).slice(0, 30);
};

async function showFound() {
  const query = box.value.trim();
  if (!query) { found.hidden = true; return; }
  await COMPANION.load("search-index.js");
  const rows = COMPANION.search(query).map(([, , title, address, kind, status]) =>
    element("li", {}, element("a", { href: ROOT + address }, title, element("small", {}, status ? `${kind}, ${status}` : kind))));
  found.replaceChildren(...(rows.length ? rows : [element("li", {}, "nothing found")]));
  found.hidden = false;
}
box.addEventListener("input", showFound);
box.addEventListener("focus", showFound);
box.form.addEventListener("submit", (event) => {
  const first = found.querySelector("a");
  if (first) { event.preventDefault(); location.href = first.href; }
});
document.addEventListener("click", (event) => { if (!box.form.contains(event.target)) found.hidden = true; });

/* --- Keys: / searches, arrows walk the paper and the list, Escape closes --- */
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape") { found.hidden = true; hidePreview(); if (typing) event.target.blur(); }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !typing) { event.preventDefault(); box.focus(); }
  if (!found.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const links = [box, ...found.querySelectorAll("a")];
    const next = links[links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) { event.preventDefault(); next.focus(); }
  }
  if (!typing && (event.key === "ArrowLeft" || event.key === "ArrowRight") && !event.target.closest("[tabindex]")) {
    document.querySelector(event.key === "ArrowLeft" ? 'a[rel="prev"]' : 'a[rel="next"]')?.click();
  }
});

/* --- Previews of cited statements --- */
let preview = null;
let waiting = 0;
function hidePreview() { clearTimeout(waiting); preview?.remove(); preview = null; }
async function showPreview(link) {
  const id = link.dataset.id;
  const paper = id.split(":")[0].toLowerCase();
  await COMPANION.load(`preview-${paper}.js`);
  if (!COMPANION.told[id] || !link.matches(":hover, :focus")) return;
  hidePreview();
  const [status, statement, summary] = COMPANION.told[id];
  preview = element("div", { class: "preview", role: "tooltip" });
  preview.innerHTML = `<h2></h2><p>${statement}</p><p><small>${summary}</small></p>`;
  preview.firstChild.textContent = `${id.replace(":", " ")} · ${status}`;
  document.body.append(preview);
  const at = link.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, innerWidth - preview.offsetWidth - 8));
  const below = at.bottom + preview.offsetHeight + 16 < innerHeight;
  preview.style.left = `${left + scrollX}px`;
  preview.style.top = `${scrollY + (below ? at.bottom + 6 : at.top - preview.offsetHeight - 6)}px`;
}
for (const link of document.querySelectorAll("a[data-id]")) {
  const later = () => { clearTimeout(waiting); waiting = setTimeout(() => showPreview(link), 180); };
  link.addEventListener("mouseenter", later);
  link.addEventListener("focus", later);
  link.addEventListener("mouseleave", hidePreview);
  link.addEventListener("blur", hidePreview);
}

/* --- The graph: what a statement is joined to --- */
for (const graph of document.querySelectorAll("svg.graph")) {
  const edges = [...graph.querySelectorAll(".edge")];
  const focus = (id) => {
    const near = new Set([id]);
    for (const edge of edges) {
      const joined = edge.dataset.from === id || edge.dataset.to === id;
      edge.classList.toggle("near", joined);
      if (joined) { near.add(edge.dataset.from); near.add(edge.dataset.to); }
    }
    for (const node of graph.querySelectorAll(".node")) node.classList.toggle("near", near.has(node.dataset.id));
    graph.classList.toggle("focus", id !== null);
  };
  for (const node of graph.querySelectorAll(".node")) {
    node.addEventListener("mouseenter", () => focus(node.dataset.id));
    node.addEventListener("focus", () => focus(node.dataset.id));
    node.addEventListener("mouseleave", () => focus(null));
    node.addEventListener("blur", () => focus(null));
  }
}

/* --- What is wider than the page: reached by the keyboard, and a graph shows its own statement --- */
function reachWide() {
  for (const each of document.querySelectorAll(".display, pre")) {
    const wide = each.scrollWidth > each.clientWidth;
    if (wide) each.setAttribute("tabindex", "0");
    else each.removeAttribute("tabindex");
  }
}
reachWide();
addEventListener("load", reachWide); // formulas have their widths with their font
addEventListener("resize", reachWide);
for (const here of document.querySelectorAll(".graph-box .here")) {
  const [box, at] = [here.closest(".graph-box"), here.getBoundingClientRect()];
  box.scrollLeft = at.left + at.width / 2 - box.getBoundingClientRect().left - box.clientWidth / 2;
}

/* --- On paper proofs are open --- */
addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details")) each.open = true; });

/* --- Filters --- */
const filters = document.getElementById("filters");
if (filters) {
  const rows = [...document.querySelectorAll("#statements tbody tr")];
  const apply = () => {
    const chosen = Object.fromEntries(new FormData(filters));
    const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const named = ["paper", "status", "severity", "method", "kind"].every((name) => !chosen[name] || row.dataset[name] === chosen[name]);
      const text = row.textContent.toLowerCase();
      row.hidden = !(named && words.every((word) => text.includes(word)));
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = `${shown} of ${rows.length} statements`;
  };
  filters.addEventListener("input", apply);
  filters.addEventListener("reset", () => setTimeout(apply));
  filters.addEventListener("submit", (event) => event.preventDefault());
  const asked = new URLSearchParams(location.search);
  for (const [name, value] of asked) if (filters.elements[name]) filters.elements[name].value = value;
  if ([...asked].length) apply();
}
