import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, tally } from "../harness/client.ts";
import { asBuilt, type Run } from "../harness/experiment.ts";
import type { Report } from "../harness/report.ts";
import { type ServiceProcess, startService } from "../harness/service-process.ts";
import type { GatewaySettings } from "../services/gateway.ts";
import { type Fault, type FaultyServer, startFaultyServer, telling } from "./faulty-server.ts";
import { callGateway, type GatewayCall } from "./gateway-call.ts";
import { type GatewayFault, gatewayFaults } from "./gateway-faults.ts";
import { judgeCalls, resultOf } from "./judge-gateway.ts";
import { runSmuggling } from "./smuggling.ts";

const CONCURRENT = 8;
const timeoutMs = 500;
const connectTimeoutMs = 200;
/** Milliseconds by which a call may end late: undici checks its time limits twice per second. */
const lateMs = 1_000;
const quickLateMs = 3_000;
/** The number of calls after the fault, for both targets. */
const healedCalls = 10;
/** Milliseconds within which a request ends after its client has disconnected. */
const leftMs = 1_000;
const quickLeftMs = 5_000;

/** A route of the gateway, with the servers behind it. */
interface FaultyRoute extends GatewayFault {
  readonly name: string;
  readonly prefix: string;
  readonly servers: readonly FaultyServer[];
}

/** Calls faulty services through one gateway in its own process, and counts the requests that reach them. */
export async function runGatewayPart(run: Run, report: Report): Promise<void> {
  const none: Fault = { name: "foreign", isOutage: false, answer: (socket) => socket.destroy() };
  await using stack = new AsyncDisposableStack();
  const foreign = stack.use(await startFaultyServer(none, ""));
  const routes: FaultyRoute[] = [];
  const isVariant = run.variant !== asBuilt;
  for (const each of gatewayFaults) {
    if (run.quick && isVariant && !telling.includes(each.fault.name)) continue;
    const servers = [
      stack.use(await startFaultyServer(each.fault, foreign.url)),
      stack.use(await startFaultyServer(each.second ?? each.fault, foreign.url)),
    ];
    const { name } = each.fault;
    routes.push({ ...each, name: `gateway, ${name}`, prefix: `/${name.replaceAll(" ", "-")}`, servers });
  }
  const gateway = stack.use(await startService("gateway.ts", settingsOf(routes, run)));

  for (const route of routes) await runFault(route, gateway, run, report);
  const { arrivals } = foreign;
  report.rule(arrivals.length === 0, `gateway: no request reaches another origin (${arrivals.length})`);
  await judgeReadiness(gateway, 2 * routes.length, report);
  if (!isVariant) await runSmuggling(report);
}

function settingsOf(routes: readonly FaultyRoute[], { variant }: Run): GatewaySettings {
  return {
    variant,
    routes: routes.map(({ prefix, servers }) => ({
      prefix,
      targets: servers.map(({ url }) => url),
      timeoutSeconds: timeoutMs / 1000,
      connectTimeoutSeconds: connectTimeoutMs / 1000,
    })),
  };
}

async function runFault(
  route: FaultyRoute,
  gateway: ServiceProcess,
  run: Run,
  report: Report,
): Promise<void> {
  const { name, servers } = route;
  const calls = run.cases ?? (run.quick ? 60 : 200);
  const made = await callAll(gateway.port, route, calls, CONCURRENT);
  const arrivals = servers.flatMap((server) => server.arrivals);
  const longest = Math.max(...made.map(({ ms }) => ms));
  const most = timeoutMs + (run.quick ? quickLateMs : lateMs);
  report.figure(name, "longest call", longest, "ms");
  report.figure(name, "requests that arrived", arrivals.length, "count");
  report.note(`${name}: ${tally(made.map(resultOf))}`);
  report.rule(longest <= most, `${name}: no call waits longer than ${most} ms (${Math.round(longest)})`);
  judgeCalls(route, made, arrivals, report);
  if (made.some(({ ending }) => ending === "left")) await judgeEnds(route, run, report);
  if (route.rests === true) {
    const rest = await callAll(gateway.port, route, 2, 1);
    const isResting = rest.every((each) => resultOf(each) === "503 problem");
    report.rule(isResting, `${name}: the targets are paused (${tally(rest.map(resultOf))})`);
  }

  await Promise.all(servers.map((server) => server.heal()));
  await gateway.ask("endRests");
  // Send one call after the other, because each target gets only one request as its trial.
  const healed = await callAll(gateway.port, route, healedCalls, 1);
  const good = healed.filter((each) => resultOf(each) === "200 complete").length;
  report.rule(good === healedCalls, `${name}: calls succeed after the fault (${good} of ${healedCalls})`);
  report.rule(gateway.exit === undefined, `${name}: the gateway's process survives (${gateway.ending})`);
}

/** Checks that requests whose clients have disconnected also end at the service. */
async function judgeEnds({ name, servers }: FaultyRoute, { quick }: Run, report: Report): Promise<void> {
  const open = (): number => servers.reduce((sum, { connections }) => sum + connections, 0);
  const most = quick ? quickLeftMs : leftMs;
  for (const end = performance.now() + most; open() > 0 && performance.now() < end;) await delay(10);
  report.rule(open() === 0, `${name}: a request ends within ${most} ms after its client (${open()} open)`);
}

async function judgeReadiness(gateway: ServiceProcess, count: number, report: Report): Promise<void> {
  const { healthy, detail = "" } = await gateway.ask<{ healthy: boolean; detail?: string }>("readiness");
  const isWhole = healthy && detail === `${count} of ${count} targets are answering`;
  report.rule(isWhole, `gateway: every target that was paused has returned (${detail})`);
}

async function callAll(
  port: number,
  { prefix }: FaultyRoute,
  calls: number,
  concurrent: number,
): Promise<readonly GatewayCall[]> {
  const agent = keepAliveAgent(concurrent);
  const made: GatewayCall[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < calls) {
      const id = next++;
      const method = id % 2 === 0 ? "GET" : "POST";
      made.push(await callGateway(port, prefix, method, String(id), agent));
    }
  };
  await Promise.all(Array.from({ length: concurrent }, work));
  agent.destroy();
  return made;
}
