import { closeSync, openSync, readSync, statSync } from "node:fs";
import { parse, TomlError } from "smol-toml";
import type { FaultList } from "./fault-list.ts";

/** Maximum size of a file, in bytes. */
export const largestFile: number = 1024 * 1024;

/** Returns the text of a configuration file. On failure adds a fault and returns undefined. */
export function readFile(file: string | URL, faults: FaultList): string | undefined {
  function refuse(reason: string): undefined {
    faults.add(String(file), () => reason);
    return undefined;
  }
  let bytes: Uint8Array;
  try {
    // Check before opening, because opening a named pipe would wait for its writer.
    if (!statSync(file).isFile()) return refuse("is not a file");
    bytes = readAtMost(file, largestFile + 1);
  } catch (error) {
    return refuse(reasonOf(error));
  }
  if (bytes.length > largestFile) return refuse(tooLarge);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return refuse("is not UTF-8 text");
  }
}

/** Parses TOML. On failure adds a fault with line, column and reason, but no content, and returns undefined. */
export function parseToml(text: string, faults: FaultList): object | undefined {
  if (text.length > largestFile) {
    faults.add("text", () => tooLarge);
    return undefined;
  }
  try {
    return parse(text, { maxDepth: 64 });
  } catch (error) {
    // Discard the parser's own message, because it quotes lines that may contain a password.
    if (!(error instanceof TomlError)) throw error;
    const reason = reasons.find(([theirs]) => error.message.includes(`: ${theirs}`))?.[1];
    faults.add(`line ${error.line}, column ${error.column}`, () =>
      reason === undefined ? "is not valid TOML" : `is not valid TOML: ${reason}`,
    );
    return undefined;
  }
}

const tooLarge = `is larger than ${largestFile} bytes`;

function readAtMost(file: string | URL, length: number): Uint8Array {
  const handle = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(length);
    let filled = 0;
    while (filled < length) {
      const count = readSync(handle, buffer, filled, length - filled, null);
      if (count === 0) break;
      filled += count;
    }
    return buffer.subarray(0, filled);
  } finally {
    closeSync(handle);
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  if (code === "ENOENT") return `does not exist (looked for from ${process.cwd()})`;
  if (code === "EACCES" || code === "EPERM") return "cannot be read by this user";
  return `cannot be read (${code})`;
}

// The parser's messages, and the messages for users that replace them.
const reasons: readonly (readonly [string, string])[] = [
  ["unfinished string", "a string is not closed"],
  [
    "control characters",
    "a string or comment contains a control character; use three quotes for a string with line breaks",
  ],
  ["unfinished array", "a list is not closed"],
  ["unfinished table", "an inline table is not closed"],
  ["expected comma", "a comma or a closing bracket is missing"],
  ["expected end of table array", "a closing bracket is missing"],
  ["trying to redefine", "this key or table is already defined"],
  ["each key-value", "more text follows the value; write one key per line"],
  ["incomplete key-value", "a key has no value"],
  ["illegal character in key", "an unquoted key may contain only letters, digits, - and _"],
  ["integer value cannot", "the number is too large"],
  ["invalid value", "the value is not valid; a string needs quotes"],
  ["illegal leading zero", "a number begins with 0"],
  ["unrecognised escape", "a backslash begins an unknown escape sequence; double it or use single quotes"],
  ["document contains excessively", "lists or tables are nested too deeply"],
];
