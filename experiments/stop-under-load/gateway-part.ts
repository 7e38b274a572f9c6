import { freePort } from "@svc/dev-services";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { tally } from "../harness/client.ts";
import type { Run } from "../harness/experiment.ts";
import type { Report } from "../harness/report.ts";
import { type ServiceProcess, startService } from "../harness/service-process.ts";
import type { EdgeGatewaySettings } from "../services/edge-gateway.ts";
import type { ReplicaSettings } from "../services/replica.ts";
import { type GatewayLoad, startGatewayLoad } from "./gateway-load.ts";
import { startSocketServer } from "./socket-server.ts";

const name = "gateway";
const drainSeconds = 3;
const quickDrainSeconds = 2;
/** Milliseconds after SIGTERM within which the gateway must notice the drain. */
const noticeMs = 200;
const quickNoticeMs = 1_000;
/** Milliseconds between the end of a replica and its start: long enough for refused connections to count. */
const downMs = 2_000;
const quickDownMs = 500;
const pauseMs = 1;
const quickPauseMs = 50;
const warmMs = 500;
/** The code of a WebSocket whose server stops (RFC 6455, section 7.4.1). */
const goingAway = 1001;

/** Restarts two replicas behind a gateway in turn, while clients send requests through it. */
export async function runGatewayPart(run: Run, report: Report): Promise<void> {
  await using stack = new AsyncDisposableStack();
  // A restarted replica keeps its port. With freePort(), no other process of the test run takes the port in between.
  const startReplica = async (port?: number): Promise<ServiceProcess> =>
    stack.use(await startService("replica.ts", { ...settingsOf(run), port: port ?? (await freePort()) }));
  // All replicas in the order of their start, including those that have ended.
  const replicas = [await startReplica(), await startReplica()];
  const sockets = stack.use(await startSocketServer());
  const settings: EdgeGatewaySettings = {
    replicas: replicas.map(({ port }) => `http://127.0.0.1:${port}`),
    sockets: sockets.url,
  };
  const gateway = stack.use(await startService("edge-gateway.ts", settings));

  const load = startGatewayLoad(gateway.port, run.quick ? quickPauseMs : pauseMs);
  await delay(warmMs);
  const restarts = 2 * (run.runs ?? (run.quick ? 1 : 5));
  for (let turn = 0; turn < restarts; turn += 1) {
    const failed = load.failures.length;
    const oldest = replicas[turn];
    if (oldest === undefined) break;
    oldest.signal("SIGTERM");
    await oldest.exited;
    await delay(run.quick ? quickDownMs : downMs);
    replicas.push(await startReplica(oldest.port));
    report.note(`${name}, restart ${turn + 1}: ${load.failures.length - failed} failed, ${oldest.ending}`);
  }
  await delay(warmMs);
  await load.stop();
  judgeLoad(load, replicas, restarts, report);
  await judgeSockets(gateway, report);
}

function settingsOf({ variant, quick }: Run): ReplicaSettings {
  return {
    drainDelaySeconds: quick ? quickDrainSeconds : drainSeconds,
    plain: variant === "broken-gateway-exit-at-once",
    lateMs: quick ? quickNoticeMs : noticeMs,
  };
}

function judgeLoad(
  { requests, failures, orders }: GatewayLoad,
  replicas: readonly ServiceProcess[],
  restarts: number,
  report: Report,
): void {
  const ended = replicas.slice(0, restarts);
  const executed = countsOf(linesOf<string>(replicas, "order"));
  const late = linesOf<number>(ended, "late").reduce((sum, count) => sum + count, 0);
  const wrong = [...orders].map((order) => executed.get(order) ?? 0).filter((count) => count !== 1);
  report.figure(name, "restarts", restarts, "count");
  report.figure(name, "requests", requests, "count");
  report.figure(name, "failed requests", failures.length, "count");
  report.figure(name, "POSTs", orders.size, "count");
  report.figure(name, "POSTs not executed exactly once", wrong.length, "count");
  report.figure(name, "requests to a draining replica", late, "count");
  report.rule(failures.length === 0, `${name}: no request fails (${tally(failures)})`);
  const counts = tally(wrong.map((count) => `${count} times`));
  report.rule(wrong.length === 0, `${name}: every POST is executed once (others: ${counts})`);
  report.rule(late === 0, `${name}: a draining replica gets no new requests (${late})`);
  const isOrderly = ended.every(({ exit }) => exit?.code === 0);
  report.rule(isOrderly, `${name}: every exit code is 0`);
}

/** Returns the values of one key in the lines of processes. */
function linesOf<T>(processes: readonly ServiceProcess[], key: string): readonly T[] {
  return processes.flatMap(({ lines }) =>
    lines.flatMap((line) => {
      const record = JSON.parse(line) as Readonly<Record<string, T>>;
      const value = record[key];
      return value === undefined ? [] : [value];
    }),
  );
}

function countsOf(orders: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const order of orders) counts.set(order, (counts.get(order) ?? 0) + 1);
  return counts;
}

/** Stops the gateway while it has a WebSocket. */
async function judgeSockets(gateway: ServiceProcess, report: Report): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/socket`);
  await once(socket, "open");
  gateway.signal("SIGTERM");
  const [{ code }] = (await once(socket, "close")) as [CloseEvent];
  const exit = await gateway.exited;
  report.rule(code === goingAway, `${name}: a stopping gateway closes WebSockets with 1001 (${code})`);
  report.rule(exit.code === 0, `${name}: the gateway stops with exit code 0 (${gateway.ending})`);
}
