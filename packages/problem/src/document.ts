import { jsonSafe } from "./json-safe.ts";
import { defaultDetail, statusPhrase } from "./statuses.ts";

/** The members of a problem document that do not follow from its status. */
export interface ProblemFields {
  readonly status: number;
  /** Default: `authentication required` for 401, the generic sentence for 500, else the phrase of the status. */
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

/** Returns the body of an error: the six members of every problem (ERR-2), then the extensions. Never throws. */
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
    // Send the error response even if an extension has a cycle, a bigint or a toJSON that throws.
    return JSON.stringify(jsonSafe(value));
  }
}
