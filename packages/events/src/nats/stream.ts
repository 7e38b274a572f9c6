import { setTimeout as sleep } from "node:timers/promises";
import { JetStreamApiError, type StreamConfig } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { backoff } from "@svc/resilience";
import { refused } from "../bus/event-bus-error.ts";
import { BROKER, isNoStream } from "./errors.ts";
import type { JetStream } from "./connection.ts";
import type { ResolvedNatsJetStream } from "./options.ts";

/**
 * The pause in milliseconds before the next attempt to add a subject. The server has no compare-and-set for the subject
 * list, so replicas that add subjects concurrently must spread out until every update survives. The number of attempts
 * depends on the server's speed, so the call's deadline limits the attempts, not a count.
 */
export const pauseAfter = backoff({ baseMs: 10, maxMs: 1000 });

/**
 * Ensures that the stream accepts the topics. Returns whether the stream had to be created. Retries until the signal
 * aborts.
 *
 * @throws EventBusError `ERR_SVC_EVENT_BUS_REFUSED` when the stream lacks a subject and must not be changed, or has
 *   incompatible settings
 */
export async function ensureStream(
  { manager }: JetStream,
  options: ResolvedNatsJetStream,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const { stream, manageStream } = options;
  const wanted = subjectsOf(options, topics);
  let isNew = false;
  for (let attempt = 1; ; attempt++) {
    try {
      const { config } = await manager.streams.info(stream);
      checkStream(config);
      const missing = wanted.filter((each) => !config.subjects.some((pattern) => covers(pattern, each)));
      if (missing.length === 0) return isNew;
      if (!manageStream) {
        const has = config.subjects.slice(0, 10).join(", ");
        throw refused(
          BROKER,
          `the stream ${stream} does not accept ${missing.join(", ")}; it accepts ${has}`,
        );
      }
      await manager.streams.update(stream, { ...config, subjects: [...config.subjects, ...missing] });
    } catch (error) {
      if (isNoStream(error)) {
        if (!manageStream) throw refused(BROKER, `there is no stream ${stream}`);
        if (await made()) isNew = true;
      } else if (!isConflict(error)) {
        throw error;
      }
    }
    // Read the stream again, because another replica may have overwritten the subject list, or may have created the
    // stream again: NATS 2.9 lets two concurrent requests create it, and keeps only the second stream.
    await sleep(pauseAfter(attempt), undefined, { signal });
  }

  async function made(): Promise<boolean> {
    const { replicas, storage, maxAgeDays, dedupSeconds } = options;
    try {
      await manager.streams.add({
        name: stream,
        subjects: wanted,
        retention: "limits",
        storage,
        num_replicas: replicas,
        max_age: nanos(maxAgeDays * 86_400_000),
        duplicate_window: nanos(dedupSeconds * 1000),
      });
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }
}

/**
 * Removes the topics' subjects from the stream's list, for `ensureStream()` to add again. A server that updates a stream
 * for several clients concurrently may list a subject that it does not serve, and starts to serve it only when it is added.
 */
export async function removeSubjects(
  { manager }: JetStream,
  options: ResolvedNatsJetStream,
  topics: readonly string[],
): Promise<void> {
  const { stream, manageStream } = options;
  if (!manageStream) return;
  const unserved = new Set(subjectsOf(options, topics));
  try {
    const { config } = await manager.streams.info(stream);
    const kept = config.subjects.filter((subject) => !unserved.has(subject));
    // Without any subject, the server would give the stream one with its own name.
    if (kept.length > 0 && kept.length < config.subjects.length)
      await manager.streams.update(stream, { ...config, subjects: kept });
  } catch (error) {
    if (!isNoStream(error)) throw error;
  }
}

/**
 * Returns the subjects that the stream lists for the topics: with a prefix that ends in a dot one wildcard for all, with
 * any other prefix one each.
 */
function subjectsOf({ prefix }: ResolvedNatsJetStream, topics: readonly string[]): string[] {
  return prefix.endsWith(".") ? [`${prefix}>`] : topics.map((topic) => prefix + topic);
}

/** Returns whether the stream already exists, because another replica has created it. */
function isConflict(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === 10058;
}

function checkStream(config: StreamConfig): void {
  const fault = [
    [
      config.retention === "workqueue",
      "has the retention workqueue, where only one group may read a subject",
    ],
    [config.no_ack === true, "has no_ack, so a publisher cannot know whether a message was stored"],
    [config.sealed, "is sealed"],
    [config.mirror !== undefined, "is a mirror"],
  ].find(([holds]) => holds === true);
  if (fault !== undefined) throw refused(BROKER, `the stream ${config.name} ${String(fault[1])}`);
}

/**
 * Returns whether a subject pattern matches everything that another pattern matches. `*` matches one word, a final `>`
 * the rest.
 */
export function covers(pattern: string, subject: string): boolean {
  const words = subject.split(".");
  const parts = pattern.split(".");
  for (const [at, part] of parts.entries()) {
    if (part === ">") return words.length > at;
    const word = words[at];
    if (word === undefined || word === ">" || (part !== "*" && part !== word)) return false;
  }
  return parts.length === words.length;
}
