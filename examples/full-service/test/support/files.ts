import { expect } from "chai";
import type { Import } from "../../src/imports/import.ts";
import { caller } from "./caller.ts";

export const header = "category,amount,paid_at,note";

/** Returns valid rows, each with a different note. */
export function rowsOf(count: number, note = "row"): string {
  return Array.from({ length: count }, (_, n) => `meals,1.50,2026-03-01T12:00:00Z,${note} ${n}\n`).join("");
}

/** Sends a file for a tenant and returns the path of its import. */
export async function sendFile(url: string, file: string, tenant?: string): Promise<string> {
  const sent = await caller(url, tenant).post("/expenses/import").type("text/csv").send(file);
  expect(sent.status, sent.text).to.equal(202);
  const { id } = sent.body as Import;
  expect(sent.headers["location"]).to.equal(`/imports/${id}`);
  return `/imports/${id}`;
}

/** Waits until an import has reached a state. */
export async function untilImport(
  url: string,
  place: string,
  so: (found: Import) => boolean = ({ state }) => state === "done",
  tenant?: string,
): Promise<Import> {
  for (let tries = 0; tries < 1500; tries++) {
    const { status, body } = await caller(url, tenant).get(place);
    expect(status, JSON.stringify(body)).to.equal(200);
    if (so(body as Import)) return body as Import;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("the import has not reached the state in time");
}
