import { must, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import type { Expectation } from "./named-routes.ts";
import { type Sample, samples } from "./samples.ts";

/** Judges the status of the samples from `/openapi.json`. */
export async function eachNamed(kit: Kit, status: Expectation["status"]): Promise<readonly Verdict[]> {
  return (await namedSamples(kit, status)).map(({ what, answer }) =>
    must(answer.status === status, `${answer.status} for ${what}`, String(status)),
  );
}

/** Returns the samples of `/openapi.json` whose refusal has the expected status or no other explanation. */
async function namedSamples(kit: Kit, status: Expectation["status"]): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(
    ({ named, answer }) => named?.status === status && !isOther(status, answer.status),
  );
}

/**
 * Whether a status does not show how the service keeps the rule. A document may list a missing route and omit an
 * existing one: a method of a path, or a route that matches every path below it.
 */
function isOther(expected: Expectation["status"], status: number): boolean {
  if (expected !== 401 && status < 400) return true;
  return refusals[expected].includes(status);
}

/** Statuses with which a service may refuse a request without a body. */
const ofBodies = [400, 411, 415, 422];

const refusals: Readonly<Record<Expectation["status"], readonly number[]>> = {
  401: [...ofBodies, 404, 405, 429],
  404: [401, 403, 405, 429],
  405: [...ofBodies, 401, 403, 429],
};
