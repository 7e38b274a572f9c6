import { hash } from "node:crypto";
import type { Subject } from "../../harness/subject.ts";

const text = Buffer.alloc(16 * 1024, "a");
let started = false;

/**
 * A subject whose cost is known: each piece of work hashes the same text the number of times that the setting specifies.
 */
export async function start(setting: string): Promise<Subject> {
  if (started) throw new Error("another case runs in this process");
  started = true;
  const times = Number(setting);
  return {
    async prove() {},
    async run(count) {
      for (let left = count * times; left > 0; left--) hash("sha256", text);
    },
  };
}
