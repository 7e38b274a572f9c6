import { setTimeout as delay } from "node:timers/promises";
import type { SessionsSettings } from "../services/sessions.ts";
import { keepAliveAgent, type Outcome, send } from "./client.ts";
import { asBuilt } from "./experiment.ts";
import { startService } from "./service-process.ts";
import {
  inWords,
  logout,
  orders,
  type Pair,
  pairOf,
  refresh,
  type Sessions,
  signIn,
} from "./session-client.ts";

/** The outcome of a request, with its start and end by `performance.now()`. */
export interface Timed extends Outcome {
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The start and end of a request by `performance.now()`, and its duration in milliseconds. */
export type Span = Pick<Timed, "ms" | "startedAt" | "endedAt">;

/** The responses that the clients of a service got before, during and after a fault of its Redis. */
export interface Seen {
  readonly failOpen: boolean;
  /** Requests that sign users in and out to prepare the load. */
  readonly setUp: readonly Span[];
  /** Requests with valid tokens, by client. */
  readonly clients: readonly (readonly Timed[])[];
  /** Requests with a token that was revoked before the fault. */
  readonly revoked: readonly Timed[];
  readonly refreshes: readonly Timed[];
  readonly logouts: readonly Timed[];
  /** The first request after each sign-out, with the token that signed out. */
  readonly left: readonly Timed[];
  readonly ready: readonly Timed[];
  /** Requests without a token to a route that needs none. */
  readonly open: readonly Timed[];
  readonly lives: boolean;
  /** How the process ended, with the end of its standard error. */
  readonly ending: string;
}

export interface LogLine {
  readonly time: string;
  readonly level: string;
  readonly message: string;
}

export interface StalledServiceOptions {
  readonly name: string;
  readonly failOpen: boolean;
  /** The number of clients, each with one request in flight. With a single client, no other request uses Redis. */
  readonly inFlight: number;
  readonly redisUrl: string;
  readonly variant: string;
  /** Milliseconds that a client pauses between two requests: at the fast rate, and at the normal rate. */
  readonly pausesMs: readonly [number, number];
}

/** A service under load. */
export interface StalledService extends AsyncDisposable {
  readonly name: string;
  /** The log records of the service since its start. */
  readonly lines: readonly LogLine[];
  /** The responses since the last `begin()`. */
  readonly seen: Seen;
  begin(): Promise<void>;
  hurry(hurries: boolean): void;
  /** Returns whether no request has failed since `since` and requests of each kind were sent. */
  isWell(since: number, forgets: boolean): boolean;
  /**
   * Returns the milliseconds from `from` until half a second without an error began; undefined when there was none
   * within `withinMs`.
   */
  isHealed(from: number, withinMs: number, forgets: boolean): Promise<number | undefined>;
  end(): Promise<Seen>;
}

const secret = "a secret of the tests, which has more than 32 bytes";

export async function createStalledService(options: StalledServiceOptions): Promise<StalledService> {
  const { name, failOpen, inFlight, redisUrl, variant, pausesMs } = options;
  const given = variant === asBuilt ? {} : { variant };
  const settings: SessionsSettings = { secret, redisUrl, failOpen, ...given };
  const service = await startService("sessions.ts", settings);
  const agent = keepAliveAgent(inFlight + 8);
  const sessions: Sessions = { port: service.port, agent };
  let seen = emptySeen(failOpen, inFlight);
  let load = new AbortController();
  let pauseMs = pausesMs[1];
  let asking: readonly Promise<void>[] = [];

  async function repeat(
    outcomes: Timed[],
    everyMs: number | (() => number),
    ask: () => Promise<Outcome>,
  ): Promise<void> {
    while (!load.signal.aborted && service.exit === undefined) {
      outcomes.push(await timed(ask));
      await delay(typeof everyMs === "number" ? everyMs : everyMs());
    }
  }

  const pauseOf = (): number => pauseMs;

  /**
   * Returns a function that refreshes with the same token until it succeeds: a refresh refused during an outage uses up
   * no token.
   */
  function refreshing(pair: Pair): () => Promise<Outcome> {
    let current = pair.refresh_token;
    return async () => {
      const outcome = await refresh(sessions, current);
      current = pairOf(outcome)?.refresh_token ?? current;
      return outcome;
    };
  }

  /** Returns a function that signs out with the same token until it succeeds, as a user would. */
  function leaving(): () => Promise<Outcome> {
    let pair: Pair | undefined;
    let tries = 0;
    return async () => {
      pair ??= (await signIn(sessions, 1))[0];
      const token = pair?.access_token ?? "";
      const outcome = await logout(sessions, token);
      // A 401 after a 503 means that the sign-out took effect after its deadline.
      if (outcome.status === 204 || (outcome.status === 401 && tries > 0)) {
        pair = undefined;
        tries = 0;
        seen.left.push(await timed(() => orders(sessions, token)));
      } else tries += 1;
      return outcome;
    };
  }

  return {
    name,
    get lines() {
      return service.lines.map((line) => JSON.parse(line) as LogLine);
    },
    get seen() {
      return seen;
    },
    isWell: (since, forgets) => isWell(seen, since, forgets),
    async begin() {
      seen = emptySeen(failOpen, inFlight);
      load = new AbortController();
      const { setUp } = seen;
      const startedAt = performance.now();
      const pairs = await signIn(sessions, inFlight + 2);
      setUp.push(spanSince(startedAt));
      const { clients, ready, open, revoked, refreshes, logouts } = seen;
      const loads = clients.map((outcomes, n) => {
        return repeat(outcomes, pauseOf, () => orders(sessions, pairs[n]?.access_token ?? ""));
      });
      loads.push(repeat(open, 100, () => send(service.port, "/open", { agent })));
      const [left, refreshed] = pairs.slice(-2);
      if (inFlight > 1 && left !== undefined && refreshed !== undefined) {
        // On a busy machine this sign-out may need several attempts.
        for (let tries = 0; tries < 10; tries++) {
          const tried = await timed(() => logout(sessions, left.access_token));
          setUp.push(tried);
          const { status } = tried;
          if (status === 204 || (status === 401 && tries > 0)) break;
          await delay(500);
        }
        loads.push(
          repeat(ready, 250, () => send(service.port, "/ready", { agent })),
          repeat(revoked, 200, () => orders(sessions, left.access_token)),
          repeat(refreshes, 200, refreshing(refreshed)),
          repeat(logouts, 200, leaving()),
        );
      }
      asking = loads;
    },
    hurry: (hurries) => void (pauseMs = pausesMs[hurries ? 0 : 1]),
    async isHealed(from, withinMs, forgets) {
      const until = from + withinMs;
      while (performance.now() < until && service.exit === undefined) {
        const since = Math.max(from, performance.now() - 500);
        await delay(250);
        if (performance.now() - since >= 500 && isWell(seen, since, forgets)) return since - from;
      }
      return undefined;
    },
    async end() {
      load.abort();
      await Promise.all(asking);
      return { ...seen, lives: service.exit === undefined, ending: service.ending };
    },
    async [Symbol.asyncDispose]() {
      load.abort();
      agent.destroy();
      await service[Symbol.asyncDispose]();
    },
  };
}

type Collecting = {
  readonly [N in "left" | "revoked" | "refreshes" | "logouts" | "ready" | "open"]: Timed[];
} & {
  readonly failOpen: boolean;
  readonly setUp: Span[];
  readonly clients: readonly Timed[][];
  readonly lives: boolean;
  readonly ending: string;
};

function emptySeen(failOpen: boolean, inFlight: number): Collecting {
  return {
    failOpen,
    setUp: [],
    clients: Array.from({ length: inFlight }, () => []),
    revoked: [],
    refreshes: [],
    logouts: [],
    left: [],
    ready: [],
    open: [],
    lives: true,
    ending: "",
  };
}

async function timed(ask: () => Promise<Outcome>): Promise<Timed> {
  const startedAt = performance.now();
  const outcome = await ask();
  return { ...outcome, startedAt, endedAt: performance.now() };
}

function spanSince(startedAt: number): Span {
  const endedAt = performance.now();
  return { ms: endedAt - startedAt, startedAt, endedAt };
}

function isWell(
  { clients, revoked, refreshes, logouts, left, ready }: Seen,
  since: number,
  forgets: boolean,
): boolean {
  const ended = (outcomes: readonly Timed[]): readonly Timed[] =>
    outcomes.filter((each) => each.startedAt > since);
  const all = (outcomes: readonly Timed[], words: RegExp): boolean => {
    const recent = ended(outcomes);
    return outcomes.length === 0 || (recent.length > 0 && recent.every((each) => words.test(inWords(each))));
  };
  return (
    clients.every((each) => all(each, /^200$/)) &&
    (forgets || all(revoked, /^401 /)) &&
    all(left, /^401 /) &&
    all(refreshes, /^200$/) &&
    all(logouts, /^204$/) &&
    (ready.length === 0 || ended(ready).some((each) => each.body.includes('"status":"ok"')))
  );
}
