import { expect } from "chai";
import type { DayOfActivity } from "../../src/activity.ts";
import { caller } from "./caller.ts";

/** Returns the subscriber's counts of a tenant's expenses by day. */
export async function activityOf(url: string, tenant?: string): Promise<readonly DayOfActivity[]> {
  const { status, body } = await caller(url, tenant).get("/activity");
  expect(status, JSON.stringify(body)).to.equal(200);
  return (body as { days: readonly DayOfActivity[] }).days;
}

/** Waits until the subscriber has counted the given number of expenses. */
export async function untilActivity(url: string, expenses: number, tenant?: string): Promise<void> {
  let sum = 0;
  for (let tries = 0; tries < 1500 && sum !== expenses; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    sum = (await activityOf(url, tenant)).reduce((all, day) => all + day.expenses, 0);
  }
  expect(sum).to.equal(expenses);
}
