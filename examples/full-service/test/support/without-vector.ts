import type { Database } from "@svc/database";

/**
 * The database as it is for the search on a server that never heard of pgvector: what the catalogue is asked about that
 * extension is asked about one that no server has.
 */
export function withoutVector(db: Database): Database {
  return {
    ...db,
    query: (text, values) => db.query(ofNobody(text), values),
    async connect() {
      const connection = await db.connect();
      return { ...connection, query: (text, values) => connection.query(ofNobody(text), values) };
    },
  };
}

function ofNobody(text: string): string {
  return text.replaceAll("'vector'", "'vector_of_nobody'");
}
