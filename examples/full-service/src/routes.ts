import type { Database } from "@svc/database";
import type { Service } from "@svc/express";
import { requireContentType } from "@svc/json-body";
import { notFoundError } from "@svc/problem";
import type { Rollup } from "@svc/rollups";
import type { Queryable } from "@svc/sql";
import type { Express, Request, Response } from "express";
import { optionalAuth, principalOf, requireRoles, requireScopes } from "@svc/jwt-auth";
import { currentTenant, requireTenant, tenantOf } from "@svc/tenancy";
import { recentActivity } from "./activity.ts";
import { cursorOf } from "./cursor.ts";
import { isExpenseId } from "./expense.ts";
import { findExpense, listExpenses, recordExpense, totals } from "./expense-store.ts";
import { startPage } from "./pages/start-page.ts";
import { queryOf } from "./query-string.ts";
import type { Announce } from "./recorded.ts";
import { expenseFilter, newExpense } from "./validation.ts";

/** Options of the routes. */
export interface RoutesOptions {
  readonly db: Database;
  /** Resolves when the tables exist; called at every request, because the database may start after the service. */
  readonly prepared: () => Promise<void>;
  readonly announce: Announce;
  readonly totals: Rollup;
  /** Whether the demo users exist. */
  readonly demoUsers: boolean;
}

export function routes(
  app: Express,
  service: Service,
  { db, prepared, announce, totals: monthly, demoUsers }: RoutesOptions,
): void {
  const { env } = service.config.service;
  const mayRead = [requireScopes("expenses:read"), requireTenant()];
  const mayWrite = [requireScopes("expenses:write"), requireTenant()];

  /** Runs work as the tenant of the request, which sees no other tenant's rows. */
  async function inTenant<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    await prepared();
    return db.withTenant(currentTenant(), work);
  }

  app.get("/", (req, res) => {
    const facts = {
      isProduction: env === "prod",
      hasTraces: service.config.plugin.telemetry?.exporter === "memory",
      hasDemoUsers: demoUsers,
    };
    res.type("html").send(startPage({ port: req.socket.localPort, ...facts }));
  });

  app.get("/whoami", optionalAuth(), (req, res) => {
    const caller = principalOf(req);
    res.json(
      caller === undefined
        ? { signed_in: false }
        : {
            signed_in: true,
            subject: caller.subject,
            tenant: tenantOf(req),
            scopes: caller.scopes,
            roles: caller.roles,
          },
    );
  });

  app.post(
    "/expenses",
    mayWrite,
    requireContentType("application/json"),
    async (req: Request, res: Response) => {
      const expense = newExpense(req.body);
      const recorded = await inTenant(async (tx) => {
        const made = await recordExpense(tx, currentTenant(), expense);
        await announce(tx, [made]);
        await monthly.refresh(tx, { tenant: made.tenant, at: made.paid_at });
        return made;
      });
      res.status(201).location(`/expenses/${recorded.id}`).json(recorded);
    },
  );

  app.get("/expenses/:id", mayRead, async (req: Request<{ id: string }>, res: Response) => {
    const { id } = req.params;
    if (!isExpenseId(id)) throw notFoundError("no expense has this id");
    const expense = await inTenant((tx) => findExpense(tx, id));
    if (expense === undefined) throw notFoundError("no expense has this id");
    res.json(expense);
  });

  app.get("/expenses", mayRead, async (req: Request, res: Response) => {
    const filter = expenseFilter(queryOf(req));
    const found = await inTenant((tx) => listExpenses(tx, filter));
    const page = found.slice(0, filter.limit);
    const last = page.at(-1);
    const next = found.length > page.length && last ? cursorOf({ paidAt: last.paid_at, id: last.id }) : null;
    res.json({ expenses: page, next });
  });

  app.get("/activity", mayRead, async (_req: Request, res: Response) => {
    res.json({ days: await inTenant(recentActivity) });
  });

  app.get("/totals", requireRoles("admin"), requireTenant(), async (_req, res) => {
    res.json({ totals: await inTenant(totals) });
  });
}
