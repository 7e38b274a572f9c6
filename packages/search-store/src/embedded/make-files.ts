// Program that creates the files of an embedded database in the folder that is its only argument.
import { openEmbedded } from "../pglite.ts";

async function make(dataDir: string): Promise<void> {
  const database = await openEmbedded({ dataDir });
  await database.close();
}

const [, , dataDir] = process.argv;
if (dataDir === undefined) throw new Error("pass the path of a folder as the only argument");
void make(dataDir);
