// Tables that scroll take the keyboard only where they need to; folded parts are printed; the table of cases is
// filtered, sorted and paged. Texts of the data reach the page as text alone: nothing here parses HTML.
(() => {
  "use strict";

  const reachable = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reachable);
  reachable();

  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details[data-print]")) folded.open = true;
  });

  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const PAGE = 25;
  const table = document.querySelector("[data-cases]");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const filters = document.querySelector(".filters");
  const pages = document.querySelector("[data-pages]");
  const count = document.querySelector("[data-count]");
  const number = new Intl.NumberFormat(data.language);
  const collator = new Intl.Collator(data.language, { numeric: true });
  const wanted = { text: "" }; // and, by kind of choice, "failing" or the number of a name
  let sorting = null; // {column, descending}
  let page = 0;
  let matching = [];
  let folded = null;

  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // --- which cases, in which order ---

  const fold = (text) => text.normalize("NFKC").toLowerCase();

  const texts = () => {
    folded ??= data.ids.map((id, place) => fold(`${id}\n${data.questions[place]}`));
    return folded;
  };

  const fits = (choice, value, place) => {
    const number = choice.numbers[place];
    return value === "failing" ? choice.bad[number] : +value === number;
  };

  const filtered = () => {
    const chosen = Object.keys(data.choices).filter((kind) => wanted[kind]).map((kind) => [data.choices[kind], wanted[kind]]);
    const words = fold(wanted.text).split(/\s+/).filter(Boolean);
    const all = words.length ? texts() : null;
    const found = [];
    for (let place = 0; place < data.ids.length; place++) {
      if (!chosen.every(([choice, value]) => fits(choice, value, place))) continue;
      if (all && !words.every((word) => all[place].includes(word))) continue;
      found.push(place);
    }
    return found;
  };

  const values = data.columns.map(([kind], column) => {
    if (kind === "case") return data.ids;
    const choice = data.choices[kind];
    if (choice) return choice.numbers.map((number) => choice.names[number]);
    return data.values[column - data.columns.findIndex(([each]) => each === "value")];
  });

  const sorted = (places) => {
    if (!sorting) return places; // the worst come first
    const column = values[sorting.column];
    const sign = sorting.descending ? -1 : 1;
    const isNumber = data.columns[sorting.column][0] === "value";
    const compare = isNumber ? (one, other) => one - other : collator.compare;
    return places.sort((one, other) => {
      const [left, right] = [column[one], column[other]];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * compare(left, right);
    });
  };

  // --- showing them ---

  const anchorOf = (place) => `case-${encodeURIComponent(data.ids[place])}`;

  const inOwnDirection = (name, text) => element(name, { dir: "auto", textContent: text });

  const itemOf = ([mark, lead, head, text]) => {
    const before = element("span", { className: "lead", textContent: data.texts[lead] });
    const named = text === null
      ? inOwnDirection("span", data.texts[head])
      : element("details", {}, inOwnDirection("summary", data.texts[head]), inOwnDirection("p", data.texts[text]));
    return element("li", { className: mark ? "marked" : "" }, before, named);
  };

  // The reports of the runs of a sweep, at this case.
  const pagesOf = (place) => {
    const links = data.pages.map(([title, page]) =>
      element("a", { href: `${page}#${anchorOf(place)}`, textContent: title }));
    return element("p", { className: "runs" }, ...links);
  };

  const documentOf = (place) => {
    const stored = data.details[place];
    if (!stored) return element("p", { className: "left-out", textContent: data.words.no_details });
    const list = element("dl", {});
    for (const [title, content] of stored) {
      const shown = Array.isArray(content)
        ? element("ul", {}, ...content.map(itemOf))
        : inOwnDirection("p", data.texts[content]);
      list.append(element("dt", { textContent: data.texts[title] }), element("dd", {}, shown));
    }
    return list;
  };

  const cellOf = (kind, column, place) => {
    const value = values[column][place];
    const cell = element("td", { className: "number", textContent: value === null ? "" : value });
    cell.dataset.head = data.columns[column][1]; // where the columns stand below each other
    if (kind === "value") {
      if (value !== null) cell.textContent = value.toFixed(2);
    } else {
      cell.className = data.choices[kind].bad[data.choices[kind].numbers[place]] ? "failing" : "";
      if (kind.startsWith("run-")) cell.dir = "auto";
    }
    return cell;
  };

  const rowOf = (place) => {
    const language = data.language_tags[data.choices.language.numbers[place]];
    const question = data.questions[place];
    const id = inOwnDirection("span", data.ids[place]);
    id.className = "id";
    const button = element("button", { type: "button", dir: "auto", textContent: question || data.ids[place] });
    button.className = "question";
    button.setAttribute("aria-expanded", "false");
    const head = element("th", { scope: "row" }, ...(question ? [id] : []), button);
    if (language) head.lang = language;
    const cells = data.columns.slice(1).map(([kind], column) => cellOf(kind, column + 1, place));
    const row = element("tr", { className: "case" }, head, ...cells);
    row.dataset.place = place;
    row.id = anchorOf(place);
    return row;
  };

  const toggle = (row) => {
    const button = row.querySelector("button");
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      row.nextElementSibling.remove();
      return;
    }
    const place = +row.dataset.place;
    const cell = element("td", { colSpan: data.columns.length }, documentOf(place), ...(data.pages ? [pagesOf(place)] : []));
    const detail = element("tr", { className: "detail" }, cell);
    if (row.cells[0].lang) detail.lang = row.cells[0].lang;
    row.after(detail);
  };

  const show = () => {
    const last = Math.max(0, Math.ceil(matching.length / PAGE) - 1);
    page = Math.min(page, last);
    const from = page * PAGE;
    const shown = matching.slice(from, from + PAGE);
    body.replaceChildren(...shown.map(rowOf));
    const range = { from: number.format(from + 1), to: number.format(from + shown.length), n: number.format(matching.length) };
    count.textContent = shown.length ? filled(data.words.range, range) : data.words.nothing;
    pages.querySelector("[data-step='-1']").disabled = page === 0;
    pages.querySelector("[data-step='1']").disabled = page === last;
    heads.forEach((head, column) => {
      if (sorting?.column === column) head.setAttribute("aria-sort", sorting.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    reachable();
  };

  const select = () => {
    matching = sorted(filtered());
    page = 0;
    show();
  };

  // --- what the reader does ---

  let waiting = 0;
  filters.addEventListener("input", (event) => {
    wanted[event.target.dataset.filter] = event.target.value;
    clearTimeout(waiting);
    waiting = setTimeout(select, event.target.type === "search" ? 120 : 0);
  });

  // Once up, once down, then the worst first again.
  const sortBy = (column) => {
    if (sorting?.column !== column) sorting = { column, descending: false };
    else sorting = sorting.descending ? null : { column, descending: true };
    select();
  };

  heads.forEach((head, column) => {
    const button = element("button", { type: "button", textContent: head.textContent });
    button.addEventListener("click", () => sortBy(column));
    head.replaceChildren(button);
  });

  const step = (by) => {
    const button = element("button", { type: "button", textContent: by < 0 ? data.words.previous : data.words.next });
    button.dataset.step = by;
    button.addEventListener("click", () => {
      page += by;
      show();
    });
    return button;
  };
  pages.append(step(-1), step(1));

  // The address of a case that is open can be sent to somebody else.
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr.case");
    if (!row || String(getSelection())) return;
    toggle(row);
    const isOpen = row.querySelector("button").getAttribute("aria-expanded") === "true";
    if (isOpen) history.replaceState(null, "", `#${row.id}`);
  });

  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };

  // The case that the address names, whatever the filters hide.
  const follow = () => {
    const place = data.ids.indexOf(decoded(location.hash).replace(/^#case-/, ""));
    if (place < 0 || !location.hash.startsWith("#case-")) return;
    if (!matching.includes(place)) {
      for (const control of filters.querySelectorAll("[data-filter]")) control.value = wanted[control.dataset.filter] = "";
      select();
    }
    page = Math.floor(matching.indexOf(place) / PAGE);
    show();
    const row = document.getElementById(anchorOf(place));
    const button = row.querySelector("button");
    if (button.getAttribute("aria-expanded") === "false") toggle(row);
    button.focus({ preventScroll: true });
    row.scrollIntoView({ block: "start", behavior: "instant" });
  };
  addEventListener("hashchange", follow);

  filters.hidden = pages.hidden = false;
  select();
  follow();
})();
