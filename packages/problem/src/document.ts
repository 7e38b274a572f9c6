import type { IncomingMessage } from "node:http";
import { jsonSafe } from "./json-safe.ts";
import { defaultDetail, statusPhrase } from "./statuses.ts";

/** The parts of a problem document that do not follow from its status. */
export interface ProblemFields {
  readonly status: number;
  /** Default: `authentication required` for 401, the generic sentence for 500, else the phrase. */
  readonly detail?: string | undefined;
  readonly type?: string | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
}

const RESERVED: ReadonlySet<string> = new Set([
  "type",
  "title",
  "status",
  "detail",
  "instance",
  "request_id",
  "__proto__",
]);

/** Returns the body of an error: the six members of every problem (ERR-2), then the extra ones. Never throws. */
export function problemBody(fields: ProblemFields, instance: string, requestId: string): Buffer {
  const { status, detail = defaultDetail(status), extensions } = fields;
  const type = fields.type === undefined ? '"about:blank"' : JSON.stringify(fields.type);
  let text =
    `{"type":${type},"title":"${statusPhrase(status)}","status":${status},` +
    `"detail":${JSON.stringify(detail)},"instance":${JSON.stringify(instance)},` +
    `"request_id":${JSON.stringify(requestId)}`;
  if (extensions !== undefined) text += extraMembers(extensions);
  return Buffer.from(`${text}}`);
}

function extraMembers(extensions: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const name of Object.keys(extensions)) {
    if (RESERVED.has(name)) continue;
    const value = memberText(extensions, name);
    if (value !== undefined) text += `,${JSON.stringify(name)}:${value}`;
  }
  return text;
}

function memberText(extensions: Readonly<Record<string, unknown>>, name: string): string | undefined {
  let value: unknown;
  try {
    value = extensions[name];
    return JSON.stringify(value);
  } catch {
    // Send the error answer also for a cycle, a bigint or a toJSON that throws.
    return JSON.stringify(jsonSafe(value));
  }
}

/**
 * Returns the path of a request without its query (ERR-4), as the client sent it: with the prefixes that routers remove,
 * and without scheme and host when the target was an absolute URL.
 */
export function instanceOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { originalUrl?: unknown };
  return pathOf(typeof originalUrl === "string" ? originalUrl : (req.url ?? ""));
}

/** Returns the path of a request target. */
export function pathOf(target: string): string {
  let start = 0;
  if (target.charCodeAt(0) !== SLASH) {
    const scheme = target.indexOf("://");
    if (scheme > 0 && !target.slice(0, scheme).includes("?")) {
      start = target.slice(scheme + 3).search(/[/?#]/);
      if (start === -1) return "/";
      start += scheme + 3;
    }
  }
  let end = start;
  while (end < target.length) {
    const code = target.charCodeAt(end);
    if (code === QUESTION_MARK || code === HASH) break;
    end += 1;
  }
  return start === end ? "/" : target.slice(start, end);
}

const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;
const HASH = 0x23;
