export { memberNames, repeatedNames } from "@svc/test-support";

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
