// Program that creates the files of an embedded database in the folder that is its only argument.
import { setFlagsFromString } from "node:v8";
import { openEmbedded } from "../pglite.ts";

const FLAGS = ["--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"];

async function make(dataDir: string): Promise<void> {
  // The work ends before optimizing the WebAssembly module pays off: without these flags it takes 3.9 s of CPU time, with
  // them 2.9 s.
  for (const flag of FLAGS) setFlagsFromString(flag);
  const database = await openEmbedded({ dataDir });
  await database.close();
}

const [, , dataDir] = process.argv;
if (dataDir === undefined) throw new Error("pass the path of a folder as the only argument");
void make(dataDir);
