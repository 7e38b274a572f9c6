import { type Bounds, boundedGet } from "./bounded-get.ts";
import { cleanText } from "./clean-text.ts";
import { LoadTestError } from "./errors.ts";
import { failureText, kindOf } from "./failure-kinds.ts";
import type { Settings } from "./options.ts";

/** A description of OpenAPI 3.0 or 3.1. Code that reads a member checks its type first. */
export type Description = Readonly<Record<string, unknown>>;

const LIMITS: Bounds = { ms: 10_000, bytes: 5 * 1024 ** 2 };

/**
 * Reads `/openapi.json` of the service (LOAD-1).
 *
 * @throws LoadTestError ERR_SVC_LOAD_TEST_TARGET without a connection; ERR_SVC_LOAD_TEST_DESCRIPTION for any other
 *   response
 */
export async function readDescription(
  { origin, prefix, headers, token }: Settings,
  signal?: AbortSignal,
  limits: Bounds = LIMITS,
): Promise<Description> {
  const path = `${prefix}/openapi.json`;
  let answer;
  try {
    answer = await boundedGet(origin, path, headers, limits, signal);
  } catch (error) {
    const text = cleanText(failureText(error), token);
    if (kindOf(error as Error) === "refused")
      throw new LoadTestError("ERR_SVC_LOAD_TEST_TARGET", `cannot connect to ${origin}: ${text}`, {
        cause: error,
      });
    throw unreadable(`GET ${path} failed: ${text}`, error);
  }
  if (answer === undefined) throw unreadable(`GET ${path} did not answer within ${limits.ms / 1000} s`);
  const { status, contentType, body } = answer;
  if (status !== 200) throw unreadable(`GET ${path} answered ${status}`);
  if (body === undefined) throw unreadable(`GET ${path} answered more than ${limits.bytes / 1024 ** 2} MiB`);
  const document = parse(body);
  if (document === undefined) {
    const type = cleanText(contentType, token) || "no content type";
    throw unreadable(`GET ${path} did not return a JSON object (${type})`);
  }
  const { openapi, swagger } = document;
  if (typeof openapi === "string" && /^3\.[01](?:\.|$)/.test(openapi)) return document;
  const version = cleanText(versionText(openapi ?? swagger), token);
  throw unreadable(`GET ${path} answered ${version}, not OpenAPI 3.0 or 3.1`);
}

/** Does not write objects, because they may be nested too deeply for `JSON.stringify()`. */
function versionText(version: unknown): string {
  if (version === undefined) return "no version";
  const isShort = typeof version === "string" || typeof version === "number";
  return isShort ? JSON.stringify(version) : "a version that is not a string";
}

function parse(body: string): Description | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unreadable(message: string, cause?: unknown): LoadTestError {
  return new LoadTestError(
    "ERR_SVC_LOAD_TEST_DESCRIPTION",
    `${message}; give --route to load without a description`,
    cause === undefined ? undefined : { cause },
  );
}
