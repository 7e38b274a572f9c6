import { escapeUnseen, quote } from "./quote.ts";
import type { LineDestination } from "./options.ts";

interface Flushable extends LineDestination {
  flush?(done?: (error?: Error) => void): void;
  flushSync?(): void;
}

/** Wraps a destination so that it receives JSON lines as human-readable text (LOG-6). */
export function textLines(destination: LineDestination): Flushable {
  const inner: Flushable = destination;
  return {
    write: (line) => inner.write(readable(line)),
    flush: (done) => (inner.flush === undefined ? done?.() : inner.flush(done)),
    flushSync: () => inner.flushSync?.(),
  };
}

// These members come first, in this order, without their names.
const leading = new Set(["time", "level", "message"]);
const unprintable = /[\p{Cc}\u2028\u2029]/gu;
const bare = /^[\w.:/@+-]+$/;

/**
 * Returns `time LEVEL message name=value ...` as one line, then an error's stack, each line indented by four spaces. Escapes
 * control characters everywhere, so that no value can start a line or move the cursor.
 */
export function readable(line: string): string {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return `${printable(line.trimEnd())}\n`;
  }
  const { time, level, message } = fields;
  let text = `${show(time)} ${show(level).toUpperCase().padEnd(5)} ${show(message)}`;
  let below = "";
  for (const [name, value] of Object.entries(fields)) {
    if (leading.has(name)) continue;
    const stack = stackOf(value);
    if (stack === undefined) text += ` ${printable(name)}=${showValue(value)}`;
    else below += stack.split("\n").reduce((lines, each) => `${lines}    ${printable(each.trim())}\n`, "");
  }
  return `${text}\n${below}`;
}

function stackOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { stack } = value as { stack?: unknown };
  return typeof stack === "string" && stack !== "" ? stack : undefined;
}

function show(value: unknown): string {
  return typeof value === "string" ? printable(value) : "";
}

function showValue(value: unknown): string {
  if (typeof value !== "string") return escapeUnseen(JSON.stringify(value));
  return bare.test(value) ? value : quote(value);
}

function printable(text: string): string {
  return text.replace(unprintable, (char) => {
    if (char === "\n") return "\\n";
    if (char === "\r") return "\\r";
    return char === "\t" ? "\\t" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
