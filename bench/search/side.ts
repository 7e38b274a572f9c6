import type { Made, Meta, Query } from "./generator.ts";

/** The kind of a search: by vector only, by vector and words, or by vector among the chunks of one kind or of one batch. */
export type Ask = "vector" | "hybrid" | "filtered" | "filtered-rare";

/** Returns the metadata that the hits must have. */
export function filterOf({ meta }: Query, ask: Ask): Partial<Meta> {
  if (ask === "filtered") return { kind: meta.kind };
  return ask === "filtered-rare" ? { batch: meta.batch } : {};
}

/** The number of hits of every search. */
export const LIMIT = 10;

export interface Found {
  readonly key: string;
  /** The rank among the nearest candidates; null if it was not one of them. */
  readonly vectorRank: number | null;
}

/** The sides that are compared with `svc`. */
export const others = ["shared", "partial", "partitions"] as const;

/** One way to store and search the chunks. */
export interface Side {
  readonly name: "svc" | (typeof others)[number];
  /** Makes the table, with the indexes that exist before a bulk load. */
  prepare(): Promise<void>;
  load(tenant: string, chunks: readonly Made[]): Promise<void>;
  /** Creates the approximate indexes, updates the planner's statistics, and returns a description of the indexes. */
  index(): Promise<string>;
  /** Sets `ef_search` for the next searches, outside of their measured times. */
  widen(efSearch: number): Promise<void>;
  search(query: Query, ask: Ask): Promise<readonly Found[]>;
  /** Returns the server's plan of such a search. */
  plan(query: Query, ask: Ask): Promise<readonly string[]>;
}
