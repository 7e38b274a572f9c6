import type { IncomingMessage, ServerResponse } from "node:http";
import { isSecretName, type Logger, onResponseEnd } from "@svc/context";
import type { RouteDescription } from "./description.ts";
import { type SchemaResult, validatorOf } from "./schema.ts";

const CHECKER: unique symbol = Symbol.for("@svc/openapi/check") as never;

interface CheckedRequest extends IncomingMessage {
  [CHECKER]?: ResponseChecker;
}

interface JsonResponse extends ServerResponse {
  json?: (body: unknown) => unknown;
}

/** Reports responses that differ from the description of their route. */
export interface ResponseChecker {
  /** Reports a fault once per route and kind. */
  report(description: RouteDescription, kind: string): void;
}

/** The most faults that are remembered; a service has fewer routes and kinds. */
const MAX_REPORTED = 10_000;

/** Creates a checker that logs each fault of a route once, at WARN. */
export function createResponseChecker(logger: Logger): ResponseChecker {
  const reported = new Set<string>();
  return {
    report({ method, path }, kind) {
      const template = path.replaceAll(/:(\w+)/g, "{$1}");
      const text = `an answer of ${method.toUpperCase()} ${template} is not as described: ${kind}`;
      if (reported.has(text) || reported.size >= MAX_REPORTED) return;
      reported.add(text);
      logger.warn({}, text);
    },
  };
}

/** Has the responses to a request checked. */
export function useChecker(req: IncomingMessage, checker: ResponseChecker): void {
  (req as CheckedRequest)[CHECKER] = checker;
}

/** Checks the response to a request, if it has a checker. Never changes the response; ignores streams and HEAD. */
export function checkResponse(
  req: IncomingMessage,
  res: ServerResponse,
  description: RouteDescription,
): void {
  const checker = (req as CheckedRequest)[CHECKER];
  if (checker === undefined || req.method === "HEAD") return;
  onResponseEnd(req, res, () => {
    const { statusCode } = res;
    if (res.headersSent && !isDescribed(description, statusCode))
      checker.report(description, `status ${statusCode} is not described`);
  });
  const response = res as JsonResponse;
  const { json } = response;
  if (json === undefined) return;
  response.json = (body) => {
    checkBody(body, res.statusCode, description, checker);
    response.json = json;
    return json.call(res, body);
  };
}

/** Returns whether a handler may answer with a status. Express answers 304 itself, and any handler can fail. */
function isDescribed({ responses = {} }: RouteDescription, status: number): boolean {
  return status >= 500 || status === 304 || Object.hasOwn(responses, status);
}

function checkBody(
  body: unknown,
  status: number,
  description: RouteDescription,
  checker: ResponseChecker,
): void {
  const described = description.responses?.[status];
  const schema = typeof described === "object" ? described.body : undefined;
  const validator = schema && validatorOf(schema);
  if (validator === undefined) return;
  try {
    // The client receives the JSON text, in which a date is a string.
    const sent: unknown = JSON.parse(JSON.stringify(body) ?? "null");
    const result = validator["~standard"].validate(sent);
    if (result instanceof Promise) void result.then(report, () => undefined);
    else report(result);
  } catch {
    // A body that cannot be sent fails in res.json().
  }

  function report({ issues }: SchemaResult<unknown>): void {
    for (const { path = [], message } of issues?.slice(0, 10) ?? []) {
      const place = path.map((part) => (typeof part === "object" ? part.key : part)).map(withoutIndex);
      const fault = place.some(isSecretName) ? "is invalid" : message;
      checker.report(description, `${status} body /${place.join("/")} ${fault}`);
    }
  }
}

// One fault per member, not per element.
function withoutIndex(key: PropertyKey): string {
  return typeof key === "number" ? "*" : String(key);
}
