/**
 * Converts a path of Express into the templates of a document: `/items/:id` into `/items/{id}`. Optional groups (`{/:sub}`,
 * and `/:sub?` in Express 4) give one template with and one without the group. Returns undefined for a path that has no
 * template: a regular expression, or a mount that cannot be read.
 */
export function templatesOf(path: string): readonly string[] | undefined {
  const expanded = expand(path.replaceAll(/:(\w+)\([^()]*\)/g, ":$1"));
  if (expanded === undefined) return undefined;
  const templates = expanded.map((each) => each.replaceAll(/[:*](\w+)/g, "{$1}").replace(/(?<=.)\/$/, ""));
  return templates.every((each) => VALID.test(each)) ? [...new Set(templates)] : undefined;
}

const VALID = /^\/(?:[\w.~!$&',;=@%+-]|\{\w+\}|\/(?!\/))*$/;
const MAX_TEMPLATES = 16;

function expand(path: string): readonly string[] | undefined {
  let found = [path];
  for (let round = 0; round < 5; round++) {
    const next = found.flatMap(expandOne);
    if (next.length > MAX_TEMPLATES) return undefined;
    if (next.length === found.length) return next.map((each) => each || "/");
    found = next;
  }
  return undefined;
}

/** Returns a path without and with its first optional part, innermost first. */
function expandOne(path: string): readonly string[] {
  const group = /\{([^{}]*)\}/.exec(path);
  if (group !== null) return withAndWithout(path, group.index, group[0].length, group[1] ?? "");
  const optional = /\/:(\w+)\?/.exec(path);
  if (optional !== null)
    return withAndWithout(path, optional.index, optional[0].length, optional[0].slice(0, -1));
  return [path];
}

function withAndWithout(path: string, start: number, length: number, part: string): readonly string[] {
  const [before, after] = [path.slice(0, start), path.slice(start + length)];
  return [before + after, before + part + after];
}
