import { Console } from "node:console";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { codeBlocks } from "@svc/test-support";
import type { Backend } from "./backends.ts";

let db: Backend["db"] | undefined;
let written = "";

/** The console of a sample that runs in this process. */
const output: Console = new Console(
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString();
      done();
    },
  }),
);
export { output as console };

/** Returns the embedded database that is open already; its close() does nothing, since other tests use it. */
export function openEmbedded(): Promise<unknown> {
  return Promise.resolve({ ...db, close: () => Promise.resolve() });
}

/** Runs a sample of the README in this process, to save a second embedded database. @returns its output */
export async function runHere(embedded: Backend["db"], sample: number): Promise<string> {
  const readme = new URL("../../README.md", import.meta.url);
  const code = codeBlocks(await readFile(readme, "utf8"), "js")[sample] ?? "";
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
