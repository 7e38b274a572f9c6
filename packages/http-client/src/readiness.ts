import type { ReadinessCheck } from "@svc/context";
import type { Breaker } from "@svc/resilience";
import type { Bulkhead } from "./bulkhead.ts";

/**
 * Returns the check `http:<name>`. It reports the state of the circuit breaker and never calls the upstream, because that
 * would add load to a failing service.
 */
export function upstreamCheck(
  name: string,
  critical: boolean,
  breaker: Breaker,
  bulkhead: Bulkhead,
): ReadinessCheck {
  return {
    name: `http:${name}`,
    critical,
    check() {
      const meta = { calls: bulkhead.running, waiting: bulkhead.waiting };
      if (breaker.state === "closed") return { healthy: true, detail: "answering", meta };
      const seconds = Math.ceil(breaker.retryAfterMs / 1000);
      // Report healthy: a service that is not ready gets no requests, so it would never make the trial that closes the
      // breaker.
      if (seconds === 0)
        return { healthy: true, detail: "the last calls failed; the next call is a trial", meta };
      return { healthy: false, detail: `not answering; the next call is possible in ${seconds} s`, meta };
    },
  };
}
