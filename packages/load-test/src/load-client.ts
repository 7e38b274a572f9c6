import { Client, type Dispatcher } from "undici";

/** A client that sends one request at a time on its own connection. */
export interface LoadClient {
  /**
   * Sends the next request.
   *
   * @param due when it should have been sent, on the clock of `performance.now()`
   * @param now the current time on that clock
   */
  send(due: number, now: number): void;
  /** Ends a request that was sent before the given time. */
  expire(before: number): void;
  destroy(): Promise<void>;
}

/** The state that the clients of a step share. */
export interface ClientSetting {
  readonly origin: string;
  readonly requests: readonly Dispatcher.DispatchOptions[];
  readonly timeoutMs: number;
  /** Receives the end of a request. `status` is 0 if there was no response. */
  readonly settle: (client: LoadClient, due: number, status: number, error: Error | undefined) => void;
}

const expired: Error = Object.assign(new Error("the time limit has passed"), { code: "ETIMEDOUT" });

/**
 * Creates a client.
 *
 * @param first the index of its first request, so that the clients do not all send the same request at the same time
 */
export function createLoadClient(
  { origin, requests, timeoutMs, settle }: ClientSetting,
  first: number,
): LoadClient {
  // expire() limits the whole request, even one whose response never ends.
  const limits = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: timeoutMs } };
  const client = new Client(origin, limits);
  let next = first % requests.length;
  let due = 0;
  let sentAt = Infinity;
  let status = 0;
  let controller: Dispatcher.DispatchController | undefined;

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
    },
    onResponseStart(_, code) {
      status = code;
    },
    onResponseData() {
      // Read the body and drop it.
    },
    onResponseEnd() {
      end(undefined);
    },
    onResponseError(_, error) {
      end(error);
    },
  };

  function end(error: Error | undefined): void {
    sentAt = Infinity;
    controller = undefined;
    settle(self, due, error === undefined ? status : 0, error);
  }

  const self: LoadClient = {
    send(dueAt, now) {
      due = dueAt;
      sentAt = now;
      status = 0;
      const request = requests[next] as Dispatcher.DispatchOptions;
      next = (next + 1) % requests.length;
      client.dispatch(request, handler);
    },
    expire(before) {
      // Without a controller, the connection is not open yet, and its own time limit ends the request.
      if (sentAt <= before) controller?.abort(expired);
    },
    destroy() {
      return client.destroy();
    },
  };
  return self;
}
