import { openEmbedded } from "@svc/search-store/pglite";
import { type Place, versionOf } from "./place.ts";

/** Opens PostgreSQL inside this process. */
export async function openInProcess(): Promise<Place> {
  const db = await openEmbedded();
  await db.query("create extension if not exists vector");
  return {
    kind: "embedded",
    url: undefined,
    about: [`PGlite, in this process: ${await versionOf(db)}`],
    connect: () =>
      Promise.resolve({ query: (text, values) => db.query(text, values), database: db, pool: undefined }),
    async preferApproximate() {
      await db.query("set enable_sort = off");
    },
    [Symbol.asyncDispose]: () => db.close(),
  };
}
