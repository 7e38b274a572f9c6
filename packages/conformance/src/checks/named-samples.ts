import { must, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { type Expectation, type Sample, samples } from "./samples.ts";

/** Judges the status of the samples that `/openapi.json` names. */
export async function eachNamed(kit: Kit, status: Expectation["status"]): Promise<readonly Verdict[]> {
  return (await namedSamples(kit, status)).map(({ what, answer }) =>
    must(answer.status === status, `${answer.status} for ${what}`, String(status)),
  );
}

/** The samples that `/openapi.json` names, of those that were refused with what they have to be or for nothing else. */
async function namedSamples(kit: Kit, status: Expectation["status"]): Promise<readonly Sample[]> {
  return (await samples(kit)).filter(
    ({ named, answer }) => named?.status === status && !isOther(status, answer.status),
  );
}

/**
 * Whether a status leaves open how the service keeps the rule. A document may name a route that is not there and lack
 * one that is there: a method of a path, or a route that takes every path below it.
 */
function isOther(expected: Expectation["status"], status: number): boolean {
  if (expected !== 401 && status < 400) return true;
  return refusals[expected].includes(status);
}

/** A request without a body may be refused for that. */
const ofBodies = [400, 411, 415, 422];

const refusals: Readonly<Record<Expectation["status"], readonly number[]>> = {
  401: [...ofBodies, 404, 405, 429],
  404: [401, 403, 405, 429],
  405: [...ofBodies, 401, 403, 429],
};
