import { setTimeout as delay } from "node:timers/promises";
import { checkPattern, type PatternCheck } from "./pattern.ts";

const burstBytes = 4 * 1024 * 1024;

/**
 * Reads a body in bursts of 4 MiB and compares it with the pattern.
 *
 * @param pauseMs milliseconds without reading between two bursts
 * @returns the bytes that arrived, even if the connection broke
 */
export async function readInBursts(body: AsyncIterable<Buffer>, pauseMs: number): Promise<PatternCheck> {
  const check = checkPattern();
  let burst = 0;
  try {
    for await (const chunk of body) {
      check.add(chunk);
      burst += chunk.length;
      if (burst < burstBytes || pauseMs === 0) continue;
      burst = 0;
      await delay(pauseMs);
    }
  } catch {
    // The number of bytes shows that the connection broke.
  }
  return check;
}
