import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import {
  type Encoding,
  encodingOf,
  type ReceivedSpan,
  readRequest,
  TRACES_PATH,
} from "@svc/conformance/otlp";
import { listen } from "../listen.ts";
import { answer, type Behaviour } from "./answer.ts";

export interface OtlpReceiverOptions {
  /** The first behaviour. Default `accept`. */
  readonly behaviour?: Behaviour;
  /** Milliseconds between two bytes of a `drip`. Default 1000. */
  readonly dripMs?: number;
}

export interface ReceivedRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Undefined for an unknown content type. */
  readonly encoding: Encoding | undefined;
  /** The number of spans in the body, accepted or not; 0 for a refused request, whose body is not read. */
  readonly spanCount: number;
  /** The fault of the request; undefined for a valid request. */
  readonly fault: string | undefined;
}

/** A receiver of OTLP/HTTP traces on the loopback interface. Disposal destroys its sockets. */
export interface OtlpReceiver extends AsyncDisposable {
  /** The endpoint for traces, with its path. */
  readonly url: string;
  /** The spans of all requests that got 200, in order. */
  readonly spans: readonly ReceivedSpan[];
  /** The decompressed bodies of all requests, accepted or not. */
  readonly bodies: readonly Buffer[];
  readonly requests: readonly ReceivedRequest[];
  /** Changes how the receiver responds to the requests that arrive from now on. */
  behave(behaviour: Behaviour): void;
  /**
   * Resolves with the spans once the predicate holds for them. Calls the predicate now and after each request.
   *
   * Rejects with the names of the received spans after `timeoutMs` milliseconds (default 10000), and when the receiver
   * closes.
   */
  spansWhen(
    predicate: (spans: readonly ReceivedSpan[]) => boolean,
    timeoutMs?: number,
  ): Promise<ReceivedSpan[]>;
  /** Forgets all spans, bodies and requests. */
  clear(): void;
}

/** A pending call of `spansWhen`. */
interface Waiter {
  check(): void;
  fail(reason: string): void;
}

/** The behaviours that return 200 for a valid request, which makes the exporter drop its copy of the spans. */
const ACCEPTING: ReadonlySet<Behaviour> = new Set(["accept", "garbage", "drip"]);

/** Starts a receiver on a free port. Use with `await using`. */
export async function openOtlpReceiver(options: OtlpReceiverOptions = {}): Promise<OtlpReceiver> {
  const { dripMs = 1000 } = options;
  let { behaviour = "accept" } = options;
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const requests: ReceivedRequest[] = [];
  const waiters = new Set<Waiter>();

  function record(req: IncomingMessage, spanCount: number, fault: string | undefined): void {
    const { method, url: path, headers } = req;
    requests.push({ method, path, headers, encoding: encodingOf(headers), spanCount, fault });
    for (const waiter of waiters) waiter.check();
  }

  async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const current = behaviour;
    if (current === "refuse") {
      req.socket.destroy();
      record(req, 0, undefined);
      return;
    }
    const sent = await buffer(req).catch(() => undefined);
    // The client closed the connection before the end of its body.
    if (sent === undefined) return;
    const content = readRequest(req, sent);
    if (content.body !== undefined) bodies.push(content.body);
    if (ACCEPTING.has(current)) spans.push(...content.spans);
    record(req, content.spans.length, content.fault);
    answer(res, content, current, dripMs);
  }

  function summary(): string {
    const faults = requests.flatMap(({ fault }) => fault ?? []);
    const names = spans.map(({ name }) => name).join(", ") || "none";
    return `received spans: ${names}${faults.length === 0 ? "" : `; faults: ${faults.join("; ")}`}`;
  }

  const listening = await listen((req, res) => void receive(req, res));
  return {
    url: `${listening.url}${TRACES_PATH}`,
    spans,
    bodies,
    requests,
    behave(next) {
      behaviour = next;
    },
    spansWhen(predicate, timeoutMs = 10_000) {
      const { promise, resolve, reject } = Promise.withResolvers<ReceivedSpan[]>();
      const waiter: Waiter = {
        check() {
          try {
            if (predicate(spans)) resolve([...spans]);
          } catch (error) {
            reject(error as Error);
          }
        },
        fail: (reason) => reject(new Error(`${reason}; ${summary()}`)),
      };
      const timer = setTimeout(() => waiter.fail(`no match within ${timeoutMs} ms`), timeoutMs);
      waiters.add(waiter);
      waiter.check();
      return promise.finally(() => {
        clearTimeout(timer);
        waiters.delete(waiter);
      });
    },
    clear() {
      for (const list of [spans, bodies, requests]) list.length = 0;
    },
    async [Symbol.asyncDispose]() {
      for (const waiter of waiters) waiter.fail("the receiver closed");
      await listening[Symbol.asyncDispose]();
    },
  };
}
