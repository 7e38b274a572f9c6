import { tally } from "../harness/client.ts";
import type { Report } from "../harness/report.ts";
import type { Arrival } from "./faulty-server.ts";
import type { GatewayCall } from "./gateway-call.ts";

/** The details of a gateway's problems, by status, after the words `the service behind <prefix>`. */
const details: Readonly<Record<number, string>> = {
  502: "sent an invalid response",
  503: "is not answering",
  504: "did not answer in time",
};

const address = /127\.0\.0\.1|localhost|::1|ECONN|undici/i;

/** Returns the result of a call in words, such as `502 problem` or `200 cut off`. */
export function resultOf({ status, headers, ending }: GatewayCall): string {
  if (ending !== "complete") return status === 0 ? ending : `${status} ${ending}`;
  return headers["content-type"] === "application/problem+json" ? `${status} problem` : `${status} complete`;
}

interface Expected {
  readonly name: string;
  readonly prefix: string;
  readonly results: readonly string[];
}

/** Checks the responses of all calls of a route, and the requests that arrived at its targets. */
export function judgeCalls(
  { name, prefix, results }: Expected,
  calls: readonly GatewayCall[],
  arrivals: readonly Arrival[],
  report: Report,
): void {
  const others = calls.map(resultOf).filter((each) => !results.includes(each));
  report.rule(
    others.length === 0,
    `${name}: every result is ${results.join(" or ")} (others: ${tally(others)})`,
  );

  const problems = calls.filter((each) => resultOf(each).endsWith("problem"));
  const faults = problems.flatMap((each) => problemFault(each, prefix) ?? []);
  report.rule(
    faults.length === 0,
    `${name}: problems have the documented text and no address (${tally(faults)})`,
  );

  const ids = new Set(arrivals.map(({ call }) => call));
  const repeated = arrivals.length - ids.size;
  report.rule(repeated === 0, `${name}: no request arrives twice (${repeated})`);

  const foreign = arrivals.filter(({ head }) => /forged/i.test(head)).length;
  report.rule(foreign === 0, `${name}: no forged header reaches the service (${foreign})`);
  const returned = calls.filter(({ rawHeaders }) => /foreign/i.test(rawHeaders.join())).length;
  report.rule(returned === 0, `${name}: no header of another connection reaches the client (${returned})`);
}

/** Returns the difference between a problem and the documentation; undefined if there is none. */
function problemFault(
  { status, headers, body, rawHeaders }: GatewayCall,
  prefix: string,
): string | undefined {
  const { detail, request_id: id } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  if (detail !== `the service behind ${prefix} ${details[status]}`) return `detail ${String(detail)}`;
  if (id !== headers["x-request-id"]) return "another request_id";
  if ((status === 503) !== (headers["retry-after"] !== undefined)) return `${status} and Retry-After`;
  return address.test(body + rawHeaders.join()) ? "an address" : undefined;
}
