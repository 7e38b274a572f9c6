import type { Database } from "@svc/database";
import type { Service } from "@svc/express";
import { requireContentType } from "@svc/json-body";
import { notFoundError } from "@svc/problem";
import type { Express, Request } from "express";
import { cursorOf } from "./cursor.ts";
import { isExpenseId } from "./expense.ts";
import { findExpense, listExpenses, recordExpense } from "./expense-store.ts";
import { startPage } from "./start-page.ts";
import { expenseFilter, newExpense } from "./validation.ts";

/**
 * @param prepared resolves once the table is there; asked at every request, because the database may come later
 *   than the service
 */
export function routes(app: Express, service: Service, db: Database, prepared: () => Promise<void>): void {
  const { env } = service.config.service;

  app.get("/", (req, res) => {
    res.type("html").send(startPage({ port: req.socket.localPort, hasInfo: env !== "prod" }));
  });

  app.post("/expenses", requireContentType("application/json"), async (req, res) => {
    const expense = newExpense(req.body);
    await prepared();
    const recorded = await recordExpense(db, expense);
    res.status(201).location(`/expenses/${recorded.id}`).json(recorded);
  });

  app.get("/expenses/:id", async (req, res) => {
    const { id } = req.params;
    if (!isExpenseId(id)) throw notFoundError("no expense has this id");
    await prepared();
    const expense = await findExpense(db, id);
    if (expense === undefined) throw notFoundError("no expense has this id");
    res.json(expense);
  });

  app.get("/expenses", async (req, res) => {
    const filter = expenseFilter(queryOf(req));
    await prepared();
    const found = await listExpenses(db, filter);
    const page = found.slice(0, filter.limit);
    const last = page.at(-1);
    const next = found.length > page.length && last ? cursorOf({ paidAt: last.paid_at, id: last.id }) : null;
    res.json({ expenses: page, next });
  });
}

// The two majors of Express parse a query string differently; this reads it as it is.
function queryOf(req: Request): URLSearchParams {
  const { originalUrl } = req;
  const query = originalUrl.indexOf("?");
  return new URLSearchParams(query === -1 ? "" : originalUrl.slice(query + 1));
}
