import { expect } from "chai";
import { caller } from "./caller.ts";

/** Returns the body of a valid expense with the given members. */
export function expense(over: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { category: "meals", amount: "12.50", paid_at: "2026-03-01T12:00:00Z", ...over };
}

/** The tenant of a call, and the members of its body or of its query. */
type OfTenant<T> = Readonly<Record<string, T>> & { readonly tenant?: string };

/** Records an expense of a tenant and returns its id. */
export async function record(url: string, { tenant, ...over }: OfTenant<unknown> = {}): Promise<string> {
  const { status, body } = await caller(url, tenant).post("/expenses").send(expense(over));
  expect(status, JSON.stringify(body)).to.equal(201);
  return (body as { id: string }).id;
}

/** A page of a listing. */
export interface Page {
  readonly expenses: readonly { readonly id: string; readonly paid_at: string }[];
  readonly next: string | null;
}

/** Returns one page of a tenant's listing. */
export async function list(url: string, { tenant, ...query }: OfTenant<string>): Promise<Page> {
  const { status, body } = await caller(url, tenant).get("/expenses").query(query);
  expect(status, JSON.stringify(body)).to.equal(200);
  return body as Page;
}

/** Returns every id of a tenant's listing, page by page. */
export async function walk(url: string, query: OfTenant<string>): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await list(url, cursor === null ? query : { ...query, cursor });
    expect(page.expenses.length).to.be.at.most(Number(query["limit"] ?? 20));
    ids.push(...page.expenses.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== null);
  return ids;
}
