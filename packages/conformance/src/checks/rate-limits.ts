import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "../answer.ts";
import { check, type Check, given, type Need } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { rights } from "../grant.ts";
import type { Kit } from "../kit.ts";
import type { LogLine } from "../log-reader.ts";
import type { LimitedProbe } from "../settings.ts";
import type { Extra } from "../requests.ts";
import { is, must, mustBe, notApplicable, statusIs } from "../verdict.ts";
import { sendControl } from "./session-calls.ts";
import { anonymously, naming, tenants, usableSources } from "./tenants.ts";

const needs: readonly Need[] = ["rate_limit", "probe:limited"];

/** Longest time that the kit waits for one token of a bucket. */
const longestTokenMs = 10_000;
/** Interval in which a limiter may warn once while its store fails (RATE-5). */
const warningMs = 10_000;

/** Successive requests of one caller, up to the first that was not admitted. */
interface Series {
  readonly admitted: number;
  /** The response that ended the series; a successful one if the caller reached no limit. */
  readonly last: Answer;
}

function limitedOf(kit: Kit): LimitedProbe {
  return given(kit.settings.probes.limited);
}

async function untilRefused(kit: Kit, caller: Extra): Promise<Series> {
  const { request, burst } = limitedOf(kit);
  const most = 2 * burst + 10;
  for (let admitted = 0; ;) {
    const last = await kit.ask(request, caller);
    if (last.ok) admitted++;
    if (!last.ok || admitted === most) return { admitted, last };
  }
}

function hasSubjects(kit: Kit): boolean {
  return kit.has("auth") && kit.settings.keys !== undefined;
}

/**
 * Returns a caller with its own subject, so that its requests do not count for other checks; without keys, an anonymous
 * caller.
 */
async function newCaller(kit: Kit): Promise<Extra> {
  if (!hasSubjects(kit)) return (await anonymously(kit)) ?? {};
  return { token: kit.tokens.mint({ ...rights(kit), claims: { sub: kit.unique() } }) };
}

/** Exceeds the limit once; all checks of the refusal share the result. */
function exceeded(kit: Kit): Promise<Series> {
  return kit.once("exceeded limit", async () => untilRefused(kit, await newCaller(kit)));
}

/** Returns undefined if the first response was successful or a 429; for any other response, the limit cannot be checked. */
function unusable({ admitted, last }: Series): Verdict | undefined {
  return admitted > 0 || last.status === 429
    ? undefined
    : notApplicable(`the probe \`limited\` responds with ${last.status}`);
}

/** Builds a check for a caller over its limit. */
function whenExceeded(
  rule: string,
  judge: (kit: Kit, series: Series, probe: LimitedProbe) => AsyncGenerator<Verdict, Verdict | void>,
  how: Omit<Check, "rule" | "run"> = { needs },
): Check {
  return check(rule, how, async function* (kit) {
    const series = await exceeded(kit);
    const reason = unusable(series) ?? (series.last.status === 429 ? undefined : notApplicable("see ERR-20"));
    if (reason === undefined) yield* judge(kit, series, limitedOf(kit));
    else yield reason;
  });
}

/** Whether a caller's bucket was full at first. The refill during a series is much smaller than half a bucket. */
function wasFull({ admitted }: Series, { burst }: LimitedProbe): boolean {
  return admitted > burst / 2;
}

/** Callers that share an address with earlier callers. */
interface OtherCallers {
  readonly secondSubject: Series | undefined;
  /** Anonymous callers in different tenants, for a service without authentication. */
  readonly ofTenants: readonly Series[] | undefined;
  /** Anonymous callers without a tenant; the second names another address in `X-Forwarded-For`. */
  readonly addresses: readonly [first: Series, second: Series] | undefined;
}

function otherCallers(kit: Kit): Promise<OtherCallers> {
  return kit.once("other callers of the limit", async () => {
    const first = await exceeded(kit);
    const { requireTenant } = kit.settings.tenancy;
    // With authentication on, a request without a caller has no tenant (TEN-6).
    const source =
      kit.has("tenancy") && !kit.has("auth")
        ? (await usableSources(kit)).find((each) => each !== "path")
        : undefined;
    const [acme, globex] = tenants(kit);
    const bare = hasSubjects(kit) ? () => untilRefused(kit, {}) : () => Promise.resolve(first);
    return {
      secondSubject: hasSubjects(kit) ? await untilRefused(kit, await newCaller(kit)) : undefined,
      // If every request needs a tenant, `exceeded()` has already emptied the bucket of the first tenant.
      ofTenants: source && [
        ...(requireTenant ? [] : [await untilRefused(kit, naming(kit, source, acme))]),
        await untilRefused(kit, naming(kit, source, globex)),
      ],
      addresses:
        kit.has("tenancy") && requireTenant
          ? undefined
          : [await bare(), await untilRefused(kit, { headers: [["X-Forwarded-For", "203.0.113.77"]] })],
    };
  });
}

/** Responses and log lines from the time when the limiter's store was down. */
interface Outage {
  readonly series: Series;
  readonly durationMs: number;
  /** Lines of the log before the outage. */
  readonly linesBefore: number;
}

async function outage(kit: Kit): Promise<Outage> {
  const store = given(kit.settings.probes.limitStore);
  const caller = await newCaller(kit);
  const linesBefore = (await kit.log?.lines())?.length ?? 0;
  const startedAt = performance.now();
  try {
    await sendControl(kit, store.break);
    const series = await untilRefused(kit, caller);
    return { series, durationMs: performance.now() - startedAt, linesBefore };
  } finally {
    await sendControl(kit, store.restore);
  }
}

function isWarning({ text, value }: LogLine): boolean {
  return /^warn(?:ing)?$/i.test(String(value?.["level"])) && /rate.?limit/i.test(text);
}

function isCount(value: unknown, least: number): boolean {
  return Number.isInteger(value) && (value as number) >= least;
}

/** The rules on rate limits. */
export const rateLimitChecks: readonly Check[] = [
  check("ERR-20", { needs }, async (kit) => {
    const series = await exceeded(kit);
    return unusable(series) ?? statusIs(series.last, 429, `after ${series.admitted} requests`);
  }),
  whenExceeded("RATE-1", async function* (_kit, { last: { object = {} } }, probe) {
    const { limit, remaining, retry_after } = object;
    yield is("limit", limit, probe.limit);
    yield mustBe(isCount(remaining, 0), { remaining }, "a whole number of at least 0");
    yield mustBe(isCount(retry_after, 1), { retry_after }, "a whole number of at least 1");
  }),
  whenExceeded("RATE-2", async function* (_kit, { last }, { limit }) {
    yield is("RateLimit-Limit", last.header("ratelimit-limit"), String(limit));
    for (const name of ["RateLimit-Remaining", "RateLimit-Reset", "Retry-After"]) {
      const value = last.header(name);
      const least = name === "Retry-After" ? 1 : 0;
      const holds = value !== undefined && /^\d+$/.test(value) && Number(value) >= least;
      yield mustBe(holds, { [name]: value }, `a whole number of at least ${least}`);
    }
  }),
  whenExceeded("RATE-3", async function* (kit, series, { limit, windowSeconds, burst }) {
    // Other checks may already have used the bucket of anonymous callers.
    if (hasSubjects(kit)) {
      yield must(
        series.admitted >= burst,
        `${series.admitted} requests admitted in one burst`,
        `${burst} in one burst`,
      );
    }
    const tokenMs = (windowSeconds * 1000) / limit;
    if (tokenMs > longestTokenMs) return yield notApplicable("the limit of the probe `limited` is too slow");
    // Anonymous callers share a bucket, so the other checks must have finished with it.
    await otherCallers(kit);
    const caller = await newCaller(kit);
    const startedAt = performance.now();
    const first = await untilRefused(kit, caller);
    await sleep(1.1 * tokenMs);
    const { admitted } = await untilRefused(kit, caller);
    const elapsedMs = performance.now() - startedAt;
    yield must(
      admitted > 0,
      `no request admitted ${Math.round(1.1 * tokenMs)} ms after a refusal`,
      `one: a bucket gains ${limit} tokens evenly in ${windowSeconds} s`,
    );
    const most = burst + Math.ceil(elapsedMs / tokenMs) + 1;
    yield must(
      first.admitted + admitted <= most,
      `${first.admitted + admitted} requests admitted in ${Math.round(elapsedMs)} ms`,
      `at most ${most}: ${burst} in one burst, and ${limit} in ${windowSeconds} s`,
    );
  }),
  whenExceeded("RATE-4", async function* (kit, series, probe) {
    const { secondSubject, ofTenants = [], addresses } = await otherCallers(kit);
    const own = "a limit of its own";
    if (secondSubject !== undefined) {
      const seen = `${secondSubject.admitted} requests admitted for a second subject of the same address and tenant`;
      yield must(wasFull(secondSubject, probe), seen, own);
    }
    // Other checks may already have used the buckets of anonymous callers.
    for (const each of wasFull(series, probe) ? ofTenants : []) {
      const seen = `${each.admitted} anonymous requests admitted for another tenant of the same address`;
      yield must(wasFull(each, probe), seen, own);
    }
    if (addresses !== undefined && wasFull(addresses[0], probe)) {
      const seen = `${addresses[1].admitted} further anonymous requests admitted with another X-Forwarded-For`;
      yield must(!wasFull(addresses[1], probe), seen, "the limit of the client's address");
    }
  }),
  whenExceeded(
    "RATE-5",
    async function* (kit) {
      const { series, durationMs, linesBefore } = await outage(kit);
      yield must(
        series.last.ok,
        `${series.last.status} after ${series.admitted} requests while the store is down`,
        "every request admitted",
      );
      if (kit.log === undefined) return;
      await kit.log.about("", isWarning);
      const lines = await kit.log.lines();
      yield must(lines.some(isWarning), "no warning about the rate limit in the log", "a warning");
      const warnings = lines.slice(linesBefore).filter(isWarning).length;
      const most = 1 + Math.floor(durationMs / warningMs);
      yield must(warnings <= most, `${warnings} warnings in ${Math.round(durationMs)} ms`, `at most ${most}`);
    },
    { needs: [...needs, "probe:limitStore"], alone: true },
  ),
];
