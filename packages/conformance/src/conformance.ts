import { checks } from "./checks/index.ts";
import { grant } from "./grant.ts";
import { signIn, visit } from "./checks/session-calls.ts";
import type { Check } from "./check.ts";
import type { ConformanceReport } from "./conformance-report.ts";
import { InvalidUse } from "./faults.ts";
import { type Answer, NoAnswer, orReason } from "./answer.ts";
import { createKit, keyPatience, type Kit, until } from "./kit.ts";
import { findRoutes } from "./openapi.ts";
import type { ConformanceOptions } from "./options.ts";
import type { Settings } from "./settings.ts";
import { outcomeOf } from "./outcome.ts";
import { resolveSettings } from "./resolve-settings.ts";
import { ruleOf } from "./rules.ts";
import { runChecks } from "./run-checks.ts";

/** Dependencies of a run that tests can replace. */
export interface Environment {
  /**
   * Returns the time of a monotonic clock in milliseconds, to measure durations that rules limit. Default:
   * `performance.now`.
   */
  readonly now?: (() => number) | undefined;
}

/**
 * Checks a running service against the contract from outside. Never rejects because of the service's behaviour.
 *
 * @throws InvalidUse for invalid options, and for a service that cannot be reached
 */
export async function checkConformance(
  options: ConformanceOptions,
  { now = () => performance.now() }: Environment = {},
): Promise<ConformanceReport> {
  const settings = resolveSettings(options);
  const startedAt = now();
  const kit = await createKit(settings, now);
  try {
    await reach(kit);
    if (kit.keySet !== undefined) await untilKeysAreKnown(kit);
    await findProbes(kit);
    await findSession(kit);
    const { length: routes } = await findRoutes(kit);
    const findings = await runChecks(kit, selected(settings));
    return {
      url: settings.url.href,
      profile: settings.profile,
      house: settings.house,
      findings,
      routes,
      ...outcomeOf(settings, findings, checks, selected({ ...settings, only: undefined }).length, routes),
      durationMs: now() - startedAt,
    };
  } finally {
    await kit.close();
  }
}

/** Returns the checks that this run selects. */
function selected({ house, only, profile }: Settings): readonly Check[] {
  return checks.filter(({ rule: id }) => {
    if (only !== undefined) return only.has(id);
    const rule = ruleOf(id);
    return (house || rule.source === "contract") && (profile === "full" || rule.profile === "both");
  });
}

async function reach(kit: Kit): Promise<void> {
  const answer = await orReason(kit.get("/health"));
  if (!(answer instanceof NoAnswer)) return;
  throw new InvalidUse([`url: ${kit.settings.url.href} does not respond: ${answer.message}`]);
}

/** Checks that the probes' routes exist: if a route were missing, every refusal would look correct. */
async function findProbes(kit: Kit): Promise<void> {
  const { open, protected: inner, mixed, scoped, role, tenant, failing } = kit.settings.probes;
  const named = { open, protected: inner, mixed, scoped: scoped?.request, role: role?.request };
  const all = Object.entries({ ...named, tenant: tenant?.request, failing: failing?.request });
  const faults = await Promise.all(
    all.map(async ([name, probe]) => {
      if (probe === undefined) return [];
      const answer = await orReason(kit.ask(probe, { token: grant(kit) }));
      // The checks report a service that stops responding.
      if (answer instanceof NoAnswer) return [];
      const { status } = answer;
      return status === 404 || status === 405 ? [`probes.${name}: the service responds with ${status}`] : [];
    }),
  );
  if (faults.flat().length > 0) throw new InvalidUse(faults.flat());
}

/** Checks that a sign-in and its session work: otherwise every refusal of a token would look right. */
async function findSession(kit: Kit): Promise<void> {
  if (kit.settings.probes.session === undefined) return;
  const fault = await orReason(sessionFault(kit));
  const text = fault instanceof NoAnswer ? fault.message : fault;
  if (text !== undefined) throw new InvalidUse([`probes.session: ${text}`]);
}

async function sessionFault(kit: Kit): Promise<string | undefined> {
  const { access } = await signIn(kit);
  for (const replica of [kit.http, kit.replica]) {
    if (replica === undefined) continue;
    const { ok, status } = await visit(kit, access, replica);
    const which = replica === kit.http ? "" : " of the second replica";
    if (!ok) return `the route${which} returned ${status} for a signed-in user`;
  }
  return undefined;
}

/**
 * Waits until the service accepts the kit's keys: a service that started before the kit's key server may fetch the keys
 * only after a pause.
 */
async function untilKeysAreKnown(kit: Kit): Promise<void> {
  const { protected: probe } = kit.settings.probes;
  if (probe === undefined) return;
  // The checks report a service that stops responding.
  const ask = (): Promise<Answer | NoAnswer> => orReason(kit.ask(probe, { token: grant(kit) }));
  await until(ask, (answer) => !(answer instanceof NoAnswer) && answer.ok, keyPatience(kit.settings));
}
