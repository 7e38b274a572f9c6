import { JetStreamApiError, type StreamConfig } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { refused } from "../bus/event-bus-error.ts";
import { BROKER, isNoStream } from "./errors.ts";
import type { JetStream } from "./link.ts";
import type { ResolvedNatsJetStream } from "./options.ts";

const TRIES = 10;

/**
 * Makes sure that the stream takes some topics; answers whether it had to be made.
 *
 * @throws EventBusError `ERR_SVC_EVENT_BUS_REFUSED` when it does not and is not to be changed, or cannot do what is needed
 */
export async function ensureStream(
  { manager }: JetStream,
  options: ResolvedNatsJetStream,
  topics: readonly string[],
): Promise<boolean> {
  const { stream, prefix, manageStream } = options;
  // Under a prefix that is a word of its own everything is the stream's; otherwise every subject is named.
  const wanted = prefix.endsWith(".") ? [`${prefix}>`] : topics.map((topic) => prefix + topic);
  for (let attempt = 1; ; attempt++) {
    try {
      const { config } = await manager.streams.info(stream);
      checkStream(config);
      const missing = wanted.filter((each) => !config.subjects.some((pattern) => covers(pattern, each)));
      if (missing.length === 0) return false;
      if (!manageStream) {
        const has = config.subjects.slice(0, 10).join(", ");
        throw refused(BROKER, `the stream ${stream} does not take ${missing.join(", ")}; it takes ${has}`);
      }
      await manager.streams.update(stream, { ...config, subjects: [...config.subjects, ...missing] });
    } catch (error) {
      if (isNoStream(error)) {
        if (!manageStream) throw refused(BROKER, `there is no stream ${stream}`);
        if (await made()) return true;
      } else if (!isConflict(error) || attempt === TRIES) {
        throw error;
      }
    }
    // Another replica may have written other subjects over ours in between: so it is looked at again.
    if (attempt > TRIES) throw refused(BROKER, `the stream ${stream} does not keep its subjects`);
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

/** Whether a stream of that name came into being in between. */
function isConflict(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === 10058;
}

function checkStream(config: StreamConfig): void {
  const fault = [
    [
      config.retention === "workqueue",
      "has the retention workqueue, where only one group may read a subject",
    ],
    [config.no_ack === true, "has no_ack, so that nobody knows whether a message was stored"],
    [config.sealed, "is sealed"],
    [config.mirror !== undefined, "is a mirror"],
  ].find(([holds]) => holds === true);
  if (fault !== undefined) throw refused(BROKER, `the stream ${config.name} ${String(fault[1])}`);
}

/** Whether a pattern of subjects (`*` is one word, `>` at the end the rest) takes everything that another one does. */
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
