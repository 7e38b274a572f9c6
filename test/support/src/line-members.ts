/** Returns the member names of a JSON line in order, duplicates included. */
export function memberNames(line: string): string[] {
  return allNames(line).flatMap(({ depth, name }) => (depth === 1 ? [name] : []));
}

/** Returns the names that occur more than once in one object of a JSON line, at any depth. */
export function repeatedNames(line: string): string[] {
  const seen = new Set<string>();
  return allNames(line).flatMap(({ object, name }) => {
    const key = `${object} ${name}`;
    if (seen.has(key)) return [name];
    seen.add(key);
    return [];
  });
}

interface Name {
  /** The number of the object that contains the name. */
  readonly object: number;
  /** The nesting depth: the number of objects and lists that contain the name. */
  readonly depth: number;
  readonly name: string;
}

// Scan the text, because JSON.parse() keeps only the last of two members with the same name.
function allNames(line: string): Name[] {
  const names: Name[] = [];
  const open: number[] = [];
  let objects = 0;
  for (const [token] of line.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g)) {
    if (token === "{" || token === "[") open.push(objects++);
    else if (token === "}" || token === "]") open.pop();
    else if (token.endsWith(":")) {
      const name = JSON.parse(token.slice(0, -1)) as string;
      names.push({ object: open.at(-1) ?? -1, depth: open.length, name });
    }
  }
  return names;
}
