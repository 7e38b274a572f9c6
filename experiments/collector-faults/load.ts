import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import { keepAliveAgent, type Outcome, send } from "../harness/client.ts";
import type { TracedBody } from "../services/traced.ts";
import { type TraceHeaders, traceHeaderNames, traceHeaders } from "./trace-headers.ts";

const CLIENTS = 4;
/** One in this number of requests has unusual trace headers. */
const UNUSUAL_EVERY = 10;
const BURST_CLIENTS = 16;
const MOST_LATE_MS = 20;

/** The requests that ended in one phase of the experiment. */
export interface Recording {
  /** Milliseconds of the requests of the constant load, without those to `/never`. */
  readonly latencies: number[];
  /** Faults of responses. */
  readonly faults: string[];
}

/** A constant load of keep-alive requests. Disposal ends it. */
export interface Load extends AsyncDisposable {
  /** Number of requests that have ended so far. */
  readonly requests: number;
  /** Number of exported or dropped spans that these requests have created. */
  readonly spans: number;
  /** The number in the id of the latest request. */
  readonly latest: number;
  /** Changes the rate. */
  setRate(perSecond: number): void;
  /** Starts a recording of the requests that end from now on. */
  record(): Recording;
  /** Sends requests without a pause, in addition to the constant load. Their latencies are not recorded. */
  burst(count: number): Promise<void>;
  resume(): void;
  /** Resolves when no request is in flight. */
  pause(): Promise<void>;
}

/** @param perSecond requests per second, if the service responds in time */
export function createLoad(port: number, random: Random, perSecond: number): Load {
  const agent = keepAliveAgent(CLIENTS + BURST_CLIENTS);
  let everyMs = (1000 * CLIENTS) / perSecond;
  let recording = newRecording();
  let pausing = new AbortController();
  let workers: readonly Promise<void>[] = [];
  let latest = 0;
  let requests = 0;
  let spans = 0;

  async function get(isMeasured: boolean): Promise<void> {
    latest += 1;
    const n = latest;
    const unusual = n % UNUSUAL_EVERY === 0 ? traceHeaders(random.pick(traceHeaderNames), random) : undefined;
    const headers = { "x-request-id": `n-${n}`, ...unusual?.headers };
    const outcome = await send(port, `/n/${n}`, { agent, headers });
    if (unusual?.isSampled !== false) spans += 1;
    requests += 1;
    if (isMeasured) recording.latencies.push(outcome.ms);
    const fault = responseFault(outcome, String(n), unusual);
    if (fault !== undefined) recording.faults.push(fault);
  }

  async function getNever(): Promise<void> {
    const { status, error } = await send(port, "/never", { agent });
    spans += 1;
    requests += 1;
    if (status !== 504) recording.faults.push(`/never: ${error ?? status}`);
  }

  async function client(signal: AbortSignal): Promise<void> {
    let due = performance.now();
    while (!signal.aborted) {
      await get(true);
      const now = performance.now();
      // Make up for late timers, but not for slow responses.
      due = Math.max(due + everyMs, now - MOST_LATE_MS);
      if (due > now) await delay(due - now);
    }
  }

  async function neverClient(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await getNever();
  }

  function resume(): void {
    pausing = new AbortController();
    const { signal } = pausing;
    workers = [...Array.from({ length: CLIENTS }, () => client(signal)), neverClient(signal)];
  }

  async function pause(): Promise<void> {
    pausing.abort();
    await Promise.all(workers);
  }

  return {
    get requests() {
      return requests;
    },
    get spans() {
      return spans;
    },
    get latest() {
      return latest;
    },
    setRate(next) {
      everyMs = (1000 * CLIENTS) / next;
    },
    record() {
      recording = newRecording();
      return recording;
    },
    async burst(count) {
      let left = count;
      const sender = async (): Promise<void> => {
        while (left-- > 0) await get(false);
      };
      await Promise.all(Array.from({ length: BURST_CLIENTS }, sender));
    },
    resume,
    pause,
    async [Symbol.asyncDispose]() {
      await pause();
      agent.destroy();
    },
  };
}

function newRecording(): Recording {
  return { latencies: [], faults: [] };
}

/** Returns the fault of the response to `/n/<n>`; undefined when it is correct. */
export function responseFault(
  { status, body, error }: Pick<Outcome, "status" | "body" | "error">,
  n: string,
  unusual: TraceHeaders | undefined,
): string | undefined {
  if (status !== 200) return error ?? `status ${status}`;
  const got = bodyOf(body);
  if (got === undefined || got.n !== n) return "the body of another request";
  if (got.trace === undefined) return "no span";
  if (unusual === undefined) return got.state === null ? undefined : "a tracestate that was not sent";
  const { name, sent, isContinued, state } = unusual;
  if ((got.trace === sent) !== isContinued)
    return `${name}: the trace is ${isContinued ? "not " : ""}continued`;
  return got.state === state ? undefined : `${name}: the tracestate is ${got.state}`;
}

function bodyOf(text: string): TracedBody | undefined {
  try {
    return JSON.parse(text) as TracedBody;
  } catch {
    return undefined;
  }
}
