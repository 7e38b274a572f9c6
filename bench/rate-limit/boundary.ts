import { setTimeout as sleep } from "node:timers/promises";
import { urlOf } from "../http/route.ts";
import type { LimitSetting } from "./limits.ts";
import { injectorOf } from "./subject.ts";

export const LIMIT = 100;
const WINDOW_SECONDS = 3;
const EDGE_MS = 100;
/** The number of requests at each of the two edges. */
const CALLS = 100;

/**
 * The number of requests that a limit of 100 admits from 200 requests at the boundary of a window, and the number that a
 * bucket may admit.
 */
export interface Crossing {
  readonly admitted: number;
  /** The limit plus the tokens that a bucket gains from the first request to the last one. */
  readonly most: number;
}

/**
 * Opens a window with one request, and sends 100 requests in its last 100 ms and 100 in the first 100 ms of the next one. Runs
 * in real time, because the peers have no injectable clock.
 */
export async function crossBoundary(
  setting: Omit<LimitSetting, "limit" | "windowSeconds">,
): Promise<Crossing> {
  const injector = await injectorOf({ ...setting, limit: LIMIT, windowSeconds: WINDOW_SECONDS });
  const send = async (): Promise<number> => (await injector.send("GET", urlOf(0))).status;
  await send();
  const end = performance.now() + WINDOW_SECONDS * 1000;
  await sleep(end - EDGE_MS - performance.now());
  const from = performance.now();
  let admitted = 0;
  for (let sent = 0; sent < CALLS; sent++) if ((await send()) === 200) admitted += 1;
  // Timers of the peers may be a few milliseconds late.
  await sleep(Math.max(0, end + EDGE_MS / 4 - performance.now()));
  for (let sent = 0; sent < CALLS; sent++) if ((await send()) === 200) admitted += 1;
  const gained = ((performance.now() - from) / 1000) * (LIMIT / WINDOW_SECONDS);
  return { admitted, most: LIMIT + Math.ceil(gained) };
}
