import { type Answer, isObject } from "../answer.ts";
import { check, type Check } from "../check.ts";
import { type Kit, until } from "../kit.ts";
import { show } from "../show.ts";
import { is, must, notApplicable, ruledOut, statusIs, succeeds } from "../verdict.ts";
import { needs } from "./pairs.ts";
import { logout, refresh, sessionOf, signIn, sendControl, visit } from "./session-calls.ts";

const withStore = [...needs, "session:store"] as const;

/**
 * Time limit in milliseconds for `/ready` to report the outage: a report may be one second old and include a slow
 * check.
 */
const readinessMs = 4000;
/**
 * Time limit in milliseconds for the service to recover: its circuit breaker may pause calls to the store after an
 * outage.
 */
const recoveryMs = 40_000;

/** Breaks the store once. The checks that share the result run alone. */
function outage(kit: Kit) {
  return kit.once("outage", async () => {
    const { store } = sessionOf(kit);
    if (store === undefined) throw new Error("`session.store` is not set");
    const session = await signIn(kit);
    const other = await signIn(kit);
    let seen;
    try {
      await sendControl(kit, store.break);
      const visited = await visit(kit, session.access);
      const visitedOpen = await kit.ask(kit.settings.probes.open ?? "/health", { token: session.access });
      const refreshed = await refresh(kit, session.refresh);
      const loggedOut = await logout(kit, other.access);
      seen = { visited, visitedOpen, refreshed, loggedOut, ready: await readiness(kit) };
    } finally {
      await sendControl(kit, store.restore);
    }
    // Refresh with the same token after the store is restored.
    return { ...seen, refreshedLater: await recovered(kit, session.refresh) };
  });
}

/**
 * Waits until `/ready` reports the check `auth` as unhealthy: the first report may still be an older one, about a
 * dependency that another check broke.
 */
function readiness(kit: Kit): Promise<Answer> {
  const isShown = (answer: Answer): boolean => answer.ok && healthOf("auth", answer) === false;
  return until(() => kit.get("/ready"), isShown, { forMs: readinessMs, everyMs: 250 });
}

function healthOf(name: string, { object }: Answer): unknown {
  const checks = object?.["checks"];
  const check = isObject(checks) ? checks[name] : undefined;
  return isObject(check) ? check["healthy"] : undefined;
}

function recovered(kit: Kit, token: string): Promise<Answer> {
  return until(
    () => refresh(kit, token),
    ({ status }) => status !== 503,
    { forMs: recoveryMs, everyMs: 250 },
  );
}

function failsOpen(kit: Kit): boolean {
  return sessionOf(kit).store?.failOpen ?? true;
}

export const storeChecks: readonly Check[] = [
  check("ISS-17", { needs: withStore, alone: true }, async (kit) => {
    return statusIs((await outage(kit)).loggedOut, 503, "for a logout while the store is down");
  }),
  check("REF-17", { needs: withStore, alone: true }, async function* (kit) {
    const { refreshed, refreshedLater } = await outage(kit);
    yield statusIs(refreshed, 503, "for a refresh while the store is down");
    yield succeeds(refreshedLater, "for the same token after the store is restored", "a new pair");
  }),
  check("REV-4", { needs: withStore, alone: true }, async (kit) => {
    if (!failsOpen(kit)) return ruledOut("the service fails closed");
    const answer = (await outage(kit)).visited;
    return succeeds(
      answer,
      "for a valid token while the store is down",
      "a successful response: the service fails open",
    );
  }),
  check("REV-5", { needs: withStore, alone: true }, async (kit) => {
    if (failsOpen(kit)) return ruledOut("the service fails open");
    const answer = (await outage(kit)).visited;
    return statusIs(
      answer,
      503,
      "for a valid token while the store is down",
      "503: the service fails closed",
    );
  }),
  check("REV-6", { needs: withStore, alone: true }, async function* (kit) {
    if (failsOpen(kit)) return ruledOut("the service fails open");
    const { visited, visitedOpen } = await outage(kit);
    if (visited.status !== 503) return notApplicable("see REV-5");
    const { title, detail } = visited.object ?? {};
    const text = "the revocation store is not answering; retry shortly";
    const after = visited.header("retry-after");
    yield statusIs(visitedOpen, 503, "for a valid token on an open route while the store is down");
    yield is("title", title, "Service Unavailable");
    yield is("detail", detail, text);
    yield must(/^\d+$/.test(after ?? ""), `Retry-After ${show(after)}`, "seconds");
  }),
  check("RDY-22", { needs: withStore, alone: true }, async function* (kit) {
    if (!failsOpen(kit)) return ruledOut("the service fails closed");
    const { ready } = await outage(kit);
    const { status, object = {} } = ready;
    const healthy = healthOf("auth", ready);
    yield statusIs({ status }, 200, "from /ready while the store is down");
    yield is("status", object["status"], "degraded");
    yield must(healthy === false, `the check auth has healthy ${show(healthy)}`, "false");
  }),
];
