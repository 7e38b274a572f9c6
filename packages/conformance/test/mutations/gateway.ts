import type { Mutation } from "./mutation.ts";

const another = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;

/** Changes the trace context that the service behind the gateway receives. */
function receiving(change: (given: string) => string): Mutation["differences"] {
  return {
    behind: (headers) => ({ ...headers, traceparent: change(String(headers["traceparent"])) }),
  };
}

export const gatewayMutations = (): readonly Mutation[] => [
  {
    rule: "GW-2",
    what: "with tracing off, the service behind the gateway gets another traceparent",
    base: "swift",
    differences: receiving(() => another),
  },
  {
    rule: "GW-1",
    what: "the traceparent behind the gateway names a span that was not exported",
    base: "traced",
    differences: receiving((given) => given.replace(/-[0-9a-f]{16}-/, `-${"3".repeat(16)}-`)),
    reaches: ["GW", "COR", "TRACE-10"],
  },
  {
    rule: "GW-1",
    what: "the traceparent behind the gateway belongs to another trace",
    base: "traced",
    differences: receiving(() => another),
    reaches: ["GW", "COR", "TRACE-10"],
  },
];
