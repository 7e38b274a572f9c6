import type { Algorithm } from "@svc/jwt-auth";
import { createMemoryTokenStore } from "@svc/token-store";
import type { Subject } from "../../harness/subject.ts";
import { inFlight } from "../in-flight.ts";
import { createIssuing, pairRequest, provePairs } from "../issuing.ts";

/** Issues pairs. The setting is the algorithm. */
export async function start(setting: string): Promise<Subject> {
  const algorithm = setting as Algorithm;
  const issuing = createIssuing(algorithm, createMemoryTokenStore());
  return {
    prove: () => provePairs(issuing, algorithm),
    run: (count) =>
      inFlight(count, async () => {
        await issuing.issuer.issuePair(pairRequest);
      }),
  };
}
