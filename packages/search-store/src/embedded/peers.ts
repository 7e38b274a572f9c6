import type { PGlite } from "@electric-sql/pglite";
import { SearchError } from "../errors.ts";

/** Opens a PGlite with pgvector. */
export type Open = (dataDir: string | undefined) => Promise<PGlite>;

// Parse types as `pg` does: 64-bit integers as strings, bytes as a Buffer.
const PARSERS = {
  17: (text: string): Buffer => Buffer.from(text.slice(2), "hex"),
  20: (text: string): string => text,
};

const load = async (): Promise<Open> => {
  const [{ PGlite }, { vector }] = await Promise.all([
    import("@electric-sql/pglite"),
    import("@electric-sql/pglite-pgvector"),
  ]);
  return (dataDir) =>
    PGlite.create({
      ...(dataDir === undefined ? {} : { dataDir }),
      extensions: { vector },
      parsers: PARSERS,
    });
};

/**
 * Loads the two optional packages on demand.
 *
 * @throws SearchError `ERR_SVC_SEARCH_PEER` with the command that installs them
 */
export async function loadPglite(from: () => Promise<Open> = load): Promise<Open> {
  try {
    return await from();
  } catch (error) {
    const packages = "@electric-sql/pglite @electric-sql/pglite-pgvector";
    const message = `the embedded database needs two packages: npm install ${packages}`;
    throw new SearchError("ERR_SVC_SEARCH_PEER", message, { cause: error });
  }
}
