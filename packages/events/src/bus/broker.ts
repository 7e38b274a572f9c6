import type { CheckResult } from "@svc/context";
import type { BusMessage } from "../event-bus.ts";
import type { EventBusError } from "./event-bus-error.ts";

/** A message received from the broker and not yet acknowledged. Adapters add their own fields. */
export interface Delivery {
  /** The broker's identifier of the message, which stays the same when the message is redelivered. */
  readonly position: string;
  readonly message: BusMessage;
  /** Number of deliveries to the group so far, including this one. */
  deliveries: number;
}

/** The broker-specific operations; {@link createBrokerBus} does everything else. */
export interface Broker<D extends Delivery = Delivery> {
  /** The bus's name in logs and readiness, for example `"redis-streams"`. */
  readonly name: string;
  /** The broker's name in error messages, for example `"Redis"`. Log lines contain it in lower case. */
  readonly title: string;
  /** Additional fields for the readiness check's `meta`. Default: none. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Stores at least one valid message, in the given order. Resolves when all are stored; rejects when any may be
   * missing. After its timeout the bus stops waiting and aborts the signal.
   */
  publish(messages: readonly BusMessage[], signal: AbortSignal): Promise<void>;
  /** Called when publishing timed out, so that the adapter can replace an unresponsive connection. Default: nothing. */
  unresponsive?(): void;
  /**
   * Sends one request for the readiness check. Resolves when the broker works.
   *
   * @param isConsuming whether the bus has a running subscription
   * @returns the check's result; undefined to report the bus as connected
   */
  ping(isConsuming: boolean): Promise<Pick<CheckResult, "healthy" | "detail"> | undefined>;
  /** Prepares a group's subscription without sending anything; {@link Subscription.open} starts it. */
  subscribe(subscriber: Subscriber<D>): Subscription<D>;
  /**
   * Converts a client error into one without addresses and passwords. Default: reports the bus as unavailable, without
   * a reason.
   */
  explain?(error: unknown): EventBusError;
  /** Closes the connections. Called after all subscriptions have stopped. */
  close(): Promise<void> | void;
}

/** What a subscription provides to the adapter: its settings, and functions that accept the received messages. */
export interface Subscriber<D extends Delivery = Delivery> {
  readonly group: string;
  /** The topics, without duplicates. */
  readonly topics: readonly string[];
  /** Where a new group starts. */
  readonly startFrom: "oldest" | "newest";
  /** Maximum number of unacknowledged messages to hold; at least the number of concurrent handlers. */
  readonly prefetch: number;
  /** Aborts when the subscription is stopped. */
  readonly stopping: AbortSignal;
  /** Accepts a received message. Ignores messages that it already holds, and every message while stopping. */
  deliver(delivery: D): void;
  /** Returns the unacknowledged message with this position. */
  find(position: string): D | undefined;
  /** Returns all unacknowledged messages. */
  all(): readonly D[];
  /** Drops a message that another consumer has taken over, unless its handler is running. */
  drop(position: string): void;
  /** Logs an entry that is not a message of this bus. */
  skipped(where: object): void;
  /** Reports that reading works again, before `fetch` ends. */
  recovered(): void;
}

/** A source of messages; the bus calls `fetch` repeatedly. */
export interface Reader {
  /**
   * Returns how many more messages may be fetched; if 0, the bus waits for an acknowledgement. Default: `prefetch` minus
   * the number of unacknowledged messages.
   */
  readonly room?: () => number;
  /**
   * Waits up to several seconds for at most `count` messages and delivers them. If it rejects, the bus calls it again
   * after a pause of 100 ms to 5 s.
   */
  fetch(count: number): Promise<void>;
}

/** A consumer group's subscription at the broker. */
export interface Subscription<D extends Delivery = Delivery> {
  /** Creates missing groups. If the client pushes messages, starts the client. */
  open(): Promise<void>;
  /** Readers that fetch messages. Default: none, for a client that pushes messages. */
  readonly readers?: readonly Reader[];
  /** Acknowledges a handled message; never rejects. */
  acknowledge(delivery: D): void | Promise<void>;
  /** Tells the broker that all held messages are still in progress. Default: nothing. */
  keepAlive?(): Promise<void> | void;
  /** Milliseconds between calls to `keepAlive`. Default: 10,000. */
  readonly keepAliveMs?: number;
  /**
   * Stops reading immediately. Messages whose handlers have not started can be returned here or in `close`. Never
   * rejects.
   */
  stop(unstarted: readonly D[]): Promise<void> | void;
  /** Called after the handlers finished or timed out, with the messages whose handlers timed out. Never rejects. */
  close(abandoned: readonly D[]): Promise<void> | void;
}
