import { setTimeout as sleep } from "node:timers/promises";
import request from "supertest";

/** Waits until a service is ready. Its first check creates the tables, which may take longer than a check's timeout. */
export async function untilReady(url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const { status, text } = await request(url).get("/ready");
    if (status === 200) return;
    if (tries > 300) throw new Error(`not ready: ${text}`);
    await sleep(100);
  }
}
