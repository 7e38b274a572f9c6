import { setTimeout as delay } from "node:timers/promises";
import { tally } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { quantile, type Report } from "./harness/report.ts";
import { type ServiceProcess, startService } from "./harness/service-process.ts";
import { download, type Transfer, upload } from "./gateway-stream/transfers.ts";
import { startUpstream, type Upstream } from "./gateway-stream/upstream.ts";
import { vanish } from "./gateway-stream/vanishing.ts";
import type { GatewaySettings } from "./services/gateway.ts";

const mib = 1024 * 1024;
const mb = 1_000_000;
const bytes = 1024 * mib;
const quickBytes = 256 * mib;
const warmBytes = 128 * mib;
const pauseMs = 50;
/** Permitted growth of the resident memory of the gateway's process. */
const mostGrowth = 50 * mb;
/** Growth at which a transfer is ended, so that a broken variant does not fill the machine's memory. */
const endGrowth = 2 * mostGrowth;
const everyMs = 50;
/** Milliseconds within which a request ends at the service after its client has disconnected. */
const endMs = 1_000;
const quickEndMs = 5_000;

/** Streams large bodies through a gateway to slow readers, and disconnects clients in the middle of a body. */
export const gatewayStream: Experiment = {
  name: "gateway-stream",
  description:
    "1 GiB through a gateway to slow readers, and clients that disconnect: memory is bounded, requests end",
  brokenVariants: ["broken-no-backpressure"],
  async run(run, report) {
    await using upstream = await startUpstream();
    const settings: GatewaySettings = {
      variant: run.variant,
      routes: [{ prefix: "/stream", targets: [upstream.url] }],
    };
    await stream("download", download, settings, run, report);
    await stream("upload", upload, settings, run, report);
    if (run.variant === asBuilt) await disconnect(upstream, settings, run, report);
  },
};

/** Streams in one direction, in a separate gateway process: memory that another transfer has freed would hide a growth. */
async function stream(
  name: string,
  transfer: Transfer,
  settings: GatewaySettings,
  { quick }: Run,
  report: Report,
): Promise<void> {
  await using gateway = await startService("gateway.ts", settings);
  const sent = quick ? quickBytes : bytes;
  const end = new AbortController();
  const idle = await gateway.ask<number>("memory");
  // Transfer some bytes first: they compile code, and leave as much garbage as the process keeps from then on.
  const warmed = transfer(gateway.port, warmBytes, 0, end.signal);
  const before = await highestMemory(gateway, warmed, () => undefined, Infinity);
  const began = performance.now();
  const transferred = transfer(gateway.port, sent, pauseMs, end.signal);
  const highest = await highestMemory(gateway, transferred, () => end.abort(), before + endGrowth);
  const arrived = await transferred;
  const growth = highest - before;
  report.figure(name, "bytes", arrived.bytes, "B");
  report.figure(name, "duration", (performance.now() - began) / 1000, "s");
  report.figure(name, "resident memory at startup", idle / mb, "MB");
  report.figure(name, "highest memory of the warm-up", before / mb, "MB");
  report.figure(name, "memory growth", growth / mb, "MB");
  report.rule(
    growth < mostGrowth,
    `${name}: memory grows by less than ${mostGrowth / mb} MB (${Math.round(growth / mb)})`,
  );
  report.rule(
    arrived.bytes === sent && arrived.matches,
    `${name}: every byte arrives (${arrived.bytes} of ${sent}${arrived.matches ? "" : ", others"})`,
  );
}

async function disconnect(
  upstream: Upstream,
  settings: GatewaySettings,
  run: Run,
  report: Report,
): Promise<void> {
  await using gateway = await startService("gateway.ts", settings);
  const clients = run.cases ?? (run.quick ? 60 : 500);
  const vanished = await vanish(gateway.port, upstream, clients);
  const most = run.quick ? quickEndMs : endMs;
  const late = vanished.filter(({ ms }) => ms > most).map(({ kind }) => kind);
  const times = vanished.map(({ ms }) => ms);
  report.figure("disconnect", "clients", clients, "count");
  report.figure("disconnect", "until the request ends, median", quantile(times, 0.5), "ms");
  report.figure("disconnect", "until the request ends, longest", Math.max(...times), "ms");
  report.rule(
    late.length === 0,
    `disconnect: ${clients - late.length} of ${clients} requests end within ${most} ms (others: ${tally(late)})`,
  );
  report.rule(gateway.exit === undefined, `the gateway's process survives (${gateway.ending})`);
}

/** Returns the highest resident memory during a transfer; ends the transfer above a limit. */
async function highestMemory(
  gateway: ServiceProcess,
  transferred: Promise<unknown>,
  end: () => void,
  limit: number,
): Promise<number> {
  let isRunning = true;
  let highest = 0;
  const done = (): void => void (isRunning = false);
  transferred.then(done, done);
  while (isRunning) {
    highest = Math.max(highest, await gateway.ask<number>("memory"));
    if (highest > limit) end();
    await delay(everyMs);
  }
  return highest;
}
