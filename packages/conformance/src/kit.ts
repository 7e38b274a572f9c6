import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "./answer.ts";
import { type EchoServer, serveUpstream, startEchoServer, type UpstreamServer } from "./echo-server.ts";
import { createHttpClient, type HttpClient } from "./http-client.ts";
import { type KeyServer, serveKeys } from "./key-server.ts";
import { createLogReader, type LogReader } from "./log-reader.ts";
import type { Feature, Probe } from "./option-values.ts";
import type { Settings } from "./settings.ts";
import { type OtlpServer, serveOtlp } from "./otlp-server.ts";
import { type Extra, requestOf, withExtra } from "./requests.ts";
import { createMinter, type Minter } from "./tokens.ts";

/** Everything that a check uses. */
export interface Kit {
  readonly settings: Settings;
  readonly http: HttpClient;
  /** The client for the second replica. */
  readonly replica: HttpClient | undefined;
  readonly log: LogReader | undefined;
  readonly keySet: KeyServer | undefined;
  /** The receiver of the spans that the service exports. */
  readonly otlp: OtlpServer | undefined;
  /** The service behind the gateway. */
  readonly upstream: UpstreamServer | undefined;
  /** Creates tokens. Reading this member throws if the kit has no keys; checks that use tokens declare that need. */
  readonly tokens: Minter;
  /** Returns milliseconds from the run's clock. */
  now(): number;
  has(feature: Feature): boolean;
  /** Returns a new string of letters and digits at every call. */
  unique(): string;
  get(path: string, extra?: Extra): Promise<Answer>;
  ask(probe: Probe, extra?: Extra): Promise<Answer>;
  /** Runs `make` once; all calls with the same name share the result. */
  once<T>(name: string, make: () => Promise<T>): Promise<T>;
  echo(): Promise<EchoServer>;
  close(): Promise<void>;
}

export async function createKit(settings: Settings, now: () => number): Promise<Kit> {
  const http = createHttpClient(settings.url, settings.requestSeconds * 1000, now);
  const replica = settings.replica && createHttpClient(settings.replica, settings.requestSeconds * 1000, now);
  const log = settings.log === undefined ? undefined : await createLogReader(settings.log);
  const { keys } = settings;
  const keySet =
    settings.serveKeys === undefined || keys === undefined
      ? undefined
      : await serveKeys(settings.serveKeys, keys.algorithm);
  let otlp: OtlpServer | undefined;
  let upstream: UpstreamServer | undefined;
  let tokens: Minter | undefined;
  try {
    otlp = settings.serveOtlp === undefined ? undefined : await serveOtlp(settings.serveOtlp);
    upstream = settings.serveUpstream === undefined ? undefined : await serveUpstream(settings.serveUpstream);
    tokens = keys && createMinter(keys, keySet?.first, settings.tokenTenant);
  } catch (error) {
    await upstream?.stop();
    await otlp?.stop();
    await keySet?.stop();
    throw error;
  }
  const made = new Map<string, Promise<unknown>>();
  let echo: Promise<EchoServer> | undefined;

  function ask(probe: Probe, extra?: Extra): Promise<Answer> {
    return http.send(withExtra(requestOf(probe), extra));
  }
  return {
    settings,
    http,
    replica,
    log,
    keySet,
    otlp,
    upstream,
    get tokens() {
      if (tokens === undefined) throw new Error("no keys were given, so the kit cannot create tokens");
      return tokens;
    },
    now,
    has: (feature) => settings.features.has(feature),
    unique: () => `svc${randomBytes(8).toString("hex")}`,
    get: (path, extra) => ask(path, extra),
    ask,
    once<T>(name: string, make: () => Promise<T>): Promise<T> {
      const known = made.get(name) ?? make();
      made.set(name, known);
      return known as Promise<T>;
    },
    echo: () => (echo ??= startEchoServer()),
    async close() {
      http.close();
      replica?.close();
      // A server that could not start must not keep the others open.
      await (await echo?.catch(() => undefined))?.stop();
      await keySet?.stop();
      await otlp?.stop();
      await upstream?.stop();
    },
  };
}

/** Returns how long and how often to retry until the service has fetched the kit's keys. */
export function keyPatience({ keySetPatienceSeconds: seconds }: Settings): {
  readonly forMs: number;
  readonly everyMs: number;
} {
  return { forMs: seconds * 1000, everyMs: Math.min(1000, seconds * 250) };
}

/** Repeats a call every `everyMs` until `isWanted` returns true or `forMs` has passed. Returns the last result. */
export async function until<T>(
  call: () => Promise<T>,
  isWanted: (result: T) => boolean,
  { forMs, everyMs, now = () => performance.now() }: { forMs: number; everyMs: number; now?: () => number },
): Promise<T> {
  const deadline = now() + forMs;
  for (;;) {
    const result = await call();
    if (isWanted(result) || now() > deadline) return result;
    await sleep(everyMs);
  }
}
