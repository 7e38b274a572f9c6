import type { CheckResult } from "@svc/context";
import type { BusMessage } from "../event-bus.ts";
import type { EventBusError } from "./event-bus-error.ts";

/** A message that was received from the broker and is not acknowledged yet. An adapter adds its own fields. */
export interface Delivery {
  /** The broker's identifier of the message; a redelivery has the same one. */
  readonly position: string;
  readonly message: BusMessage;
  /** How many times it was delivered to the group, including this delivery. */
  deliveries: number;
}

/** What differs between brokers; {@link createBrokerBus} does everything else. */
export interface Broker<D extends Delivery = Delivery> {
  /** The bus's name in logs and readiness, for instance `"redis-streams"`. */
  readonly name: string;
  /** The broker's name in error messages, for instance `"Redis"`; in lower case also in log lines. */
  readonly title: string;
  /** Further fields of the readiness check's `meta`. Default: none. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Stores valid messages, at least one, in the order given. Resolves when all are stored; rejects when any may be
   * missing. The bus gives up at its timeout and then aborts the signal.
   */
  publish(messages: readonly BusMessage[], signal: AbortSignal): Promise<void>;
  /** Called when publishing reached its timeout, to replace a connection that does not answer. Default: nothing. */
  unresponsive?(): void;
  /**
   * Sends one request for the readiness check; resolves when the broker works.
   *
   * @param isConsuming whether there is a consumption
   * @returns a result that replaces `healthy` and `connected`, or undefined
   */
  ping(isConsuming: boolean): Promise<Pick<CheckResult, "healthy" | "detail"> | undefined>;
  /** Prepares a consumption without sending anything; {@link Subscription.open} begins it. */
  subscribe(subscriber: Subscriber<D>): Subscription<D>;
  /** Converts an error of the client, without addresses and passwords. Default: unavailable, without a reason. */
  explain?(error: unknown): EventBusError;
  /** Closes the connections, after every consumption has ended. */
  close(): Promise<void> | void;
}

/** One consumption, as its adapter sees it. */
export interface Subscriber<D extends Delivery = Delivery> {
  readonly group: string;
  /** Topics without repetition. */
  readonly topics: readonly string[];
  /** Where a new group starts. */
  readonly startFrom: "oldest" | "newest";
  /** Messages to hold in advance; at least the number of handlers that run concurrently. */
  readonly prefetch: number;
  /** Aborts when the consumption stops. */
  readonly stopping: AbortSignal;
  /** Takes over a message that was received. Ignores one that it already holds, and all when stopping. */
  deliver(delivery: D): void;
  /** Returns a message that is not acknowledged. */
  find(position: string): D | undefined;
  /** Returns all messages that are not acknowledged. */
  all(): readonly D[];
  /** Drops a message that another consumer has taken over, unless its handler runs. */
  drop(position: string): void;
  /** Logs an entry that is not a message of this bus. */
  skipped(where: object): void;
  /** Reports that reading works, before `fetch` ends. */
  recovered(): void;
}

/** Requests messages, again and again. */
export interface Reader {
  /** Returns how many messages fit; 0 waits until a message is acknowledged. Default: what is free of `prefetch`. */
  readonly room?: () => number;
  /**
   * Waits for at most `count` messages, for some seconds, and delivers them. After a rejection it is called again, after a
   * pause of 100 ms to 5 s.
   */
  fetch(count: number): Promise<void>;
}

/** One consumption at the broker. */
export interface Subscription<D extends Delivery = Delivery> {
  /** Creates the group where it is missing. A client that pushes messages starts here. */
  open(): Promise<void>;
  /** What reads messages. Default: none, the client pushes them. */
  readonly readers?: readonly Reader[];
  /** Acknowledges a handled message; never rejects. */
  acknowledge(delivery: D): void | Promise<void>;
  /** Tells the broker that all held messages are in progress. Default: nothing. */
  keepAlive?(): Promise<void> | void;
  /** Milliseconds between two calls of `keepAlive`. Default: 10,000. */
  readonly keepAliveMs?: number;
  /** Ends reading at once. Messages that were not started can be returned here or in `close`. Never rejects. */
  stop(unstarted: readonly D[]): Promise<void> | void;
  /** Called after the handlers ended, with the messages whose handlers did not end in time. Never rejects. */
  close(abandoned: readonly D[]): Promise<void> | void;
}
