import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { runClientPart } from "./upstream-faults/client-part.ts";
import { runGatewayPart } from "./upstream-faults/gateway-part.ts";

/** The part whose fault a broken variant shows. */
const partOf: Readonly<Record<string, string>> = {
  "broken-retries-posts": "client",
  "broken-no-budget": "client",
  "broken-gateway-retries-posts": "gateway",
};

/** Calls faulty services, directly and through a gateway, and counts the requests that reach them. */
export const upstreamFaults: Experiment = {
  name: "upstream-faults",
  description:
    "a client and a gateway call services that refuse, hang, fail, lie or die: calls end in time, no POST arrives twice",
  brokenVariants: Object.keys(partOf),
  parts: ["client", "gateway"],
  async run(run, report) {
    if (includes(run, "client")) await runClientPart(run, report);
    if (includes(run, "gateway")) await runGatewayPart(run, report);
  },
};

function includes({ variant, only }: Run, part: string): boolean {
  return variant === asBuilt ? only === undefined || only === part : partOf[variant] === part;
}
