import { type Bounds, boundedGet } from "./bounded-get.ts";
import { cleanText } from "./clean-text.ts";
import { failureText } from "./failure-kinds.ts";
import type { Settings } from "./options.ts";
import type { Check, Readiness } from "./report.ts";

const LIMITS: Bounds = { ms: 2000, bytes: 1024 ** 2 };
/** Maximum number of reported checks. A service has fewer. */
const MOST_CHECKS = 50;

/** Reads `/ready` and returns the checks that are not ok (LOAD-5). */
export async function readReadiness(
  { origin, prefix, headers, token }: Settings,
  limits: Bounds = LIMITS,
): Promise<Readiness> {
  const path = `${prefix}/ready`;
  const failed = (how: string): Readiness => ({ failure: `GET ${path} ${how}`, notOk: [] });
  let answer;
  try {
    answer = await boundedGet(origin, path, headers, limits);
  } catch (error) {
    return failed(`failed: ${cleanText(failureText(error), token)}`);
  }
  if (answer === undefined) return failed(`did not answer within ${limits.ms / 1000} s`);
  const checks = checksOf(answer.body);
  if (checks === undefined) return failed(`answered ${answer.status} without checks`);
  const notOk = Object.entries(checks).flatMap(([name, check]) => {
    const known = typeof check === "object" && check !== null ? (check as Record<string, unknown>) : {};
    return isOk(known) ? [] : [describeCheck(name, known, token)];
  });
  return { failure: null, notOk: notOk.slice(0, MOST_CHECKS) };
}

function checksOf(body: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const { checks } = JSON.parse(body ?? "") as { checks?: unknown };
    return typeof checks === "object" && checks !== null ? (checks as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a check is ok. Some implementations report a status next to `healthy`, which also gives the reason. */
function isOk({ status, healthy }: Readonly<Record<string, unknown>>): boolean {
  return typeof status === "string" ? status === "ok" : healthy === true;
}

function describeCheck(
  name: string,
  { detail, critical }: Readonly<Record<string, unknown>>,
  token: string | undefined,
): Check {
  return {
    name: cleanText(name, token),
    detail: typeof detail === "string" ? cleanText(detail, token) : "",
    isCritical: critical === true,
  };
}
