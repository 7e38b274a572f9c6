import type { Database } from "@svc/database";
import type { Service } from "@svc/express";
import { requireContentType } from "@svc/json-body";
import { notFoundError } from "@svc/problem";
import type { BoundRollup } from "@svc/rollups";
import type { Queryable } from "@svc/sql";
import type { Express } from "express";
import { z } from "zod";
import { route } from "@svc/openapi";
import { optionalAuth, principalOf, requireRoles, requireScopes } from "@svc/jwt-auth";
import { currentTenant, requireTenant, tenantOf } from "@svc/tenancy";
import { recentActivity } from "./activity.ts";
import { cursorOf } from "./cursor.ts";
import { isExpenseId } from "./expense.ts";
import { findExpense, listExpenses, recordExpense, totals } from "./expense-store.ts";
import { html, pageDescription } from "./pages/page-description.ts";
import { startPage } from "./pages/start-page.ts";
import type { Announce } from "./recorded.ts";
import { category as categoryOf, expense, expenseQuery, newExpense } from "./validation.ts";

/** Options of the routes. */
export interface RoutesOptions {
  readonly db: Database;
  /** Resolves when the tables exist. Every request calls it, because the database may start after the service. */
  readonly prepared: () => Promise<void>;
  readonly announce: Announce;
  readonly totals: BoundRollup;
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

  /** Runs work as the tenant of the request. The work sees no other tenant's rows. */
  async function inTenant<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    await prepared();
    return db.withTenant(currentTenant(), work);
  }

  const start = pageDescription({
    summary: "Shows what the example can do",
    description: "The page has links to the other pages, and calls to try.",
    responses: { 200: html },
  });
  app.get("/", start, (req, res) => {
    const facts = {
      isProduction: env === "prod",
      hasTraces: service.config.plugin.telemetry?.exporter === "memory",
      hasDemoUsers: demoUsers,
    };
    res.type("html").send(startPage({ port: req.socket.localPort, ...facts }));
  });

  app.use(
    route(
      {
        method: "GET",
        path: "/whoami",
        summary: "Returns the caller",
        description: "Works without a token: the response then has only `signed_in`.",
        tags: ["session"],
        before: optionalAuth(),
        responses: {
          200: {
            body: z.union([
              z.strictObject({ signed_in: z.literal(false) }),
              z.strictObject({
                signed_in: z.literal(true),
                subject: z.string(),
                tenant: z.string().nullish(),
                scopes: z.array(z.string()),
                roles: z.array(z.string()),
              }),
            ]),
          },
        },
      },
      (_valid, req, res) => {
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
      },
    ),
  );

  app.use(
    route(
      {
        method: "POST",
        path: "/expenses",
        summary: "Records an expense",
        description: "The amount is a decimal as text, because a JSON number is a binary fraction.",
        tags: ["expenses"],
        before: [...mayWrite, requireContentType("application/json")],
        request: { body: newExpense },
        responses: {
          201: { body: expense, headers: { Location: "The path of the expense." } },
          503: "the database is not available",
        },
        examples: {
          body: { category: "meals", amount: "12.50", note: "lunch", paid_at: "2026-03-01T12:00:00Z" },
        },
      },
      async ({ body }, _req, res) => {
        const recorded = await inTenant(async (tx) => {
          const made = await recordExpense(tx, currentTenant(), body);
          await announce(tx, [made]);
          await monthly.touched(tx, { tenant: made.tenant, at: made.paid_at });
          return made;
        });
        res.status(201).location(`/expenses/${recorded.id}`).json(recorded);
      },
    ),
  );

  app.use(
    route(
      {
        method: "GET",
        path: "/expenses/:id",
        summary: "Returns one expense",
        description: "For an expense of another tenant, the response is a 404.",
        tags: ["expenses"],
        before: mayRead,
        request: { params: z.object({ id: z.string() }) },
        responses: {
          200: { body: expense },
          404: "no expense has this id",
          503: "the database is not available",
        },
      },
      async ({ params: { id } }, _req, res) => {
        const found = isExpenseId(id) ? await inTenant((tx) => findExpense(tx, id)) : undefined;
        if (found === undefined) throw notFoundError("no expense has this id");
        res.json(found);
      },
    ),
  );

  app.use(
    route(
      {
        method: "GET",
        path: "/expenses",
        summary: "Lists expenses, the newest first",
        description: "`next` of a page is the `cursor` of the next one, and null on the last page.",
        tags: ["expenses"],
        before: mayRead,
        request: { query: expenseQuery },
        responses: {
          200: { body: z.strictObject({ expenses: z.array(expense), next: z.string().nullable() }) },
          503: "the database is not available",
        },
        examples: { query: { limit: 20 } },
      },
      async ({ query: { category, month, cursor: after, limit } }, _req, res) => {
        const found = await inTenant((tx) => listExpenses(tx, { category, month, after, limit }));
        const page = found.slice(0, limit);
        const last = page.at(-1);
        const next =
          found.length > page.length && last ? cursorOf({ paidAt: last.paid_at, id: last.id }) : null;
        res.json({ expenses: page, next });
      },
    ),
  );

  const count = z.int().nonnegative();
  app.use(
    route(
      {
        method: "GET",
        path: "/activity",
        summary: "Counts the expenses that events reported, by day",
        description: "Of the last month. Events arrive a moment after an expense is recorded.",
        tags: ["reports"],
        before: mayRead,
        responses: {
          200: {
            body: z.strictObject({ days: z.array(z.strictObject({ day: z.string(), expenses: count })) }),
          },
          503: "the database is not available",
        },
      },
      async (_valid, _req, res) => {
        res.json({ days: await inTenant(recentActivity) });
      },
    ),
  );

  app.use(
    route(
      {
        method: "GET",
        path: "/totals",
        summary: "Adds up a tenant's expenses, by category",
        description: "Only for admins of the tenant.",
        tags: ["reports"],
        before: [requireRoles("admin"), requireTenant()],
        responses: {
          200: {
            body: z.strictObject({
              totals: z.array(z.strictObject({ category: categoryOf, expenses: count, amount: z.string() })),
            }),
          },
          503: "the database is not available",
        },
      },
      async (_valid, _req, res) => {
        res.json({ totals: await inTenant(totals) });
      },
    ),
  );
}
