export { memberNames, repeatedNames } from "@svc/test-support";

/** A destination that stores the lines written to it. */
export interface Lines {
  write(line: string): void;
  /** All text written so far. */
  readonly text: string;
  /** Returns each line parsed; throws when a line is not JSON. */
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
