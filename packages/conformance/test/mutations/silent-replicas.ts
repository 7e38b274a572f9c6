import type { Mutation } from "./mutation.ts";
import { json } from "./report-changes.ts";

const another = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;

/** Builds a fault of the second replica alone, which exports no spans. */
function atReplica(rule: string, what: string, replica: Mutation["differences"]): Mutation {
  return { rule, what, base: "halfTraced", differences: { replica }, reaches: ["COR", "GW", "TRACE-5"] };
}

export const silentReplicaMutations = (): readonly Mutation[] => [
  atReplica("COR-15", "outbound calls of the second replica have its own parent id", {
    outbound: ({ traceparent = "", ...headers }) => ({
      ...headers,
      traceparent: traceparent.replace(/-[0-9a-f]{16}-/, "-00f067aa0ba90000-"),
    }),
  }),
  atReplica("COR-15", "outbound calls of the second replica have no trace context", {
    outbound: ({ traceparent: _parent, tracestate: _state, ...headers }) => headers,
  }),
  atReplica("GW-2", "the second replica passes on another traceparent", {
    request({ url = "", rawHeaders }) {
      // The gateway passes on the headers as received.
      if (url.startsWith("/behind")) rawHeaders[rawHeaders.indexOf("traceparent") + 1] = another;
    },
  }),
  atReplica(
    "TRACE-5",
    "tracing without an endpoint counts as a failure of the second replica",
    json("/ready", (body) => {
      const checks = body["checks"] as Record<string, object>;
      checks["telemetry"] = { ...checks["telemetry"], healthy: false, status: "fail" };
    }),
  ),
];
