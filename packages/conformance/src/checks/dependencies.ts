import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, isObject } from "../answer.ts";
import type { Kit } from "../kit.ts";
import type { DependencyProbe } from "../options.ts";
import { createHttpClient } from "../http-client.ts";
import { type Probe, requestOf, withExtra } from "../requests.ts";

/** The answers of `/ready` and `/health` while some dependencies are broken. */
export interface Fault {
  readonly dependencies: readonly DependencyProbe[];
  readonly ready: Answer;
  readonly health: Answer;
  /** Milliseconds from the break until `/ready` showed it; undefined if it never did. */
  readonly noticedMs: number | undefined;
  /** Whether one of their checks hangs. */
  readonly hangs: boolean;
}

export interface FaultsSeen {
  /** With every non-critical dependency broken. */
  readonly harmless: Fault | undefined;
  /** With one critical dependency broken whose check fails. */
  readonly critical: Fault | undefined;
  /** With one critical dependency broken whose check throws or hangs. */
  readonly criticalThrown: Fault | undefined;
}

/** `/ready` may show a result up to one second old; a service that breaks that rule gets longer. */
const patienceMs = 4000;

/** Breaks dependencies, reads the reports and repairs them; once for all checks. */
export function faultsSeen(kit: Kit): Promise<FaultsSeen> {
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
    let ready = await kit.get("/ready");
    let noticed = shows(ready, dependencies);
    while (!noticed && kit.now() - brokenAt < patienceMs) {
      await sleep(150);
      ready = await kit.get("/ready");
      noticed = shows(ready, dependencies);
    }
    const noticedMs = noticed ? kit.now() - brokenAt : undefined;
    const health = await kit.get("/health");
    const hangs = dependencies.some(({ fault }) => fault === "hangs");
    return { dependencies, ready, health, noticedMs, hangs };
  } finally {
    await Promise.all(dependencies.map((each) => control(kit, each.restore)));
  }
}

/** Whether all of the dependencies are reported as broken. */
function shows(ready: Answer, dependencies: readonly DependencyProbe[]): boolean {
  const checks = checksOf(ready);
  return dependencies.every(({ check }) => {
    const result = checks[check];
    return isObject(result) && result["healthy"] === false;
  });
}

export function checksOf(answer: Answer): Readonly<Record<string, unknown>> {
  const checks = answer.object?.["checks"];
  return isObject(checks) ? checks : {};
}

/** Sends a request that breaks or repairs something, to the service or to the server that it names. */
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
