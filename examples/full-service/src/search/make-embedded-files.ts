// A program: makes the files of an embedded database in the folder that it is told.
import { openEmbedded } from "@svc/search-store/pglite";

async function make(dataDir: string): Promise<void> {
  const database = await openEmbedded({ dataDir });
  await database.close();
}

const [, , dataDir] = process.argv;
if (dataDir === undefined) throw new Error("name a folder");
void make(dataDir);
