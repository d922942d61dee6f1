"use strict";
/* The calculator: closed forms printed from the bounds' own expressions, or, where the companion is
   served, the values of the Python calculator. */
(() => {
  const CALCULATOR = document.getElementById("calculator");
  const FORM = CALCULATOR.querySelector("form");
  const KNOWN = JSON.parse(document.getElementById("calculator-problems").textContent);
  const LETTERS = { epsilon: "ε", delta: "δ", rho: "ρ", mu: "μ", sigma: "σ", radius: "radius a" };
  const START = { epsilon: "0.5", delta: "1e-6", rho: "0.125", mu: "0.5" };
  const LARGEST = 1e15;
  const by = (id) => document.getElementById(`calculator-${id}`);

  /* erf by its series, erfc by its continued fraction where the difference to 1 would lose digits. */
  COMPANION.erf = (x) => {
    if (Math.abs(x) > 2.5) return Math.sign(x) * (1 - COMPANION.erfc(Math.abs(x)));
    let term = x, sum = x;
    for (let k = 1; Math.abs(term) > 1e-18 * Math.abs(sum); k++) { term *= (-x * x) / k; sum += term / (2 * k + 1); }
    return (2 / Math.sqrt(Math.PI)) * sum;
  };
  COMPANION.erfc = (x) => {
    if (x < 2.5) return 1 - COMPANION.erf(x);
    let tail = 0;
    for (let k = 120; k > 0; k--) tail = k / 2 / (x + tail);
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + tail);
  };

  /* g - 1 - log g, g = w/(1 - e^-w), by series where the differences would lose digits. */
  COMPANION.excess = (w) => {
    let h = w / -Math.expm1(-w) - 1;
    if (w < 0.5) { let term = w / 2, sum = 0; for (let k = 3; k < 24; k++) { sum += term; term *= -w / k; } h = (w * sum) / -Math.expm1(-w); }
    if (h > 0.1) return h - Math.log1p(h);
    let power = h * h, found = 0;
    for (let k = 2; k < 24; k++) { found += ((k % 2 ? -1 : 1) * power) / k; power *= h; }
    return found;
  };

  /* --- Values --- */
  function valueOf(bound, point) {
    const broken = bound.conditions.filter(([, holds]) => holds && !holds(point)).map(([text]) => text);
    const value = bound.value && !broken.length ? bound.value(point) * bound.outward : null;
    return { ...bound, broken, value: Number.isFinite(value) ? value : null };
  }
  COMPANION.values = (problem, budget, point) => COMPANION.problems[problem].budgets[budget].map((bound) => valueOf(bound, point));

  const best = (values, pick, start) => values.reduce((found, each) => (each === null ? found : pick(found, each)), start);
  function sides(problem, budget, point, parameters) {
    const held = COMPANION.problems[problem];
    const values = COMPANION.values(problem, budget, point).filter((each) => each.comparable && each.kind === "certified");
    const lower = values.filter((each) => each.side === "lower");
    const isPrivate = (each) => each.parameters.some((name) => parameters.includes(name));
    const upper = values.filter((each) => each.side === "upper").map((each) => each.value);
    const whole = best(lower.map((each) => each.value), Math.max, 0);
    const statistics = best(lower.filter((each) => !isPrivate(each)).map((each) => each.value), Math.max, 0);
    return { lower: whole, statistics, privacy: whole - statistics, upper: best([...upper, held.zero(point)], Math.min, Infinity) };
  }

  /* The last n at which the lower bound exceeds the risk, and the first at which the upper does not. */
  function planFor(at, risk) {
    const border = (low, high, wanted) => {
      while (high - low > Math.max(1, low * 1e-9)) { const middle = Math.floor((low + high) / 2); if (wanted(middle)) low = middle; else high = middle; }
      return high;
    };
    let possible = 1, proven = null;
    for (let n = 1; n <= LARGEST; n *= 2) if (at(n).lower > risk) possible = border(n, 2 * n, (m) => at(m).lower > risk);
    for (let n = 1; n <= LARGEST && proven === null; n *= 2) if (at(n).upper <= risk) proven = n === 1 ? 1 : border(n / 2, n, (m) => at(m).upper > risk);
    return { possible, proven };
  }
  COMPANION.plan = (problem, budget, point, parameters, risk) => planFor((n) => sides(problem, budget, { ...point, n }, parameters), risk);

  /* --- The form --- */
  function field(name, value, count) {
    const input = element("input", { name, value, type: "text", inputmode: count ? "numeric" : "decimal", "aria-label": name });
    return element("label", { class: "number" }, LETTERS[name] || name, input);
  }
  const chosenProblem = () => KNOWN.problems.find((each) => each.name === FORM.elements.problem.value);
  const chosenBudget = () => KNOWN.budgets.find((each) => each.key === FORM.elements.budget.value);
  function askNumbers() {
    const problem = chosenProblem();
    by("about").innerHTML = problem.about;
    by("numbers").replaceChildren(...problem.numbers.map((each) => field(each.name, each.value, each.count)));
  }
  function askBudget() { by("budget").replaceChildren(...chosenBudget().parameters.map((name) => field(name, START[name], false))); }
  function read() {
    const point = {};
    let bad = "";
    for (const input of FORM.querySelectorAll(".number input")) {
      const value = Number(input.value);
      const count = ["n", "d", "s", "p"].includes(input.name);
      const good = value > 0 && Number.isFinite(value) && (!count || Number.isInteger(value)) && (input.name !== "delta" || value < 1);
      input.setAttribute("aria-invalid", String(!good));
      if (!good) bad ||= `${input.name} must be ${count ? "a whole number of at least 1" : input.name === "delta" ? "between 0 and 1" : "positive"}`;
      point[input.name] = value;
    }
    const whole = point.d ?? point.p;
    if (!bad && point.s > whole) bad = `s must be at most ${"d" in point ? "d" : "p"}`;
    const { risk, ...numbers } = point;
    return { bad, risk, point: numbers };
  }

  /* --- What is shown --- */
  const short = (value) => (value === null ? "" : value === 0 ? "0" : value >= 0.001 && value < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(3));
  function path(points, x, y) {
    let line = "", open = false;
    for (const [n, value] of points) {
      if (!(value > 0 && Number.isFinite(value))) { open = false; continue; }
      line += `${open ? "L" : "M"}${x(n).toFixed(1)} ${y(value).toFixed(1)}`;
      open = true;
    }
    return line;
  }
  function plot(curves, n, risk, found) {
    const all = curves.flatMap(([, points]) => points.map(([, value]) => value)).filter((value) => value > 0 && Number.isFinite(value));
    if (!all.length) return "";
    const W = Math.min(720, Math.max(330, by("plot").clientWidth || 720)), H = Math.max(300, Math.round(W * 0.53)), L = 54, B = 40, T = 12, R = 12;
    const ns = curves[0][1].map(([size]) => size);
    const [n0, n1] = [Math.log10(ns[0]), Math.log10(ns.at(-1))];
    const [v0, v1] = [Math.floor(Math.log10(Math.min(...all, risk))), Math.ceil(Math.log10(Math.max(...all, risk)))];
    const x = (size) => L + ((Math.log10(size) - n0) / (n1 - n0)) * (W - L - R);
    const y = (value) => H - B - ((Math.log10(value) - v0) / (v1 - v0 || 1)) * (H - B - T);
    const ticks = (from, to, most) => { const step = Math.max(1, Math.ceil((to - from) / most)); const found = []; for (let k = Math.ceil(from); k <= to; k += step) found.push(k); return found; };
    const power = (k) => `10<tspan dy="-5" font-size="9">${String(k).replace("-", "−")}</tspan>`;
    const grid = ticks(n0, n1, 8).map((k) => `<line class="frame" x1="${x(10 ** k)}" x2="${x(10 ** k)}" y1="${T}" y2="${H - B}"/><text x="${x(10 ** k)}" y="${H - B + 16}" text-anchor="middle">${power(k)}</text>`).join("")
      + ticks(v0, v1, 7).map((k) => `<line class="frame" x1="${L}" x2="${W - R}" y1="${y(10 ** k)}" y2="${y(10 ** k)}"/><text x="${L - 8}" y="${y(10 ** k) + 4}" text-anchor="end">${power(k)}</text>`).join("");
    const lines = curves.map(([name, points]) => `<path class="curve ${name}" d="${path(points, x, y)}"/>`).join("");
    const names = [["lower", "best lower bound"], ["statistics", "statistics in it"], ["privacy", "privacy in it"], ["upper", "proven upper bound"]];
    const key = names.map(([name, text]) => `<li><svg width="30" height="12" aria-hidden="true"><path class="curve ${name}" d="M1 6h28"/></svg> ${text}</li>`).join("");
    const marks = `<line class="target" x1="${L}" x2="${W - R}" y1="${y(risk)}" y2="${y(risk)}"/><line class="target" x1="${x(n)}" x2="${x(n)}" y1="${T}" y2="${H - B}"/>`;
    const crossing = (name, size) => (size && size >= ns[0] && size <= ns.at(-1) ? `<circle class="crossing ${name}" cx="${x(size).toFixed(1)}" cy="${y(risk).toFixed(1)}" r="4.5"/>` : "");
    const crossings = found ? crossing("lower", found.possible > 1 && found.possible) + crossing("upper", found.proven) : "";
    return `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="Bounds on the risk over the number of records">${grid}${marks}${lines}${crossings}<text x="${(L + W) / 2}" y="${H - 6}" text-anchor="middle">records n</text></svg><ul class="legend">${key}</ul>`;
  }
  const noted = (each) => (each.broken.length ? `needs ${each.broken.join("; ")}` : each.value === null ? (each.exact ?? "planned by a search: see --serve") : short(each.value));
  const parts = ({ split }) => (split?.[0] && split[1] ? [element("small", {}, ` statistics ${short(split[0])}, privacy ${short(split[1])}`)] : []);
  function table(values) {
    const ordered = [...values].sort((a, b) => a.side.localeCompare(b.side));
    by("table").replaceChildren(...ordered.map((each) => element("tr", {},
      element("td", {}, element("a", { href: ROOT + each.page }, each.name), ...(each.comparable ? [] : [element("small", {}, ` in another loss: ${each.loss}`)])),
      element("td", {}, each.side), element("td", {}, each.kind), element("td", { class: "value" }, noted(each), ...parts(each)))));
  }
  function told(found, risk) {
    const many = (n) => n.toLocaleString("en");
    const possible = found.possible > 1 ? `A risk of ${risk} is impossible with fewer than ${many(found.possible)} records` : `No bound excludes a risk of ${risk} at any n`;
    const proven = found.proven ? `, and proven with ${many(found.proven)}` : ", and proven at no n that was tried";
    return `${possible}${proven}${found.by ? ` (${found.by})` : ""}.`;
  }

  const CURVES = ["lower", "statistics", "privacy", "upper"];
  const ON_THE_WAY = "closed forms; the exact values are on their way";
  const SAFE = "Closed forms, on the safe side of each bound.";
  const FORMULAS = `${SAFE} Upper: at settings that are formulas of the point, or releasing 0; with <code>--serve</code> at the best that a search finds.`;
  const ZERO = `${SAFE} Upper: no estimator's bound has a closed form here, so the curve is releasing 0; what a search plans is shown with <code>--serve</code>, and by <code>python -m minimax</code>.`;
  const hasUpper = (values) => values.some((each) => each.side === "upper" && each.kind === "certified" && each.comparable && each.value !== null);
  function draw(points, n, risk, found) {
    by("plot").innerHTML = plot(CURVES.map((name) => [name, points.map(([size, sides]) => [size, sides[name]])]), n, risk, found);
    by("plan").textContent = found ? told(found, risk) : "";
  }

  let turn = 0;
  async function update() {
    const mine = ++turn;
    const { bad, point, risk } = read();
    by("note").textContent = bad;
    if (bad) return;
    const [problem, budget] = [chosenProblem(), chosenBudget()];
    await COMPANION.load(`calculator-${problem.name}.js`);
    if (mine !== turn) return;
    const at = (n) => sides(problem.name, budget.key, { ...point, n }, budget.parameters);
    const sizes = Array.from({ length: 81 }, (_, i) => Math.max(1, point.n * 10 ** ((i - 40) / 20)));
    const found = planFor(at, risk);
    draw(sizes.map((n) => [n, at(n)]), point.n, risk, found);
    const values = COMPANION.values(problem.name, budget.key, point);
    table(values);
    by("note").innerHTML = COMPANION.served ? ON_THE_WAY : hasUpper(values) ? FORMULAS : ZERO;
    if (COMPANION.served) await exact(problem, values, point, risk, found, mine);
  }

  /* What the Python calculator says, where it is there to be asked: the table, then the records and
     the curves, point by point, wide gaps first. A newer question ends it. */
  const coarseFirst = (count) => [16, 8, 4, 2, 1].flatMap((step, i) => Array.from({ length: count }, (_, k) => k).filter((k) => k % step === 0 && (i === 0 || k % (2 * step) !== 0)));
  async function exact(problem, values, point, risk, found, mine) {
    const ask = async (what, numbers = {}) => (await fetch(`${ROOT}api/${what}?${new URLSearchParams({ problem: problem.name, risk, ...point, ...numbers })}`)).json();
    const answer = await ask("bounds");
    if (mine !== turn) return;
    if (answer.error) { by("note").textContent = answer.error; return; }
    const exactly = (each) => {
      const [statistics, privacy, total] = answer.values[`${each.side}: ${each.name}`] ?? [null, null, each.value];
      return { ...each, value: total, split: [statistics, privacy], exact: "outside its regime" };
    };
    const best = { name: `best proven: ${answer.upper_by}`, side: "upper", kind: "certified", page: answer.estimator ? `estimators/${answer.estimator}.html` : `problems/${problem.name}.html`, comparable: true, broken: [], value: answer.upper };
    table([best, ...values.map(exactly)]);
    const sizes = Array.from({ length: 33 }, (_, i) => Math.max(1, Math.round(point.n * 10 ** ((i - 16) / 8))));
    const known = new Map();
    const says = (rest) => { by("note").textContent = `Values of the Python calculator; best lower ${short(answer.lower)}, best proven ${short(answer.upper)}. ${rest}`; };
    const redraw = () => { if (known.size > 1) draw([...known].sort(([a], [b]) => a - b), point.n, risk, found); };
    const records = ask("plan").then((plan) => {
      if (mine !== turn || plan.error) return;
      found = { ...plan, by: plan.proven_by };
      by("plan").textContent = told(found, risk);
      redraw();
    });
    for (const i of coarseFirst(sizes.length)) {
      if (known.has(sizes[i])) continue;
      says(`Exact curves: ${known.size} points of ${new Set(sizes).size}.`);
      const sidesThere = await ask("sides", { n: sizes[i] });
      if (mine !== turn) return;
      if (sidesThere.error) continue;
      known.set(sizes[i], sidesThere);
      redraw();
    }
    await records;
    if (mine === turn) says("The curves are exact.");
  }

  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; update(); } });
  FORM.addEventListener("submit", (event) => event.preventDefault());
  FORM.elements.problem.addEventListener("change", () => { askNumbers(); update(); });
  FORM.elements.budget.addEventListener("change", () => { askBudget(); update(); });
  FORM.addEventListener("input", (event) => { if (event.target.tagName === "INPUT") update(); });
  const named = decodeURIComponent(location.hash.slice(1));
  if (KNOWN.problems.some((each) => each.name === named)) FORM.elements.problem.value = named;
  else FORM.elements.problem.value = "mean";
  askNumbers();
  askBudget();
  update();
})();
