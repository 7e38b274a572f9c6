import { refused } from "../errors.ts";
import type { Meta } from "../chunk.ts";
import type { BoundSearch } from "./bound-search.ts";

/** The members of a job that {@link ingestHandler} reads. */
interface IngestJob {
  readonly signal: AbortSignal;
}

/**
 * Returns the handler of the jobs that `ingestLater()` queues, for the task `rag:ingest`. The tenant comes from the job's
 * context.
 */
export function ingestHandler(search: BoundSearch) {
  return async function ingestLaterJob(payload: unknown, { signal }: IngestJob): Promise<void> {
    const { document, text, metadata } = (payload ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof document !== "string" || typeof text !== "string") {
      throw refused("the payload of an ingest must have a document and a text");
    }
    await search.ingest(document, text, { metadata: metadata as Meta | undefined, signal });
  };
}
