import { expect } from "chai";

/** A text that counts how many of its characters were read. */
export interface CountedText {
  readonly text: string;
  readonly read: () => number;
}

/**
 * Returns a text that counts the characters that its indexes, `charAt()`, `charCodeAt()`, `indexOf()` and `slice()` read.
 * It throws when any other member except `length` is used.
 */
export function countedText(text: string): CountedText {
  let read = 0;
  const members: Readonly<Record<string, unknown>> = {
    length: text.length,
    charAt(at: number) {
      read += 1;
      return text.charAt(at);
    },
    charCodeAt(at: number) {
      read += 1;
      return text.charCodeAt(at);
    },
    indexOf(part: string, from: number) {
      const found = text.indexOf(part, from);
      read += (found < 0 ? text.length : found + part.length) - from;
      return found;
    },
    slice(start: number, end: number) {
      const part = text.slice(start, end);
      read += part.length;
      return part;
    },
  };
  const counted = new Proxy(members, {
    get(_, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) {
        read += 1;
        return text[Number(key)];
      }
      return members[String(key)] ?? expect.fail(`the member ${String(key)} is not counted`);
    },
  });
  return { text: counted as unknown as string, read: () => read };
}
