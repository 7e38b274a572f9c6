import { type Answer, isObject, type JsonObject } from "../answer.ts";
import { check, type Check } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { createHttpClient } from "../http-client.ts";
import { type Kit, until } from "../kit.ts";
import type { Probe } from "../option-values.ts";
import type { DependencyProbe } from "../options.ts";
import { requestOf, withExtra } from "../requests.ts";
import { show } from "../show.ts";
import { every, fail, is, must, mustBe, notApplicable, pass, statusIs } from "../verdict.ts";

/** The responses of `/ready` and `/health` while dependencies are broken. */
interface Fault {
  readonly dependencies: readonly DependencyProbe[];
  readonly ready: Answer;
  readonly health: Answer;
  /** Milliseconds from the break until `/ready` reported it; undefined if it never did. */
  readonly noticedMs: number | undefined;
  /** Whether the check of a broken dependency hangs. */
  readonly hangs: boolean;
}

interface ObservedFaults {
  /** Responses while every non-critical dependency is broken. */
  readonly harmless: Fault | undefined;
  /** Responses while one critical dependency is broken and its check fails. */
  readonly critical: Fault | undefined;
  /** Responses while one critical dependency is broken and its check throws or hangs. */
  readonly criticalThrown: Fault | undefined;
}

const notGiven: Readonly<Record<keyof ObservedFaults, string>> = {
  harmless: "no non-critical dependency was given",
  critical: "no critical dependency was given",
  criticalThrown: "the probe dependencies lists no critical dependency whose check throws",
};

/** Builds a check of the responses while dependencies are broken. */
export function duringFault(
  rule: string,
  which: keyof ObservedFaults,
  judge: (fault: Fault, kit: Kit) => Verdict,
): Check {
  return check(rule, { alone: true, needs: ["probe:dependencies"] }, async (kit) => {
    const fault = (await observedFaults(kit))[which];
    return fault === undefined ? notApplicable(notGiven[which]) : judge(fault, kit);
  });
}

/**
 * Time limit in milliseconds for `/ready` to report a fault. The report may be up to one second old; the limit is
 * higher, so that the result of a slower service is still observed.
 */
const patienceMs = 4000;

/** Breaks dependencies, reads the reports and repairs the dependencies; all checks share the results. */
function observedFaults(kit: Kit): Promise<ObservedFaults> {
  return kit.once("faults", async () => {
    const all = kit.settings.probes.dependencies ?? [];
    const harmless = all.filter(({ critical }) => !critical);
    const failing = all.find(({ critical, fault }) => critical && (fault ?? "fails") === "fails");
    const throwing = all.find(({ critical, fault }) => critical && fault !== undefined && fault !== "fails");
    return {
      harmless: harmless.length === 0 ? undefined : await look(kit, harmless),
      critical: failing && (await look(kit, [failing])),
      criticalThrown: throwing && (await look(kit, [throwing])),
    };
  });
}

async function look(kit: Kit, dependencies: readonly DependencyProbe[]): Promise<Fault> {
  await Promise.all(dependencies.map((each) => control(kit, each.break)));
  const brokenAt = kit.now();
  try {
    const isNoticed = (answer: Answer): boolean => shows(answer, dependencies);
    const how = { forMs: patienceMs, everyMs: 150, now: () => kit.now() };
    const ready = await until(() => kit.get("/ready"), isNoticed, how);
    const noticedMs = isNoticed(ready) ? kit.now() - brokenAt : undefined;
    const health = await kit.get("/health");
    const hangs = dependencies.some(({ fault }) => fault === "hangs");
    return { dependencies, ready, health, noticedMs, hangs };
  } finally {
    await Promise.all(dependencies.map((each) => control(kit, each.restore)));
  }
}

/** Whether `/ready` reports every given dependency as broken. */
function shows(ready: Answer, dependencies: readonly DependencyProbe[]): boolean {
  const checks = checksOf(ready);
  return dependencies.every(({ check }) => {
    const result = checks[check];
    return isObject(result) && result["healthy"] === false;
  });
}

export function checksOf(answer: Answer): JsonObject {
  const checks = answer.object?.["checks"];
  return isObject(checks) ? checks : {};
}

/** Sends a request that breaks or repairs a dependency to the service, or to the server in an absolute URL. */
async function control(kit: Kit, probe: Probe): Promise<void> {
  const request = requestOf(probe);
  if (!/^https?:/.test(request.path)) {
    await kit.http.send(withExtra(request));
    return;
  }
  const url = new URL(request.path);
  const http = createHttpClient(new URL(url.origin), kit.settings.requestSeconds * 1000, () => kit.now());
  try {
    await http.send(withExtra(request, { path: `${url.pathname}${url.search}` }));
  } finally {
    http.close();
  }
}

/** Requests `/ready` once; all checks of it share the response. */
export function ready(kit: Kit): Promise<Answer> {
  return kit.once("ready", () => kit.get("/ready"));
}

const statuses: readonly unknown[] = ["ok", "fail", "timeout", "error"];

/** Checks every result in the current report. */
async function eachResult(kit: Kit, judge: (name: string, result: JsonObject) => Verdict): Promise<Verdict> {
  const entries = Object.entries(checksOf(await ready(kit)));
  if (entries.length === 0) return notApplicable("the report lists no checks");
  return every(
    entries.map(([name, result]) =>
      isObject(result) ? judge(name, result) : fail(`${name}: ${show(result)}`, "an object for each check"),
    ),
  );
}

/** Checks the result of the readiness check `name`; not applicable if the report does not list that check. */
async function named(kit: Kit, name: string, judge: (result: JsonObject) => Verdict): Promise<Verdict> {
  const result = checksOf(await ready(kit))[name];
  return isObject(result) ? judge(result) : notApplicable(`the report has no check \`${name}\``);
}

export const readinessChecks: readonly Check[] = [
  check("RDY-1", {}, async function* (kit) {
    const report = (await ready(kit)).object;
    const status = report?.["status"];
    yield mustBe(
      status === "ok" || status === "degraded" || (await ready(kit)).status !== 200,
      { status },
      "ok or degraded",
    );
    yield mustBe(typeof report?.["service"] === "string", { service: report?.["service"] }, "a string");
    yield must(isObject(report?.["checks"]), `checks ${show(report?.["checks"])}`, "an object");
  }),
  check("RDY-2", {}, (kit) =>
    eachResult(kit, (name, { healthy, detail, critical }) =>
      must(
        typeof healthy === "boolean" && typeof detail === "string" && typeof critical === "boolean",
        `${name}: ${show({ healthy, detail, critical })}`,
        "a boolean healthy, a boolean critical and a string detail",
      ),
    ),
  ),
  check("RDY-3", {}, (kit) =>
    eachResult(kit, (name, { status, meta }) =>
      must(
        statuses.includes(status) && (meta === undefined || isObject(meta)),
        `${name}: ${show({ status, meta })}`,
        "status ok, fail, timeout or error; meta an object if present",
      ),
    ),
  ),
  duringFault("RDY-4", "harmless", ({ ready: { status, object }, noticedMs }) => {
    if (noticedMs === undefined) return fail("the report does not show the broken dependencies", "degraded");
    const isDegraded = status === 200 && object?.["status"] === "degraded";
    return must(
      isDegraded,
      `${status} with status ${show(object?.["status"])}`,
      '200 with status "degraded"',
    );
  }),
  duringFault("RDY-5", "critical", (fault) => statusIs(fault.ready, 503)),
  duringFault("RDY-6", "critical", ({ ready: { status, mediaType, object } }) => {
    if (status !== 503) return notApplicable("/ready did not return 503: see RDY-5");
    return must(
      mediaType === "application/json" && object?.["status"] === "unavailable" && isObject(object["checks"]),
      `${mediaType} with status ${show(object?.["status"])}`,
      'the report with status "unavailable"',
    );
  }),
  duringFault("RDY-7", "criticalThrown", (fault) => {
    const result = checksOf(fault.ready)[fault.dependencies[0]?.check ?? ""];
    const critical = isObject(result) ? result["critical"] : undefined;
    return must(
      critical === true,
      `critical ${show(critical)} for a check that threw`,
      "critical true, as declared",
    );
  }),
  duringFault("RDY-8", "harmless", ({ dependencies, ready: { durationMs } }, kit) => {
    const hanging = dependencies.filter(({ fault }) => fault === "hangs").length;
    if (hanging < 2) {
      return notApplicable("needs two non-critical dependencies whose checks hang");
    }
    // The limit lies between one check timeout and the sum of all timeouts.
    const limitMs = (kit.settings.limits.readinessTimeoutSeconds * 1000 * (1 + hanging)) / 2;
    const seen = `${Math.round(durationMs)} ms with ${hanging} checks that hang`;
    return must(durationMs < limitMs, seen, `less than ${limitMs} ms`);
  }),
  duringFault("RDY-10", "critical", ({ noticedMs }) => {
    // Allow one second for a reused result and one for a slow machine.
    const isSoon = noticedMs !== undefined && noticedMs < 2000;
    const seen = noticedMs === undefined ? "never reported" : `reported after ${Math.round(noticedMs)} ms`;
    return must(isSoon, seen, "reported within 1 s");
  }),
  duringFault("RDY-11", "harmless", ({ dependencies, ready }, kit) => {
    const hanging = dependencies.filter(({ fault }) => fault === "hangs");
    if (hanging.length === 0)
      return notApplicable("the probe dependencies lists no dependency whose check hangs");
    const text = `health check did not answer within ${kit.settings.limits.readinessTimeoutSeconds.toFixed(1)}s`;
    return details(ready, hanging, (detail) => detail === text, text);
  }),
  check("RDY-12", { alone: true, needs: ["probe:dependencies"] }, async function* (kit) {
    const { harmless, criticalThrown } = await observedFaults(kit);
    const fits = (detail: string): boolean => /^health check raised: [\w$.]+$/.test(detail);
    for (const seen of [harmless, criticalThrown]) {
      const throwing = seen?.dependencies.filter(({ fault }) => fault === "throws") ?? [];
      if (seen !== undefined && throwing.length > 0) {
        yield details(seen.ready, throwing, fits, "`health check raised: <class>`");
      }
    }
    return notApplicable("the probe dependencies lists no dependency whose check throws");
  }),
  check("RDY-13", {}, (kit) => named(kit, "database", ({ critical }) => is("critical", critical, true))),
  check("RDY-16", { needs: ["full"] }, (kit) =>
    named(kit, "cache", ({ critical }) => is("critical", critical, false)),
  ),
  check("RDY-18", { needs: ["metrics"] }, async (kit) => {
    const verdict = await named(kit, "metrics", ({ critical }) => is("critical", critical, false));
    // A check `metrics` that the report does not list cannot be critical.
    const hasReport = isObject((await ready(kit)).object?.["checks"]);
    return verdict.status === "not applicable" && hasReport ? pass : verdict;
  }),
];

function details(
  answer: Answer,
  dependencies: readonly { readonly check: string }[],
  fits: (detail: string) => boolean,
  expected: string,
): Verdict {
  const checks = checksOf(answer);
  const wrong = dependencies
    .map(({ check }) => checks[check])
    .find((result) => !(isObject(result) && typeof result["detail"] === "string" && fits(result["detail"])));
  if (wrong === undefined) return pass;
  return fail(`detail ${show(isObject(wrong) ? wrong["detail"] : wrong)}`, expected);
}
