/** A destination that keeps what was written to it. */
export interface Lines {
  write(line: string): void;
  /** Everything that was written. */
  readonly text: string;
  /** Each line parsed; throws when one is not JSON. */
  records(): Record<string, unknown>[];
}

export function lines(): Lines {
  let text = "";
  return {
    write: (line) => void (text += line),
    get text() {
      return text;
    },
    records: () =>
      text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

/** The names of the members of a line, in order, those that stand twice included. */
export function memberNames(line: string): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const [token] of line.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && token.endsWith(":")) names.push(JSON.parse(token.slice(0, -1)) as string);
  }
  return names;
}

/** The names that stand more than once in an object of a line, at any depth. */
export function repeatedNames(line: string): string[] {
  const repeated: string[] = [];
  const open: Set<string>[] = [];
  for (const [token] of line.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (token.endsWith(":")) {
      const name = JSON.parse(token.slice(0, -1)) as string;
      const names = open.at(-1);
      if (names?.has(name) === true) repeated.push(name);
      names?.add(name);
    }
  }
  return repeated;
}
