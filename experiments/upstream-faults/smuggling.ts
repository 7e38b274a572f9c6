import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { readAnswers } from "../harness/answers.ts";
import { send, tally } from "../harness/client.ts";
import { asBuilt } from "../harness/experiment.ts";
import type { Report } from "../harness/report.ts";
import { startService } from "../harness/service-process.ts";
import type { GatewaySettings } from "../services/gateway.ts";
import { type Pair, pairs, pipelined } from "./smuggled-pairs.ts";

const name = "gateway, smuggling";
/** Milliseconds after which a connection that the gateway has not closed counts as open. */
const patienceMs = 5_000;
/** Milliseconds between the two halves of bytes that are sent in two pieces. */
const pauseMs = 10;

/** A service that records its requests. */
interface Recorder extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly IncomingMessage[];
}

/** Sends pairs of requests to a gateway, each in one piece and in two, and counts the requests that reach the service. */
export async function runSmuggling(report: Report): Promise<void> {
  await using service = await startRecorder();
  const settings: GatewaySettings = {
    variant: asBuilt,
    routes: [{ prefix: "/smuggle", targets: [service.url] }],
  };
  await using gateway = await startService("gateway.ts", settings);

  const { received } = service;
  await exchange(gateway.port, pipelined, 1);
  report.rule(secondsOf(received) === 1, `${name}: the experiment notices a second request`);
  const before = received.length;

  const faults: string[] = [];
  const wrongAnswers: string[] = [];
  for (const pair of pairs) {
    for (const pieces of [1, 2]) {
      const count = received.length;
      const statuses = await exchange(gateway.port, pair, pieces);
      const arrived = received.length - count;
      const expected = pair.isValid ? "200 and 1 request" : "400 and 0 requests";
      const found = `${statuses} and ${arrived} request${arrived === 1 ? "" : "s"}`;
      if (found !== expected) faults.push(`${pair.name}: ${found}`);
      // If a gateway and a service disagree about the end of a request, they mix up the responses after it.
      const path = `/smuggle/after-${count}`;
      const after = await send(gateway.port, path);
      if (after.body !== path) wrongAnswers.push(pair.name);
    }
  }
  const seconds = secondsOf(received.slice(before));
  const anonymous = received.filter(({ headers }) => !headers["x-request-id"]).length;
  report.figure(name, "pairs", pairs.length, "count");
  report.figure(name, "second requests at the service", seconds, "count");
  report.rule(seconds === 0, `${name}: no pair reaches the service as a second request (${seconds})`);
  report.rule(
    faults.length === 0,
    `${name}: invalid bytes get 400, and valid ones are one request (${tally(faults)})`,
  );
  report.rule(
    wrongAnswers.length === 0,
    `${name}: later requests get their own response (${tally(wrongAnswers)})`,
  );
  report.rule(anonymous === 0, `${name}: every request has an X-Request-ID (${anonymous} have none)`);
  report.rule(gateway.exit === undefined, `${name}: the gateway's process survives (${gateway.ending})`);
}

function secondsOf(received: readonly IncomingMessage[]): number {
  return received.filter(({ url }) => url === "/smuggle/second").length;
}

/** Starts a service that also accepts invalid requests, and responds with the path. */
async function startRecorder(): Promise<Recorder> {
  const received: IncomingMessage[] = [];
  const server = createServer({ insecureHTTPParser: true }, (req, res) => {
    received.push(req);
    req.resume().on("end", () => res.end(req.url));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sends bytes on a separate connection, and returns the statuses of the responses on it. */
async function exchange(port: number, { bytes }: Pair, pieces: number): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  const chunks: Buffer[] = [];
  socket.on("error", () => undefined).on("data", (chunk: Buffer) => chunks.push(chunk));
  // `once()` would reject if the gateway resets a connection whose bytes it has not read.
  const closed = new Promise<boolean>((resolve) => socket.once("close", () => resolve(true)));
  const half = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += half) {
    if (at > 0) await delay(pauseMs);
    if (socket.writable) socket.write(bytes.slice(at, at + half), "latin1");
  }
  const isClosed = await Promise.race([closed, delay(patienceMs, false, { ref: false })]);
  socket.destroy();
  const { answers } = readAnswers(Buffer.concat(chunks), false, true);
  return (
    answers.map(({ status }) => status).join(", ") + (isClosed ? "" : ", and the connection stayed open")
  );
}
