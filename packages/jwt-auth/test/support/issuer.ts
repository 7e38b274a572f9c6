import type { IncomingMessage, ServerResponse } from "node:http";
import type { CheckResult } from "@svc/context";
import type { KeySource } from "@svc/jwt-auth";
import { listen } from "@svc/test-support";
import { type KeyName, keyFixture } from "./key-fixtures.ts";

export type Answer = (req: IncomingMessage, res: ServerResponse) => void;

/** A server that publishes a key set, or does something else. */
export interface Issuer extends AsyncDisposable {
  readonly url: string;
  /** How many requests came in so far. */
  readonly requests: number;
  /** Resolves when so many have come in. */
  arrived(requests: number): Promise<void>;
  /** From now on every request is answered by this. */
  answer(by: Answer): void;
  /** From now on this is the key set. */
  publish(...keys: readonly unknown[]): void;
}

/** An issuer that publishes these keys. */
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

/** Answers with a status and nothing else of use. */
export function failing(status = 503, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_req, res) => {
    res.writeHead(status, headers);
    res.end("<html>no keys here</html>");
  };
}

/** The public key of a fixture as it stands in a key set. */
export function jwkOf(name: KeyName, members: Readonly<Record<string, unknown>> = {}): object {
  return { ...keyFixture(name).publicKey.export({ format: "jwk" }), kid: name, ...members };
}

/** A clock that stands still until it is told. */
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

/** What the readiness check of a source says. */
export async function readinessOf(source: KeySource): Promise<CheckResult> {
  const check = source.readiness?.();
  if (check === undefined) throw new Error("the source has no readiness check");
  return check.check(new AbortController().signal);
}
