import type { IncomingMessage, ServerResponse } from "node:http";
import type { CheckResult } from "@svc/context";
import type { KeySource } from "@svc/jwt-auth";
import { listen } from "@svc/test-support";
import { type KeyName, keyFixture } from "./key-fixtures.ts";

export type Answer = (req: IncomingMessage, res: ServerResponse) => void;

/** A test server that publishes a key set, or responds as a test specifies. */
export interface Issuer extends AsyncDisposable {
  readonly url: string;
  /** Number of requests so far. */
  readonly requests: number;
  /** Resolves when this many requests have arrived. */
  arrived(requests: number): Promise<void>;
  /** Sets the function that responds to all further requests. */
  answer(by: Answer): void;
  /** Replaces the published key set. */
  publish(...keys: readonly unknown[]): void;
}

/** Starts an issuer that publishes these keys. */
export async function issuer(...keys: readonly unknown[]): Promise<Issuer> {
  let requests = 0;
  let current: Answer = publishing(keys);
  const waiting = new Set<() => void>();
  const server = await listen((req, res) => {
    requests += 1;
    for (const look of waiting) look();
    current(req, res);
  });
  return {
    url: `${server.url}/.well-known/jwks.json`,
    get requests() {
      return requests;
    },
    arrived: (wanted) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (requests < wanted) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    answer: (by) => {
      current = by;
    },
    publish: (...next) => {
      current = publishing(next);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function publishing(keys: readonly unknown[]): Answer {
  const body = JSON.stringify({ keys });
  return (_req, res) => {
    res.setHeader("content-type", "application/jwk-set+json");
    res.end(body);
  };
}

/** Returns a function that responds with this status and no key set. */
export function failing(status = 503, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_req, res) => {
    res.writeHead(status, headers);
    res.end("<html>no keys here</html>");
  };
}

/** Returns the public key of a fixture as an entry of a key set. */
export function jwkOf(name: KeyName, members: Readonly<Record<string, unknown>> = {}): object {
  return { ...keyFixture(name).publicKey.export({ format: "jwk" }), kid: name, ...members };
}

/** A clock that moves only when a test advances it. */
export interface StoppedClock {
  readonly now: () => number;
  advance(seconds: number): void;
}

export function stoppedClock(): StoppedClock {
  let at = 1_000_000;
  return {
    now: () => at,
    advance: (seconds) => {
      at += seconds * 1000;
    },
  };
}

/** Returns the result of a source's readiness check. */
export async function readinessOf(source: KeySource): Promise<CheckResult> {
  const check = source.readiness?.();
  if (check === undefined) throw new Error("the source has no readiness check");
  return check.check(new AbortController().signal);
}
