import type { IncomingMessage, ServerResponse } from "node:http";
import { isSecretName, type Logger, onResponseEnd } from "@svc/context";
import { safeLogger } from "@svc/resilience";
import type { RouteDescription } from "./description.ts";
import { hasPlainMessages, type SchemaResult, validatorOf } from "./schema.ts";

const CHECKER: unique symbol = Symbol.for("@svc/openapi/check") as never;

interface CheckedRequest extends IncomingMessage {
  [CHECKER]?: ResponseChecker;
}

interface JsonResponse extends ServerResponse {
  json?: (...args: unknown[]) => unknown;
}

/** Reports responses that differ from the description of their route. */
export interface ResponseChecker {
  /** Reports a fault once per route and kind. */
  report(description: RouteDescription, kind: string): void;
}

/** Maximum number of remembered faults. A service has fewer combinations of route and kind. */
const MAX_REPORTED = 1000;
const MAX_TEXT = 300;

/** Creates a checker that logs each fault of a route once, at WARN. */
export function createResponseChecker(logger: Logger): ResponseChecker {
  const log = safeLogger(logger);
  const reported = new Set<string>();
  return {
    report({ method, path }, kind) {
      const template = path.replaceAll(/:(\w+)/g, "{$1}");
      const text = `an answer of ${method.toUpperCase()} ${template} is not as described: ${kind}`.slice(
        0,
        MAX_TEXT,
      );
      if (reported.has(text) || reported.size >= MAX_REPORTED) return;
      reported.add(text);
      log?.warn({}, text);
    },
  };
}

/** Enables the check of the response to a request. */
export function useChecker(req: IncomingMessage, checker: ResponseChecker): void {
  (req as CheckedRequest)[CHECKER] = checker;
}

/** Checks the response to a request, if it has a checker. Never changes the response; ignores HEAD, and the bodies of streams. */
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
  response.json = (...args) => {
    response.json = json;
    // Express 4 also accepts a status as the second argument.
    if (args.length === 1) checkBody(args[0], res.statusCode, description, checker);
    return json.apply(res, args);
  };
}

/** Statuses that Express, guards, parsers and limits may send on any route. */
const IMPLIED: ReadonlySet<number> = new Set([304, 400, 401, 403, 413, 415, 422, 429]);

/** Returns whether a handler may respond with a status. Express sends 304 itself, and any handler can fail. */
function isDescribed({ responses }: RouteDescription, status: number): boolean {
  return responses === undefined || IMPLIED.has(status) || status >= 500 || Object.hasOwn(responses, status);
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
  const isPlain = hasPlainMessages(validator);
  try {
    // The client receives the JSON text, in which a date is a string.
    const sent: unknown = JSON.parse(JSON.stringify(body) ?? "null");
    const result = validator["~standard"].validate(sent);
    if (result instanceof Promise) void result.then(report, () => undefined);
    else report(result);
  } catch {
    // Ignore: res.json() throws for a body that cannot be serialized, and a failing schema must not affect the response.
  }

  function report({ issues }: SchemaResult<unknown>): void {
    for (const { path = [], message } of issues?.slice(0, 10) ?? []) {
      const place = Array.from(path, (part) => withoutIndex(typeof part === "object" ? part.key : part));
      const fault = place.some(isSecretName) || !isPlain ? "is invalid" : message;
      checker.report(description, `${status} body /${place.join("/")} ${fault}`);
    }
  }
}

// Report one fault per member, not per element.
function withoutIndex(key: PropertyKey): string {
  return typeof key === "number" ? "*" : String(key);
}
