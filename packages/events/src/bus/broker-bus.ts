import type { CheckResult, ReadinessCheck } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { DeadlineError, withDeadline } from "@svc/resilience";
import type { EventBus } from "../event-bus.ts";
import type { Broker, Delivery } from "./broker.ts";
import { type RunningConsumption, startConsumption } from "./consumption.ts";
import { closedBus, EventBusError, unavailable } from "./event-bus-error.ts";
import { checkConsumption, checkMessages } from "./messages.ts";
import { busEntries, faultsOfPauses, type ResolvedBus } from "./options.ts";

export const brokerBusOptions = defineOptions("createBrokerBus()", {
  /** The adapter for the broker. Required. */
  broker: { kind: k.objectWith<Broker>("a broker adapter", "publish", "ping", "subscribe", "close") },
  /** Maximum size of a message body in bytes. Default: 1,048,576. */
  maxBodyBytes: { kind: k.withDefault(k.integer({ min: 1, max: 256 * 1024 * 1024 }), 1024 * 1024) },
  ...busEntries,
}).withCheck(faultsOfPauses);

type AnyBrokerBusOptions = OptionsOf<typeof brokerBusOptions>;

/** Options of {@link createBrokerBus}. */
export type BrokerBusOptions<D extends Delivery = Delivery> = {
  [N in keyof AnyBrokerBusOptions]: N extends "broker" ? Broker<D> : AnyBrokerBusOptions[N];
};

const PING_MS = 1500;

/**
 * Creates an event bus (EVT-7) from an adapter for a broker. The bus checks messages and options, limits the time of
 * every call, reads, retries and acknowledges messages, keeps the order per key, logs, and reports readiness.
 *
 * @throws ConfigurationError for unknown or invalid options
 * @throws EventBusError (publish, consume); ConfigurationError (consume)
 */
export function createBrokerBus<D extends Delivery>(given: BrokerBusOptions<D>): EventBus {
  const { broker, ...options } = brokerBusOptions.resolve(given);
  return busOf(broker as Broker<D>, options);
}

/** Creates the bus for an adapter. The options must already be checked. */
export function busOf<D extends Delivery>(broker: Broker<D>, options: ResolvedBus): EventBus {
  const { timeoutMs, maxBodyBytes } = options;
  const { name, title } = broker;
  const consumptions = new Set<RunningConsumption>();
  let closed: Promise<void> | undefined;

  // Read the flag through a function, because TypeScript would otherwise assume that it cannot change between two reads.
  const isClosed = (): boolean => closed !== undefined;

  function explain(error: unknown): EventBusError {
    if (error instanceof EventBusError) return error;
    if (error instanceof DeadlineError) {
      return unavailable(title, `no answer within ${Math.round(error.ms)} ms`);
    }
    return broker.explain?.(error) ?? unavailable(title, "the call failed");
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    if (isClosed()) return { healthy: false, detail: "closed" };
    const meta = {
      ...broker.meta,
      consumptions: consumptions.size,
      in_hand: [...consumptions].reduce((sum, { held }) => sum + held, 0),
    };
    try {
      const ping = (): ReturnType<Broker["ping"]> => broker.ping(consumptions.size > 0);
      const result = await withDeadline(Math.min(timeoutMs, PING_MS), ping, { signal });
      if (result !== undefined) return { ...result, meta };
    } catch (error) {
      return { healthy: false, detail: explain(error).message, meta };
    }
    const stuck = [...consumptions].find(({ trouble }) => trouble !== undefined);
    if (stuck === undefined) return { healthy: true, detail: "connected", meta };
    return { healthy: false, detail: `group ${stuck.group}: ${stuck.trouble}`, meta };
  }

  async function end(): Promise<void> {
    await Promise.all([...consumptions].map((each) => each.stop()));
    await broker.close();
  }

  const readiness: ReadinessCheck = { name: "event-bus", critical: false, check };
  return {
    name,
    async publish(messages, { signal } = {}) {
      if (isClosed()) throw closedBus(title);
      signal?.throwIfAborted();
      checkMessages(messages, maxBodyBytes);
      if (messages.length === 0) return;
      try {
        await withDeadline(timeoutMs, (until) => broker.publish(messages, until), {
          signal,
          onTimeout: () => broker.unresponsive?.(),
        });
      } catch (error) {
        signal?.throwIfAborted();
        throw explain(error);
      }
    },
    async consume(asked) {
      checkConsumption(asked);
      if (isClosed()) throw closedBus(title);
      try {
        const consumption = await startConsumption(asked, broker, options, explain);
        consumptions.add(consumption);
        void consumption.stopped.then(() => consumptions.delete(consumption));
        if (isClosed()) await consumption.stop();
        return consumption;
      } catch (error) {
        throw explain(error);
      }
    },
    readiness: () => readiness,
    close: () => (closed ??= end()),
  };
}
