import { setTimeout as sleep } from "node:timers/promises";
import { expectEqual } from "../harness/expect-equal.ts";
import type { Case, Keys } from "./cases.ts";
import { type Endpoint, endpoint, KID } from "./endpoint.ts";

/** One result, and the bound for `svc`. */
export interface Scenario {
  readonly metric: string;
  readonly bound: number;
  readonly better: "less" | "more";
  readonly run: (make: Case) => Promise<number>;
}

const HOUR_MS = 3_600_000;
const SHORT_AGE_MS = 1000;
// This time exceeds the maximum age, including its jitter of a tenth.
const PAST_AGE_MS = 1500;
// The rate limit of jwks-rsa queues concurrent calls for minutes; the scenario stops waiting after this time.
const PATIENCE_MS = 5000;

export const scenarios: readonly Scenario[] = [
  {
    metric: "fetches/50-cold",
    bound: 6,
    better: "less",
    run: (make) =>
      against(make, HOUR_MS, async (keys, server) => {
        server.become("out");
        for (let call = 0; call < 50; call++) await answered(keys, KID);
        return server.fetches;
      }),
  },
  {
    metric: "fetches/200-random-kids",
    bound: 1,
    better: "less",
    run: (make) =>
      against(make, HOUR_MS, async (keys, server) => {
        await mustAnswer(keys);
        server.become("up");
        for (let call = 0; call < 200; call++) await answered(keys, `random ${call}`);
        return server.fetches;
      }),
  },
  {
    metric: "fetches/100-concurrent",
    bound: 2,
    better: "less",
    run: (make) =>
      against(make, HOUR_MS, async (keys, server) => {
        server.become("out");
        const calls = Array.from({ length: 100 }, (_, call) => answered(keys, `random ${call}`));
        await Promise.race([Promise.all(calls), sleep(PATIENCE_MS, undefined, { ref: false })]);
        return server.fetches;
      }),
  },
  {
    metric: "answered/outage-of-20",
    bound: 20,
    better: "more",
    run: (make) =>
      against(make, SHORT_AGE_MS, async (keys, server) => {
        await mustAnswer(keys);
        server.become("out");
        await sleep(PAST_AGE_MS);
        let count = 0;
        for (let call = 0; call < 20; call++) if (await answered(keys, KID)) count += 1;
        return count;
      }),
  },
];

/** Returns whether `svc` keeps its bound. */
export function keeps({ bound, better }: Scenario, value: number): boolean {
  return better === "less" ? value <= bound : value >= bound;
}

async function against(
  make: Case,
  maxAgeMs: number,
  run: (keys: Keys, server: Endpoint) => Promise<number>,
): Promise<number> {
  await using server = await endpoint();
  const keys = make(server.url, maxAgeMs);
  try {
    return await run(keys, server);
  } finally {
    keys.stop();
  }
}

async function answered(keys: Keys, kid: string): Promise<boolean> {
  try {
    return (await keys.keyOf(kid)) !== undefined;
  } catch {
    return false;
  }
}

// Check that the client works: a client that fails every call would send the fewest requests.
async function mustAnswer(keys: Keys): Promise<void> {
  expectEqual("a key that is published", await answered(keys, KID), true);
}
