/**
 * The script of the page as text, because it runs in the browser. It writes text only through `textContent`,
 * never stores the token, and reads an operation only from the page.
 */
export const SCRIPT = String.raw`const MAX_SHOWN = 200_000;
const operations = [...document.querySelectorAll("details[data-method]")];
const token = make("input", { type: "password", autocomplete: "off", spellcheck: false });

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function labelled(text, field, hint = "") {
  return make("label", {}, text + " ", make("small", { textContent: hint }), field);
}

function addTools() {
  const filter = make("input", { type: "search", autocomplete: "off", spellcheck: false });
  const count = make("p", { role: "status" });
  const texts = operations.map((operation) => {
    const tag = operation.closest("section").querySelector("h2").textContent;
    return (operation.querySelector("summary").textContent + " " + tag).toLowerCase();
  });
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    let shown = 0;
    operations.forEach((operation, index) => {
      operation.hidden = !words.every((word) => texts[index].includes(word));
      if (!operation.hidden) shown += 1;
    });
    for (const section of document.querySelectorAll("section:has(details[data-method])")) {
      section.hidden = !section.querySelector("details[data-method]:not([hidden])");
    }
    count.textContent = shown + " of " + operations.length + " operations";
  });
  const form = make("form", {}, labelled("Filter", filter), count,
    labelled("Bearer token", token, "This page forgets it when you leave."));
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("tools").append(form);
}

function prepare(operation) {
  const curl = operation.querySelector(".curl");
  curl.textContent = curl.textContent.replace("\"$ORIGIN\"'", () => "'" + location.origin);
  if (navigator.clipboard) {
    const copy = make("button", { type: "button", textContent: "Copy" });
    copy.addEventListener("click", async () => {
      const copied = await navigator.clipboard.writeText(curl.textContent).then(() => true, () => false);
      copy.textContent = copied ? "Copied" : "Copying failed";
    });
    curl.after(copy);
  }
  operation.append(make("h4", { textContent: "Try it" }), tryIt(operation));
}

function tryIt(operation) {
  const fields = [...operation.querySelectorAll("tbody tr")].flatMap((row) => {
    const [name, place] = [...row.cells].map((cell) => cell.textContent);
    // The browser sends cookies by itself.
    return place === "cookie" ? [] : [parameterField(name, place, row.dataset)];
  });
  const sample = operation.querySelector("pre.body");
  const body = sample && make("textarea", { value: sample.textContent, rows: 8, spellcheck: false });
  const type = sample && make("input", { value: sample.dataset.type, autocomplete: "off", spellcheck: false });
  const send = make("button", { textContent: "Send" });
  const cancel = make("button", { type: "button", textContent: "Cancel", hidden: true });
  const status = make("p", { role: "status" });
  const headers = make("pre", { hidden: true });
  const answer = make("pre", { hidden: true });
  const form = make("form", {}, ...fields.map((each) => each.label));
  if (sample) form.append(labelled("Content type", type), labelled("Body", body));
  form.append(send, cancel, status, headers, answer);

  let controller;
  cancel.addEventListener("click", () => {
    controller.abort();
    send.focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!cancel.hidden) return;
    controller = new AbortController();
    cancel.hidden = false;
    headers.hidden = answer.hidden = true;
    status.textContent = "Waiting for the response";
    try {
      const request = requestOf(operation, fields, sample && { type: type.value, text: body.value });
      await show(request, controller, { status, headers, answer });
    } catch (error) {
      status.textContent = controller.signal.aborted ? "Cancelled" : "No answer: " + error.message;
    }
    cancel.hidden = true;
  });
  return form;
}

function parameterField(name, place, { value = "", list }) {
  const required = place === "path";
  const field = make(list ? "textarea" : "input", { value, required, autocomplete: "off", spellcheck: false });
  const hint = place + (required ? ", required" : "") + (list ? ", one value per line" : "");
  return { name, place, list, field, label: labelled(name, field, hint) };
}

function requestOf(operation, fields, body) {
  const { method } = operation.dataset;
  let path = operation.dataset.path.replace(/^(?!\/)/, "/");
  const query = new URLSearchParams();
  const headers = new Headers();
  if (token.value.trim() !== "") headers.set("Authorization", "Bearer " + token.value.trim());
  for (const { name, place, list, field } of fields) {
    if (field.value === "") continue;
    const values = list ? field.value.split("\n").filter((each) => each !== "") : [field.value];
    const sent = list === "repeated" ? values : [values.join(",")];
    if (place === "path") path = path.replaceAll("{" + name + "}", () => encodeURIComponent(sent[0]));
    if (place === "query") for (const each of sent) query.append(name, each);
    if (place === "header") headers.set(name, sent[0]);
  }
  const text = body && body.text !== "" ? body.text : undefined;
  if (text !== undefined) headers.set("Content-Type", body.type);
  const url = new URL(location.origin + path + (query.size > 0 ? "?" + query : ""));
  if (url.origin !== location.origin) throw new Error("the path leads to another origin");
  return new Request(url, { method, headers, body: text, mode: "same-origin", cache: "no-store" });
}

async function show(request, controller, { status, headers, answer }) {
  const start = performance.now();
  const response = await fetch(request, { signal: controller.signal });
  const milliseconds = Math.round(performance.now() - start);
  const to = response.redirected ? ", redirected to " + new URL(response.url).pathname : "";
  status.textContent = (response.status + " " + response.statusText).trim() + " in " + milliseconds + " ms" + to;
  headers.textContent = [...response.headers].map(([name, value]) => name + ": " + value).join("\n");
  headers.hidden = answer.hidden = false;
  answer.textContent = "";
  if (!response.body) return;
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let length = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const text = decoder.decode(chunk.value, { stream: true });
    answer.append(text.slice(0, MAX_SHOWN - length));
    length += text.length;
    if (length > MAX_SHOWN) {
      answer.append("\n… the rest is not shown");
      controller.abort();
      return;
    }
  }
  if (/[/+]json/.test(response.headers.get("Content-Type"))) answer.textContent = indented(answer.textContent);
}

// Only changes the white space: JSON.parse would round large numbers.
function indented(json) {
  let depth = 0;
  const line = (by) => "\n" + "  ".repeat(Math.max(0, (depth += by)));
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+|[{[]\s*[}\]]|[{[]|[}\]]|,|:/g, (part, string) => {
    if (string || part.length > 1 && part.trim() !== "") return part;
    if (part === "{" || part === "[") return part + line(1);
    if (part === "}" || part === "]") return line(-1) + part;
    if (part === ",") return part + line(0);
    return part === ":" ? ": " : "";
  });
}

function openLinked() {
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.matches("details")) target.open = true;
}

const prepared = new WeakSet();
addTools();
document.addEventListener("toggle", ({ target }) => {
  if (!operations.includes(target) || prepared.has(target)) return;
  prepared.add(target);
  prepare(target);
}, true);
addEventListener("hashchange", openLinked);
openLinked();
`;
