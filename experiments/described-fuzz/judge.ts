import { Ajv2020 } from "ajv/dist/2020.js";
import type { Outcome } from "../harness/client.ts";
import type { Case } from "./cases.ts";
import type { JsonSchema } from "./document.ts";

/** The kinds of faults. Each is a rule of the experiment. */
export const faultKinds = [
  "server error",
  "undeclared status",
  "no problem",
  "wrong body",
  "valid refused",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** The fault of a response. */
export interface Fault {
  readonly kind: FaultKind;
  readonly text: string;
}

const PROBLEM = "application/problem+json";
const HTML = "text/html";

/** Returns a function that finds the faults of a response according to the document of the service. */
export function createJudge(document: JsonSchema): (sent: Case, answer: Outcome) => readonly Fault[] {
  const ajv = new Ajv2020({ strict: false });
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/);
  ajv.addSchema({ ...document, $id: "document" });

  /** Returns the part of its description that a body violates; undefined if the body matches. */
  function schemaFault(
    { template, method }: Case["operation"],
    status: number,
    type: string,
    body: string,
  ): string | undefined {
    const pointer = [
      "paths",
      template,
      method.toLowerCase(),
      "responses",
      String(status),
      "content",
      type,
      "schema",
    ];
    const check = ajv.getSchema(`document#/${pointer.map(escaped).join("/")}`);
    if (check === undefined) throw new Error(`no schema for ${method} ${template} ${status} ${type}`);
    const value = parsed(body);
    if (value === undefined) return "a body that is not JSON";
    return check(value) === true ? undefined : ajv.errorsText(check.errors, { dataVar: "body" });
  }

  return (sent, answer) => {
    const { operation, twists } = sent;
    const { status } = answer;
    const faults: Fault[] = [];
    const add = (kind: FaultKind, text: string): void => void faults.push({ kind, text });
    if (status >= 500 || status === 0) {
      add("server error", status === 0 ? `no response: ${answer.error}` : String(status));
      return faults;
    }
    const [type = ""] = String(answer.headers["content-type"] ?? "").split(";");
    const declared = operation.responses.get(status);
    const isConditional = status === 304 && sent.headers["If-None-Match"] !== undefined;
    if (sent.isAddressed && declared === undefined && !isConditional)
      add("undeclared status", String(status));
    // If the operation needs no token, a 401 may concern a secret in the body, which no schema describes.
    const refusals = operation.needsToken ? [401, 403, 415, 422] : [403, 415, 422];
    if (twists.length === 0 && refusals.includes(status) && isDescribed(sent))
      add("valid refused", `${status} ${answer.body}`);
    if (sent.method === "HEAD" || status === 304) return faults;
    if (status >= 400) {
      const isPage = operation.isForPeople && type === HTML;
      const fault = isPage ? undefined : problemFault(answer, type);
      if (fault !== undefined) add("no problem", `${status} ${fault}`);
    }
    if (!sent.isAddressed || declared === undefined || declared.length === 0) return faults;
    if (declared.includes(type) && type.endsWith("json")) {
      const fault = schemaFault(operation, status, type, answer.body);
      if (fault !== undefined) add(status >= 400 ? "no problem" : "wrong body", `${status} ${fault}`);
    } else if (status < 300 && !declared.includes(type)) add("wrong body", `${status} of the type ${type}`);
    return faults;
  };
}

/** Returns whether the description contains everything that a valid request needs. */
function isDescribed({ operation: { method, body, isForPeople } }: Case): boolean {
  return !isForPeople && (method === "GET" || body !== undefined);
}

function problemFault({ status, headers, body }: Outcome, type: string): string | undefined {
  if (type !== PROBLEM) return `of the type ${type || "(none)"}`;
  const value = parsed(body);
  if (typeof value !== "object" || value === null) return "a body that is not an object";
  const members = value as JsonSchema;
  if (members["status"] !== status) return "another status in the body";
  if (members["request_id"] !== headers["x-request-id"]) return "another request_id in the body";
  const missing = ["type", "title", "detail", "instance"].find((name) => typeof members[name] !== "string");
  return missing === undefined ? undefined : `no ${missing}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}
