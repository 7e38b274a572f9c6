import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "@svc/dev-services";
import type { Documented, Exchange } from "./recorded-files.ts";

const PRISM = "@stoplight/prism-cli@5.16.0";
const START_MS = 120_000;
const ANSWER_MS = 10_000;
const AT_ONCE = 8;
const ID = "x-exchange";

/** A violation that Prism reports in `sl-violations`. */
export interface Violation {
  readonly location: readonly string[];
  readonly severity: string;
  readonly code?: string | number | undefined;
  readonly message: string;
}

/** Receives the violations of an exchange. `wasBodyRead` is false if Prism could not read the request body. */
export type Judge = (exchange: Exchange, violations: readonly Violation[], wasBodyRead: boolean) => void;

/** Options of {@link replayThroughPrism}. */
export interface ReplayOptions extends Documented {
  /** The folder to which the document is written. */
  readonly folder: string;
  readonly judge: Judge;
}

/** Sends each request through Prism's proxy to a server that responds with the recorded response. */
export async function replayThroughPrism({
  document,
  exchanges,
  folder,
  judge,
}: ReplayOptions): Promise<void> {
  const file = join(folder, "openapi.json");
  writeFileSync(file, document);
  const waiting = new Map<string, Exchange>();
  const upstream = createServer((req, res) => {
    req.resume();
    const id = String(req.headers[ID]);
    const exchange = waiting.get(id);
    waiting.delete(id);
    if (exchange === undefined) {
      res.writeHead(500).end();
      return;
    }
    res.writeHead(exchange.status, [...responseHeadersOf(exchange)]);
    res.end(exchange.body);
  }).listen(0, "127.0.0.1");
  const port = await freePort();
  const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  // npx starts further processes, so end its process group.
  const prism = spawn(
    "npx",
    ["--yes", PRISM, "proxy", file, upstreamUrl, "--port", String(port), "--host", "127.0.0.1"],
    { stdio: ["ignore", "ignore", "inherit"], detached: true },
  );
  try {
    await untilListening(port, () => prism.exitCode !== null);
    const agent = new Agent({ keepAlive: true });
    const left = exchanges.entries();
    const work = async (): Promise<void> => {
      for (const [index, exchange] of left) {
        const ask = async (withBody: boolean): Promise<readonly Violation[] | undefined> => {
          const id = String(index);
          waiting.set(id, exchange);
          const violations = await sent(agent, port, exchange, id, withBody);
          return waiting.delete(id) ? undefined : violations;
        };
        const violations = isReadable(exchange) ? await ask(true) : undefined;
        if (violations !== undefined) judge(exchange, violations, true);
        else judge(exchange, (await ask(false)) ?? [unjudged], false);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    agent.destroy();
  } finally {
    if (prism.pid !== undefined && prism.exitCode === null) process.kill(-prism.pid, "SIGKILL");
    upstream.closeAllConnections();
    upstream.close();
  }
}

const unjudged: Violation = {
  location: ["response"],
  severity: "Error",
  message: "Prism did not forward the request",
};

/** Returns whether Prism can read a body: it never responds to a request with malformed JSON. */
function isReadable({ requestHeaders, requestBody }: Exchange): boolean {
  const type = pairsOf(requestHeaders).find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  if (requestBody.length === 0 || !/json/i.test(type)) return true;
  try {
    JSON.parse(requestBody.toString());
    return true;
  } catch {
    return false;
  }
}

const unsent = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
  "expect",
  "upgrade",
  "te",
  "trailer",
  "accept-encoding",
]);

/** Sends a request to Prism, and returns the violations that it reports. */
function sent(
  agent: Agent,
  port: number,
  { method, target, requestHeaders, requestBody }: Exchange,
  id: string,
  withBody: boolean,
): Promise<readonly Violation[]> {
  const kept = pairsOf(requestHeaders).filter(
    ([name]) => !unsent.has(name.toLowerCase()) && (withBody || !/^content-/i.test(name)),
  );
  const hasBody = withBody && requestBody.length > 0;
  // Without a length, Node would send an empty body in chunks.
  const isBodied = hasBody || !["GET", "HEAD"].includes(method);
  const length = isBodied ? ["Content-Length", String(hasBody ? requestBody.length : 0)] : [];
  return new Promise((resolve) => {
    const headers = [...kept.flat(), ...length, ID, id];
    const req = request({ agent, host: "127.0.0.1", port, method, path: target, headers }, (res) => {
      res.resume();
      res.on("end", () => resolve(violationsOf(res.headers["sl-violations"])));
      res.on("error", () => resolve([]));
    });
    req.on("error", () => resolve([]));
    req.setTimeout(ANSWER_MS, () => req.destroy(new Error("Prism does not answer")));
    req.end(hasBody ? requestBody : undefined);
  });
}

/** Returns the violations in a header, which Prism truncates at 8 KiB. */
function violationsOf(header: string | string[] | undefined): readonly Violation[] {
  if (header === undefined) return [];
  const text = String(header);
  const found = text.startsWith("[") ? (JSON.parse(text) as readonly Violation[]) : undefined;
  return found ?? [{ location: ["response"], severity: "Error", message: text.slice(0, 500) }];
}

function* responseHeadersOf({ headers, body }: Exchange): Generator<string> {
  for (const [name, value] of pairsOf(headers)) {
    const lower = name.toLowerCase();
    // Prism would follow the redirect.
    if (unsent.has(lower) || lower === "location") continue;
    yield name;
    yield value;
  }
  if (body.length > 0) yield* ["Content-Length", String(body.length)];
}

function pairsOf(headers: readonly string[]): (readonly [string, string])[] {
  return Array.from({ length: headers.length / 2 }, (_, n) => [
    headers[2 * n] ?? "",
    headers[2 * n + 1] ?? "",
  ]);
}

async function untilListening(port: number, hasEnded: () => boolean): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (!(await isListening(port))) {
    if (hasEnded()) throw new Error("Prism ended while it started");
    if (performance.now() > deadline) throw new Error("Prism did not start in time");
    await sleep(100);
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => resolve(false));
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
