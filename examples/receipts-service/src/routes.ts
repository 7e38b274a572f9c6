import type { Database } from "@svc/database";
import { requireScopes } from "@svc/jwt-auth";
import { notFoundError, unprocessable } from "@svc/problem";
import type { Queryable } from "@svc/sql";
import { currentTenant, requireTenant } from "@svc/tenancy";
import type { Express, Request, Response } from "express";
import { findReceipt, issueReceipt, type Purchase } from "./receipt-store.ts";

/** Options of the routes. */
export interface RoutesOptions {
  readonly db: Database;
  /** Resolves when the table exists. Every request calls it, because the database may start after the service. */
  readonly prepared: () => Promise<void>;
}

export function routes(app: Express, { db, prepared }: RoutesOptions): void {
  /** Runs work as the tenant of the request. The work sees no other tenant's rows. */
  async function inTenant<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    await prepared();
    return db.withTenant(currentTenant(), work);
  }

  app.put(
    "/receipts/:expense",
    requireScopes("receipts:write"),
    requireTenant(),
    async (req: Request<{ expense: string }>, res: Response) => {
      const purchase = purchaseOf(req.params.expense, req.body);
      const issued = await inTenant((tx) => issueReceipt(tx, currentTenant(), purchase));
      if (issued !== undefined) res.status(201).json(issued);
      else res.json(await inTenant((tx) => findReceipt(tx, currentTenant(), purchase.expense)));
    },
  );

  app.get(
    "/receipts/:expense",
    requireScopes("expenses:read"),
    requireTenant(),
    async (req: Request<{ expense: string }>, res: Response) => {
      const receipt = await inTenant((tx) => findReceipt(tx, currentTenant(), req.params.expense));
      if (receipt === undefined) throw notFoundError("there is no receipt for this expense");
      res.json(receipt);
    },
  );
}

/** @throws ProblemError 422 that names each invalid member */
function purchaseOf(expense: string, body: unknown): Purchase {
  const { category, amount } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const issues = [];
  if (!/^[0-9a-f]{32}$/.test(expense)) {
    issues.push({ loc: ["path", "expense"], msg: "must be the id of an expense", type: "value_error" });
  }
  if (typeof category !== "string" || !/^[a-z]{1,30}$/.test(category)) {
    issues.push({ loc: ["body", "category"], msg: "must be a word in lower case", type: "value_error" });
  }
  if (typeof amount !== "string" || !/^\d{1,10}\.\d{2}$/.test(amount)) {
    issues.push({
      loc: ["body", "amount"],
      msg: "must be a text with two decimals, such as 12.50",
      type: "value_error",
    });
  }
  if (issues.length > 0) throw unprocessable(issues);
  return { expense, category, amount } as Purchase;
}
