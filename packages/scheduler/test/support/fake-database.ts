import type { Connectable, Row } from "@svc/sql";
import { boundaryOf } from "./boundaries.ts";

type Kind = ReturnType<typeof boundaryOf>;

/** A database without tables: it counts statements, and answers, fails or hangs as configured. */
export interface FakeDatabase extends Connectable {
  readonly sent: Record<Kind, number>;
  /** Behaviour for each kind of statement. Default: answers. */
  readonly fate: Partial<Record<Kind, "fails" | "hangs">>;
  /** The newest ticks by name, in milliseconds. */
  readonly last: Map<string, number>;
  /** Number of ticks that one pruning statement deletes. */
  old: number;
}

export function fakeDatabase(): FakeDatabase {
  const database: FakeDatabase = {
    sent: { read: 0, begin: 0, fire: 0, prune: 0 },
    fate: {},
    last: new Map(),
    old: 0,
    connect: async () => ({
      release: () => undefined,
      query: async <R extends Row>(text: string, values: unknown[] = []) => {
        const kind = boundaryOf(text);
        database.sent[kind] += 1;
        if (database.fate[kind] === "fails") throw new Error("the database says no");
        if (database.fate[kind] === "hangs") await new Promise(() => undefined);
        return { rows: answerTo(kind, database, values) as R[] };
      },
    }),
  };
  return database;
}

function answerTo(kind: Kind, { last, old }: FakeDatabase, values: unknown[]): Row[] {
  if (kind === "read") {
    return (values[0] as string[]).map((name) => ({ name, server_ms: 0, last_ms: last.get(name) ?? null }));
  }
  if (kind === "begin" || kind === "fire") last.set(String(values[0]), Date.parse(String(values[1])));
  return kind === "prune" ? [{ gone: old }] : [{ claimed: true, enqueued: true }];
}
