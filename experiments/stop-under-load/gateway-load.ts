import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "../harness/client.ts";

const workers = 32;

/** Requests through a gateway, and their results. */
export interface GatewayLoad {
  /** The number of requests so far. */
  readonly requests: number;
  readonly failures: readonly string[];
  /** The ids of the orders that were sent. */
  readonly orders: ReadonlySet<string>;
  /** Stops sending, and waits for the responses. */
  stop(): Promise<void>;
}

/**
 * Sends requests with 32 clients until it is stopped: every second one is a POST that executes an order. Half of the
 * clients have persistent connections, the others a new connection for each request.
 *
 * @param pauseMs milliseconds between two requests of a client
 */
export function startGatewayLoad(port: number, pauseMs: number): GatewayLoad {
  const agent = keepAliveAgent(workers / 2);
  const failures: string[] = [];
  const orders = new Set<string>();
  let requests = 0;
  let isStopped = false;

  async function work(_: unknown, worker: number): Promise<void> {
    const options = worker % 2 === 0 ? { agent } : {};
    for (let turn = 0; !isStopped; turn += 1) {
      const order = `${worker}-${turn}`;
      const isPost = (worker + turn) % 4 < 2;
      if (isPost) orders.add(order);
      const { status, error } = isPost
        ? await send(port, `/api/orders/${order}`, { ...options, method: "POST", json: {} })
        : await send(port, "/api/work", options);
      requests += 1;
      if (status !== 200) failures.push(`${isPost ? "POST" : "GET"}: ${error ?? status}`);
      await delay(pauseMs);
    }
  }
  const working = Promise.all(Array.from({ length: workers }, work));
  return {
    get requests() {
      return requests;
    },
    failures,
    orders,
    async stop() {
      isStopped = true;
      await working;
      agent.destroy();
    },
  };
}
