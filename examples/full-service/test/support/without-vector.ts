import type { Database } from "@svc/database";

/**
 * Returns the database as the search sees it on a server without pgvector: queries for that extension look for a name
 * that no server has.
 */
export function withoutVector(db: Database): Database {
  return {
    ...db,
    query: (text, values) => db.query(renamed(text), values),
    async connect() {
      const connection = await db.connect();
      return { ...connection, query: (text, values) => connection.query(renamed(text), values) };
    },
  };
}

function renamed(text: string): string {
  return text.replaceAll("'vector'", "'missing_vector'");
}
