import { startPostgres, startRedis } from "@svc/dev-services";
import { randomUUID } from "node:crypto";
import { keepAliveAgent, type Outcome, tally } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { startService } from "./harness/service-process.ts";
import {
  inWords,
  orders,
  type Pair,
  refresh,
  type Sessions,
  signInAs,
  signOutEverywhere,
} from "./harness/session-client.ts";
import { together } from "./harness/together.ts";
import { createRetry, type Retry, startStallMonitor } from "./harness/stall-monitor.ts";
import type { SessionsSettings } from "./services/sessions.ts";

const workers = 8;
const secret = "a secret of the tests, which has more than 32 bytes";
const revokedText = "401 this session has been revoked";
/**
 * Seconds by which a clock is wrong. This is less than the leeway of 30 s, so a replica with a correct clock accepts the
 * tokens of the others.
 */
const skewSeconds = 25;

/** Signs users out everywhere on one replica, after they signed in on another one whose clock is ahead or behind. */
export const skewedSignOut: Experiment = {
  name: "skewed-sign-out",
  description: "signing out everywhere, and in again, on replicas whose clocks are 25 s ahead and behind",
  brokenVariants: ["broken-local-clocks"],
  async run(run, report) {
    await using stallMonitor = await startStallMonitor();
    const retry = createRetry(stallMonitor);
    const given = run.variant === asBuilt ? {} : { variant: run.variant };
    // Fail closed, so that a request is accepted only after the store has responded.
    const base: SessionsSettings = { secret, failOpen: false, ...given };
    {
      await using redis = await startRedis();
      await onOneStore("Redis", { ...base, redisUrl: redis.url }, { retry, run, report });
    }
    if (!run.quick) {
      await using postgres = await startPostgres({ purpose: "test" });
      await onOneStore("PostgreSQL", { ...base, postgresUrl: postgres.url }, { retry, run, report });
    }
    report.figure("all", "blocks repeated because the machine stalled", retry.discarded, "count");
  },
};

interface Setup {
  readonly retry: Retry;
  readonly run: Run;
  readonly report: Report;
}

interface Replica extends Sessions, AsyncDisposable {
  readonly name: string;
}

async function startReplica(name: string, settings: SessionsSettings): Promise<Replica> {
  const service = await startService("sessions.ts", settings);
  const agent = keepAliveAgent(workers);
  return {
    name,
    port: service.port,
    agent,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await service[Symbol.asyncDispose]();
    },
  };
}

async function onOneStore(store: string, settings: SessionsSettings, setup: Setup): Promise<void> {
  const start = (name: string, seconds: number): Promise<Replica> =>
    startReplica(name, { ...settings, skewSeconds: seconds });
  const [a, b, c] = await together([
    start(`${skewSeconds} s ahead`, skewSeconds),
    start("on time", 0),
    start(`${skewSeconds} s behind`, -skewSeconds),
  ]);
  await using ahead = a;
  await using right = b;
  await using behind = c;
  for (const [first, second] of [
    [ahead, right],
    [right, ahead],
    [behind, right],
    [right, behind],
  ] as const) {
    await between(store, first, second, setup);
  }
}

/** The responses to one user's requests. */
interface Seen {
  readonly signOut: Outcome;
  /** Responses to the next requests of the session that began before the sign-out, on both replicas. */
  readonly old: readonly Outcome[];
  readonly oldRefresh: Outcome;
  /** Responses to requests of sessions that began after the sign-out, on both replicas. */
  readonly next: readonly Outcome[];
}

async function between(
  store: string,
  first: Replica,
  second: Replica,
  { retry, run, report }: Setup,
): Promise<void> {
  const people = run.cases ?? (!run.quick ? 500 : run.variant === asBuilt ? 16 : 8);
  const seen = await retry(() => all(people, first, second), mayComeOfStall);
  const name = `${store}, begun ${first.name}, ended ${second.name}`;
  const signOuts = seen.map((each) => inWords(each.signOut));
  const old = seen.flatMap((each) => each.old.map(inWords));
  const refreshes = seen.map((each) => inWords(each.oldRefresh));
  const next = seen.flatMap((each) => each.next.map(inWords));
  const survived =
    old.filter((each) => each === "200").length + refreshes.filter((each) => each === "200").length;
  report.figure(name, "people", people, "count");
  report.figure(name, "accepted requests of ended sessions", survived, "count");
  report.figure(
    name,
    "refused requests of new sessions",
    next.filter((each) => each !== "200").length,
    "count",
  );
  report.rule(
    signOuts.every((each) => each === "204"),
    `${name}: every sign-out gets 204 (${tally(signOuts)})`,
  );
  report.rule(
    old.every((each) => each.startsWith("401 ")) && refreshes.every((each) => each === revokedText),
    `${name}: no older session is valid any more (${tally([...old, ...refreshes])})`,
  );
  report.rule(
    next.every((each) => each === "200"),
    `${name}: every newer session is valid immediately (${tally(next)})`,
  );
}

async function all(people: number, first: Replica, second: Replica): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  let left = people;
  const work = async (): Promise<void> => {
    while (left-- > 0) seen.push(await onePerson(first, second));
  };
  await Promise.all(Array.from({ length: workers }, work));
  return seen;
}

async function onePerson(first: Replica, second: Replica): Promise<Seen> {
  const subject = randomUUID();
  const old = await signInAs(first, subject);
  const signOut = await signOutEverywhere(second, old.access_token);
  const use = (pair: Pair): Promise<readonly Outcome[]> =>
    Promise.all([first, second].map((replica) => orders(replica, pair.access_token)));
  return {
    signOut,
    old: await use(old),
    oldRefresh: await refresh(second, old.refresh_token),
    next: [...(await use(await signInAs(second, subject))), ...(await use(await signInAs(first, subject)))],
  };
}

/** Returns whether a stall may explain the responses: it explains refusals, but not that an ended session continues. */
function mayComeOfStall(seen: readonly Seen[]): boolean {
  const isRefused = ({ status }: Outcome): boolean => status === 401 || status === 503;
  return seen.every(
    ({ signOut, old, oldRefresh }) =>
      signOut.status === 503 || (signOut.status === 204 && [...old, oldRefresh].every(isRefused)),
  );
}
