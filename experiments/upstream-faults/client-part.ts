import { setTimeout as delay } from "node:timers/promises";
import { RequestContext, runWithContext } from "@svc/context";
import { type Client, type ClientOptions, createClient } from "@svc/http-client";
import { asBuilt, type Run } from "../harness/experiment.ts";
import type { Report } from "../harness/report.ts";
import { type Fault, faults, type FaultyServer, startFaultyServer, telling } from "./faulty-server.ts";

const CONCURRENT = 8;
const totalMs = 1_000;
const coolDownMs = 500;
/** Maximum delay of a timer in milliseconds: half a second of the client's coarse timers, plus the delay of the machine. */
const lateMs = 500;
const quickLateMs = 3_000;
const attempts = 3;

interface Outcome {
  readonly ms: number;
  readonly failed: boolean;
}

/** Calls faulty services with a client of `@svc/http-client`, and counts the requests that reach them. */
export async function runClientPart(run: Run, report: Report): Promise<void> {
  const stray: unknown[] = [];
  const count = (error: unknown): void => void stray.push(error);
  process.on("unhandledRejection", count);
  const healthy: Fault = { name: "healthy", isOutage: false, answer: (socket) => socket.destroy() };
  await using foreign = await startFaultyServer(healthy, "");
  try {
    for (const fault of faultsFor(run)) await runFault(fault, foreign, run, report);
  } finally {
    process.off("unhandledRejection", count);
  }
  report.rule(
    foreign.arrivals.length === 0,
    `no request reaches another origin (${foreign.arrivals.length})`,
  );
  report.rule(stray.length === 0, `no error is left unhandled (${stray.length})`);
}

function faultsFor({ quick, variant }: Run): readonly Fault[] {
  return quick && variant !== asBuilt ? faults.filter(({ name }) => telling.includes(name)) : faults;
}

async function runFault(fault: Fault, foreign: FaultyServer, run: Run, report: Report): Promise<void> {
  await using server = await startFaultyServer(fault, foreign.url);
  await using client = createClient(optionsFor(server, run));
  const calls = run.cases ?? (run.quick ? 60 : 200);
  const began = performance.now();
  const outcomes = await callAll(client, calls, run);
  const seconds = (performance.now() - began) / 1000;
  const { name } = fault;
  const state = await client.readiness().check(AbortSignal.timeout(1_000));
  // After its cool-down, an open circuit breaker reports healthy and waits for a trial.
  const isOpen = !state.healthy || state.detail.includes("the next call is a trial");

  const longest = Math.max(...outcomes.map(({ ms }) => ms));
  const late = run.quick ? quickLateMs : lateMs;
  report.figure(name, "longest call", longest, "ms");
  report.figure(name, "requests that arrived", server.arrivals.length, "count");
  report.rule(
    longest <= totalMs + late,
    `${name}: no call takes longer than ${totalMs + late} ms (${Math.round(longest)})`,
  );
  judgeArrivals(server, name, calls, seconds, report);
  if (fault.isOutage) report.rule(isOpen, `${name}: the circuit breaker opens`);

  await server.heal();
  await delay(coolDownMs);
  const healed = await call(client, "healed", "GET", run);
  const { healthy } = await client.readiness().check(AbortSignal.timeout(1_000));
  report.rule(!healed.failed && healthy, `${name}: calls succeed after the fault`);
}

function judgeArrivals(
  { arrivals }: FaultyServer,
  name: string,
  calls: number,
  seconds: number,
  report: Report,
): void {
  const perCall = new Map<string, number>();
  for (const { call: id } of arrivals) perCall.set(id, (perCall.get(id) ?? 0) + 1);
  const posts = arrivals
    .filter(({ method }) => method === "POST")
    .map(({ call: id }) => perCall.get(id) ?? 0);
  const most = Math.floor(calls * 1.2 + 10 + seconds + 1);
  report.rule(
    arrivals.length <= most,
    `${name}: at most ${most} requests arrive, so retries are in their budget (${arrivals.length})`,
  );
  report.rule(
    [...perCall.values()].every((count) => count <= attempts),
    `${name}: no call arrives more than ${attempts} times`,
  );
  report.rule(
    posts.every((count) => count === 1),
    `${name}: no POST arrives twice`,
  );
  const foreign = arrivals.filter(({ head }) => /^(?:x-tenant-id|authorization|cookie):|secret/im.test(head));
  report.rule(
    foreign.length === 0,
    `${name}: no request has the tenant, token or cookie of the caller (${foreign.length})`,
  );
}

function optionsFor({ url }: FaultyServer, run: Run): ClientOptions {
  return {
    name: "faulty",
    baseUrl: url,
    attempts,
    connectTimeoutSeconds: 0.2,
    headersTimeoutSeconds: 0.2,
    bodyTimeoutSeconds: 0.2,
    totalTimeoutSeconds: totalMs / 1000,
    breakerCoolDownSeconds: coolDownMs / 1000,
    maxBodyBytes: 1024 * 1024,
    maxRedirects: 3,
    ...(run.variant === "broken-no-budget" ? { retryBudget: 10 } : {}),
  };
}

async function callAll(client: Client, calls: number, run: Run): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < calls) {
      const id = next++;
      outcomes.push(await call(client, String(id), id % 2 === 0 ? "GET" : "POST", run));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  return outcomes;
}

/** Makes a call in the context of a request with a tenant and a token. */
async function call(client: Client, id: string, method: string, run: Run): Promise<Outcome> {
  const headers = { authorization: "Bearer secret", cookie: "session=secret" };
  const context = new RequestContext({ requestId: `request-${id}`, tenantId: "secret-tenant" }, { headers });
  const send = () =>
    client.request(method, "/", { headers: { "X-Call": id }, ...(method === "POST" ? { json: {} } : {}) });
  const isAgain = run.variant === "broken-retries-posts" && method === "POST";
  const began = performance.now();
  return runWithContext(context, async () => {
    try {
      await (isAgain ? send().catch(send) : send());
      return { ms: performance.now() - began, failed: false };
    } catch {
      return { ms: performance.now() - began, failed: true };
    }
  });
}
