import { contextOf } from "@svc/context";
import type { HeldAnswer } from "../support/mutating-layer.ts";
import type { Mutation } from "./mutation.ts";

/** Changes the refusals of the rate limit. */
function refusing(change: (answer: HeldAnswer) => void): Mutation["differences"] {
  return {
    answer(answer) {
      if (answer.path === "/limited" && answer.status === 429) change(answer);
    },
  };
}

function member(name: string, value: unknown): Mutation["differences"] {
  return refusing((answer) => answer.setJson({ ...answer.json(), [name]: value }));
}

function header(name: string, value: string | undefined): Mutation["differences"] {
  return refusing(({ res }) => {
    if (value === undefined) res.removeHeader(name);
    else res.setHeader(name, value);
  });
}

function admit(answer: HeldAnswer): void {
  answer.status = 200;
  answer.setJson({}, "application/json");
}

/** Counts in a fixed window: after a refusal, a caller is refused until the window ends. */
function inFixedWindow(): Mutation["differences"] {
  const refused = new Map<string, HeldAnswer>();
  return {
    answer(answer, req) {
      if (answer.path !== "/limited") return;
      const caller = req.headers.authorization ?? "";
      const known = refused.get(caller);
      if (answer.status === 429) refused.set(caller, answer);
      else if (known !== undefined) {
        answer.status = 429;
        answer.setJson(known.json(), "application/problem+json");
      }
    },
  };
}

/** Admits up to `most` requests of each caller that the limit refuses. */
function admittingMore(most: number): Mutation["differences"] {
  const more = new Map<string, number>();
  return {
    answer(answer, req) {
      if (answer.path !== "/limited" || answer.status !== 429) return;
      const caller = req.headers.authorization ?? "";
      const count = (more.get(caller) ?? 0) + 1;
      more.set(caller, count);
      if (count <= most) admit(answer);
    },
  };
}

export const rateLimitMutations = (): readonly Mutation[] => [
  {
    rule: "ERR-20",
    what: "a caller over the limit gets a 503",
    base: "described",
    differences: refusing((answer) => {
      answer.status = 503;
      answer.setJson({ ...answer.json(), status: 503, title: "Service Unavailable" });
    }),
    unjudged: ["RATE-1", "RATE-2", "RATE-3", "RATE-4", "RATE-5"],
  },
  {
    rule: "ERR-20",
    what: "a caller over the limit is admitted",
    base: "described",
    differences: refusing(admit),
    unjudged: ["RATE-1", "RATE-2", "RATE-3", "RATE-4", "RATE-5"],
  },
  { rule: "RATE-1", what: "a 429 has no limit", base: "described", differences: member("limit", undefined) },
  {
    rule: "RATE-1",
    what: "a 429 has no remaining",
    base: "described",
    differences: member("remaining", undefined),
  },
  {
    rule: "RATE-1",
    what: "retry_after of a 429 is a string",
    base: "described",
    differences: member("retry_after", "1"),
  },
  {
    rule: "RATE-2",
    what: "a 429 has no RateLimit-Limit",
    base: "described",
    differences: header("RateLimit-Limit", undefined),
  },
  {
    rule: "RATE-2",
    what: "a 429 has no RateLimit-Remaining",
    base: "described",
    differences: header("RateLimit-Remaining", undefined),
  },
  {
    rule: "RATE-2",
    what: "a 429 has no RateLimit-Reset",
    base: "described",
    differences: header("RateLimit-Reset", undefined),
  },
  {
    rule: "RATE-2",
    what: "Retry-After of a 429 is 0",
    base: "described",
    differences: header("Retry-After", "0"),
  },
  {
    rule: "RATE-3",
    what: "a bucket holds fewer requests than the limit",
    base: "described",
    differences: { limit: { burst: 8 } },
  },
  {
    rule: "RATE-3",
    what: "a bucket holds more requests than the limit",
    base: "described",
    differences: admittingMore(8),
  },
  {
    rule: "RATE-3",
    what: "requests are counted in a fixed window",
    base: "described",
    differences: inFixedWindow(),
  },
  {
    rule: "RATE-4",
    what: "callers of one address share a limit",
    base: "described",
    differences: { limit: { key: ({ socket }) => socket.remoteAddress } },
  },
  {
    rule: "RATE-4",
    what: "callers of one tenant share a limit",
    base: "described",
    differences: { limit: { key: (req) => contextOf(req)?.tenantId } },
  },
  {
    rule: "RATE-4",
    what: "anonymous callers are counted by address although they have a tenant",
    base: "anonymous",
    differences: { limit: { key: ({ socket }) => socket.remoteAddress } },
  },
  {
    rule: "RATE-4",
    what: "anonymous callers choose their address with X-Forwarded-For",
    base: "described",
    differences: { limit: { key: (req) => req.headers["x-forwarded-for"]?.toString() } },
  },
  {
    rule: "RATE-5",
    what: "requests are refused while the store is down",
    base: "described",
    differences: { limit: { failOpen: false } },
  },
  {
    rule: "RATE-5",
    what: "nothing is logged while the store is down",
    base: "described",
    differences: { limit: { logger: undefined } },
  },
  {
    rule: "RATE-5",
    what: "two warnings are logged within a second while the store is down",
    base: "described",
    differences: {
      log: (line) => {
        const text = `${JSON.stringify(line)}\n`;
        return String(line["message"]).startsWith("rate limits are not enforced") ? text + text : line;
      },
    },
  },
];
