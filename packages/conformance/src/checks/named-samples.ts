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
  const elsewhere: readonly number[] = status === 401 ? notOfCallers : [401, 403, 429];
  return (await samples(kit)).filter(
    ({ named, answer }) => named?.status === status && !elsewhere.includes(answer.status),
  );
}

/** A request without a body may be refused for that, and a document may name a route that is not there. */
const notOfCallers = [400, 404, 405, 411, 415, 422, 429];
