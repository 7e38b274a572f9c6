import { Console } from "node:console";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { codeBlocks } from "@svc/test-support";
import type { Backend } from "./backends.ts";

let db: Backend["db"] | undefined;
let written = "";

/** What a sample of this process prints to. */
const output: Console = new Console(
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString();
      done();
    },
  }),
);
export { output as console };

/** The embedded database that is open already; it stays open for the other tests. */
export function openEmbedded(): Promise<unknown> {
  return Promise.resolve({ ...db, close: () => Promise.resolve() });
}

/** Runs the first sample of the README here, because a second embedded database would cost seconds. @returns what it printed */
export async function runHere(embedded: Backend["db"]): Promise<string> {
  const readme = new URL("../../README.md", import.meta.url);
  const [code = ""] = codeBlocks(await readFile(readme, "utf8"), "js");
  const opens = 'import { openEmbedded } from "@svc/search-store/pglite";';
  if (!code.includes(opens)) throw new Error("the sample opens no embedded database");
  const world = `import { console, openEmbedded } from ${JSON.stringify(import.meta.url)};`;
  const folder = await mkdtemp(fileURLToPath(new URL(".readme-", readme)));
  db = embedded;
  written = "";
  try {
    await writeFile(`${folder}/sample.mjs`, code.replace(opens, world));
    await import(`${folder}/sample.mjs`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return written;
}
