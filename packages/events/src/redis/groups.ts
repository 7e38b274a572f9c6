import { withDeadline } from "@svc/resilience";
import type { Redis } from "ioredis";
import { type Entry, entriesOf } from "./entries.ts";
import { replyWord } from "./errors.ts";
import type { Line } from "./line.ts";
import { RECLAIM, REFRESH, RELEASE, runScript, type Script, TIDY } from "./scripts.ts";

/** One consumer of a group and its streams in Redis. Every call ends in bounded time. */
export interface GroupMember {
  /** Creates the group on every stream that lacks it. */
  makeGroups(): Promise<void>;
  acknowledge(stream: string, ids: readonly string[]): Promise<void>;
  /** Signals that the entries are in progress; returns those that another consumer has taken over. */
  refresh(stream: string, ids: readonly string[]): Promise<readonly string[]>;
  /** Takes over at most `count` idle entries, each with its number of deliveries. */
  reclaim(
    stream: string,
    count: number,
  ): Promise<readonly { readonly entry: Entry; readonly deliveries: number }[]>;
  /** Leaves all entries to the next consumer that looks, and sets the delivery counts of the given ones. */
  release(stream: string, counts: readonly (readonly [id: string, deliveries: number])[]): Promise<void>;
  /** Removes long-dead consumers, and entries that every group has acknowledged. */
  tidy(stream: string): Promise<void>;
}

export function createGroupMember(
  line: Line,
  names: {
    readonly group: string;
    readonly consumer: string;
    readonly streams: readonly string[];
    readonly startFrom: "oldest" | "newest";
  },
  { timeoutMs, minIdleMs }: { readonly timeoutMs: number; readonly minIdleMs: number },
): GroupMember {
  const { group, consumer, streams, startFrom } = names;
  const idleMs = Math.ceil(minIdleMs);
  const cursors = new Map<string, string>();
  // Where a group started: a re-created group starts there again, so that it misses no message published meanwhile.
  const begun = new Map<string, string>();

  function ask<T>(send: (client: Redis) => Promise<T>): Promise<T> {
    return withDeadline(timeoutMs, () => line.send(send), { onTimeout: () => line.renew() });
  }

  const run = (script: Script, stream: string, ...args: readonly (string | number)[]): Promise<unknown> =>
    ask((client) => runScript(client, script, [stream], [group, ...args]));

  return {
    async makeGroups() {
      for (const stream of streams) {
        try {
          const from = startFrom === "oldest" ? "0" : (begun.get(stream) ?? "$");
          await ask((client) => client.xgroup("CREATE", stream, group, from, "MKSTREAM"));
        } catch (error) {
          if (replyWord(error) !== "BUSYGROUP") throw error;
        }
        if (startFrom === "newest" && !begun.has(stream)) {
          const at = positionOf(await ask((client) => client.xinfo("GROUPS", stream)), group);
          if (at !== undefined) begun.set(stream, at);
        }
      }
    },
    async acknowledge(stream, ids) {
      await ask((client) => client.xack(stream, group, ...ids));
    },
    async refresh(stream, ids) {
      const lost = await run(REFRESH, stream, consumer, ...ids);
      return Array.isArray(lost) ? lost.map(String) : [];
    },
    async reclaim(stream, count) {
      const answer = await run(RECLAIM, stream, consumer, idleMs, cursors.get(stream) ?? "0-0", count);
      if (!Array.isArray(answer)) return [];
      const [cursor, list] = answer as readonly unknown[];
      cursors.set(stream, String(cursor));
      return (list as readonly (readonly unknown[])[]).flatMap((each) =>
        entriesOf([each]).map((entry) => ({ entry, deliveries: Number(each[2]) })),
      );
    },
    async release(stream, counts) {
      await run(RELEASE, stream, consumer, idleMs, ...counts.flat());
    },
    async tidy(stream) {
      await run(TIDY, stream, consumer, 4 * idleMs);
    },
  };
}

/** Returns the last entry delivered to a group, from a reply of XINFO GROUPS. */
function positionOf(answer: unknown, group: string): string | undefined {
  if (!Array.isArray(answer)) return undefined;
  const one = (answer as readonly unknown[]).find((each) => Array.isArray(each) && each[1] === group);
  const fields = (one ?? []) as readonly unknown[];
  const at = fields.indexOf("last-delivered-id");
  return at === -1 ? undefined : String(fields[at + 1]);
}
