import type { Dispatcher } from "undici";
import { createLoadClient, type LoadClient } from "./load-client.ts";
import type { Settings } from "./options.ts";
import { LEAD_MS } from "./pacer.ts";
import type { PlannedRequest } from "./plan.ts";
import { recordEnd, recordUnsent, type Tally } from "./tally.ts";

/** The loop of all clients of a step. Times are those of `performance.now()`. */
export interface Loop {
  /** Resolves when the loop is stopped and its last request has ended. */
  readonly ended: Promise<void>;
  start(): void;
  /** Open loop: sends the requests that are due while there are idle clients. */
  sendDue(): void;
  /** Ends the requests that have passed their time limit. */
  expire(): void;
  /** Sends no more requests. */
  stop(): void;
  /** Closes all connections; requests that have not ended are not counted. */
  destroy(): Promise<void>;
}

/** The period in which requests are counted. */
export interface Window {
  readonly beganAt: number;
  /** The end of the warm-up. */
  readonly from: number;
  /** The end of the step. An interruption sets it to the current time. */
  until: number;
}

/** Pause of a client whose connection failed, in milliseconds: immediate failures cost more CPU time than responses. */
const PAUSE_MS = 100;

/**
 * Creates the loop of a step. In a closed loop, each client sends a request as soon as its previous one has ended. In an
 * open loop with a rate, requests are due at fixed times, from which their latencies count.
 */
export function createLoop(
  clientCount: number,
  planned: readonly PlannedRequest[],
  { origin, rate, timeoutSeconds, headers }: Settings,
  window: Window,
  tally: Tally,
): Loop {
  const timeoutMs = timeoutSeconds * 1000;
  const requests = planned.map((each) => optionsOf(each, headers));
  const clients = Array.from({ length: clientCount }, (_, at) =>
    createLoadClient({ origin, requests, timeoutMs, settle }, at),
  );
  const idle: LoadClient[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let busy = 0;
  let sent = 0;
  let isStopped = false;
  let isDestroyed = false;

  /** Returns when the next request of the open loop is due. */
  function nextDue(rateOfLoop: number): number {
    return window.beganAt + (sent * 1000) / rateOfLoop;
  }

  /** Sends the next request, or leaves the client idle if none is due. */
  function sendNext(client: LoadClient): void {
    const now = performance.now();
    const due = rate === undefined ? now : nextDue(rate);
    if (due > now + LEAD_MS || due >= window.until) {
      idle.push(client);
      return;
    }
    sent++;
    busy++;
    client.send(Math.min(due, now), now);
  }

  function settle(client: LoadClient, due: number, status: number, error: Error | undefined): void {
    busy--;
    if (isDestroyed) return;
    const now = performance.now();
    const { from, until } = window;
    if (due >= from && due < until) recordEnd(tally, now - due, status, error);
    if (error === undefined && now >= from && now < until) tally.answers++;
    if (now >= until) endIfIdle();
    else if (error === undefined || rate !== undefined) sendNext(client);
    else setTimeout(sendNext, PAUSE_MS, client);
  }

  function sendDue(): void {
    if (rate === undefined) return;
    while (nextDue(rate) <= performance.now() + LEAD_MS && nextDue(rate) < window.until) {
      const client = idle.pop();
      if (client === undefined) return;
      sendNext(client);
    }
  }

  function endIfIdle(): void {
    if (isStopped && busy === 0) end();
  }

  return {
    ended,
    sendDue,
    start() {
      for (const client of clients) sendNext(client);
    },
    expire() {
      const before = performance.now() - timeoutMs;
      for (const client of clients) client.expire(before);
    },
    stop() {
      // Send the last due requests, which the pacer has not reported yet.
      sendDue();
      isStopped = true;
      const { from, until } = window;
      if (rate !== undefined) recordUnsent(tally, Math.max(nextDue(rate), from), until, 1000 / rate);
      endIfIdle();
    },
    async destroy() {
      isDestroyed = true;
      await Promise.all(clients.map((client) => client.destroy()));
      end();
    },
  };
}

/** Returns the options that undici needs for a request. The headers are a list, which undici reads fastest. */
function optionsOf(
  { method, path, headers, body }: PlannedRequest,
  common: Readonly<Record<string, string>>,
): Dispatcher.DispatchOptions {
  const all = Object.entries({ ...common, ...headers }).flat();
  return { method, path, headers: all, ...(body === undefined ? {} : { body: Buffer.from(body) }) };
}
