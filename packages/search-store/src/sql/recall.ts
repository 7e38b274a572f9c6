import type { ResolvedOptions } from "../options.ts";

type Table = Pick<ResolvedOptions, "quotedTable" | "vectorType">;

export interface SampleRow extends Record<string, unknown> {
  readonly document_id: string;
  readonly ordinal: number;
  readonly embedding: string;
}

/** Returns the query for a random sample ($2) of a tenant's ($1) embeddings as texts, without vectors of zeros. */
export function selectSample({ quotedTable }: Table): string {
  return `
select document_id, ordinal, embedding::text as embedding from ${quotedTable}
where tenant_id = $1::text and (embedding <=> embedding) <> 'NaN'
order by random() limit $2::int`;
}

/** Returns the exact search for the nearest ($3) of a tenant ($1) to an embedding ($2), without the row itself ($4, $5). */
export function selectExact({ quotedTable, vectorType }: Table): string {
  // The `+ 0` prevents the use of an index.
  return `
select (embedding <=> $2::${vectorType}) + 0 as distance from ${quotedTable}
where tenant_id = $1::text and (document_id, ordinal) <> ($4::text, $5::int)
order by distance limit $3::int`;
}
