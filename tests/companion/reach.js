/* What a reader cannot see, name or reach on a page: run in the browser by test_browser.py. */
({
  unreached: () => [...document.querySelectorAll("a[href], button, input, select, summary")]
    .filter((each) => each.tabIndex < 0)
    .map((each) => each.outerHTML.slice(0, 80)),

  /* What scrolls sideways and cannot be focused, so that the keyboard cannot move it. */
  stuck: () => [...document.querySelectorAll("main *")]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(each).overflowX))
    .filter((each) => each.tabIndex < 0 && !each.querySelector("a[href], button, input, select"))
    .map((each) => each.outerHTML.slice(0, 80)),

  unnamed: () => [...document.querySelectorAll("a[href], button, input, select, img, svg[role=img]")]
    .filter((each) => each.checkVisibility())
    .filter((each) => !(each.getAttribute("aria-label") || each.textContent.trim() || each.alt || each.labels?.length || each.title))
    .map((each) => each.outerHTML.slice(0, 80)),

  /* Texts with less contrast than the accessibility guidelines (WCAG 2, AA) ask for. */
  faint: () => {
    const channels = (colour) => {
      const found = colour.match(/[\d.]+/g).map(Number);
      return found.length < 4 ? [...found, 1] : found;
    };
    const light = (colour) => {
      const [r, g, b] = colour.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (each) => {
      for (let at = each; at; at = at.parentElement) {
        const colour = channels(getComputedStyle(at).backgroundColor);
        if (colour[3] > 0.99) return colour;
      }
      return [255, 255, 255, 1];
    };
    const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const faint = [];
    for (const each of document.querySelectorAll("main *, header *, footer *")) {
      const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!own || !each.checkVisibility() || each.closest("math, title")) continue;
      const style = getComputedStyle(each);
      const shape = each.tagName === "text" && each.parentElement.querySelector("rect, polygon");
      const ink = each.tagName === "text" ? style.fill : style.color;
      const behind = shape ? channels(getComputedStyle(shape).fill) : ground(each);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      const ratio = contrast(light(channels(ink)), light(behind));
      if (ratio < (large ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)} ${each.outerHTML.slice(0, 80)}`);
    }
    return faint;
  },
})
