import { isUtf8 } from "node:buffer";
import type { ProblemError } from "@svc/problem";
import { isDeeperThan } from "./depth.ts";
import { malformed } from "./faults.ts";
import { hasForbiddenKey } from "./forbidden-keys.ts";
import { faultPosition } from "./json-fault.ts";

/** Limits for JSON. */
export interface JsonRules {
  readonly maxDepth: number;
  readonly strict: boolean;
}

/** The value parsed from JSON bytes, or the problem for the client. */
export type Parsed = { readonly value: unknown } | { readonly fault: ProblemError };

const BYTE_ORDER_MARK = 0xfeff;

/** Parses a body's bytes. Never throws, for any bytes. */
export function parseJson(bytes: Buffer, { maxDepth, strict }: JsonRules): Parsed {
  if (!isUtf8(bytes)) return fault("ERR_SVC_BODY_NOT_UTF8", "the body is not valid UTF-8");
  if (isDeeperThan(bytes, maxDepth)) {
    return fault("ERR_SVC_BODY_TOO_DEEP", `the body nests deeper than ${maxDepth} levels`);
  }
  let text = bytes.toString("utf8");
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fault("ERR_SVC_BODY_MALFORMED", `the body is not valid JSON at ${place(text)}`);
  }
  if (strict && (typeof value !== "object" || value === null)) {
    return fault("ERR_SVC_BODY_SCALAR", "the body must be a JSON object or array");
  }
  if (hasForbiddenKey(text, value)) {
    return fault(
      "ERR_SVC_BODY_FORBIDDEN_KEY",
      "the body has a key that is not allowed: __proto__ or constructor",
    );
  }
  return { value };
}

function fault(code: Parameters<typeof malformed>[0], detail: string): Parsed {
  return { fault: malformed(code, detail) };
}

function place(text: string): string {
  const position = faultPosition(text);
  const before = text.slice(0, position);
  const line = before.split("\n").length;
  const column = position - before.lastIndexOf("\n");
  return `position ${position} (line ${line}, column ${column})`;
}
