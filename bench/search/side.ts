import type { Made, Meta, Query } from "./generator.ts";

/** What a query asks for: the nearest alone, with words, or among those of one kind or of one batch. */
export type Ask = "vector" | "hybrid" | "filtered" | "filtered-rare";

/** What the metadata of its hits must have. */
export function filterOf({ meta }: Query, ask: Ask): Partial<Meta> {
  if (ask === "filtered") return { kind: meta.kind };
  return ask === "filtered-rare" ? { batch: meta.batch } : {};
}

/** How many hits every search wants. */
export const LIMIT = 10;

export interface Found {
  readonly key: string;
  /** Its place among the nearest, where it was one of the candidates. */
  readonly vectorRank: number | null;
}

/** The sides, each compared with `svc`. */
export const others = ["shared", "partial", "partitions"] as const;

/** One way to keep and to search the chunks. */
export interface Side {
  readonly name: "svc" | (typeof others)[number];
  /** Makes the table, with all that is there before a bulk load. */
  prepare(): Promise<void>;
  load(tenant: string, chunks: readonly Made[]): Promise<void>;
  /** Makes the approximate indexes, and has the planner know of the rows. Answers what it made, for people. */
  index(): Promise<string>;
  /** What its next searches take, so that it is in none of their times. */
  widen(efSearch: number): Promise<void>;
  search(query: Query, ask: Ask): Promise<readonly Found[]>;
  /** The plan of such a search, as the server tells it. */
  plan(query: Query, ask: Ask): Promise<readonly string[]>;
}
