import { expect } from "chai";
import type { RunningService } from "./running-service.ts";

/** Waits until no job is left and no job has failed. */
export async function untilIdle({ service }: RunningService): Promise<void> {
  for (let tries = 0; tries < 1500; tries++) {
    const stats = await service.jobs?.stats();
    expect(stats?.dead).to.equal(0);
    if (stats?.pending === 0 && stats.running === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("the service still has jobs to do");
}
