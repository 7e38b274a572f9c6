import type { Principal } from "@svc/context";
import type { Database } from "@svc/database";
import { requireScopes } from "@svc/jwt-auth";
import { route } from "@svc/openapi";
import { missingScopes } from "@svc/problem";
import type { BoundRollup } from "@svc/rollups";
import type { Queryable } from "@svc/sql";
import { currentTenant, requireTenant } from "@svc/tenancy";
import type { Express, Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { leaving } from "../leaving.ts";
import { receiptsPage } from "../pages/receipts-page.ts";
import { reportsPage } from "../pages/reports-page.ts";
import { html, pageDescription } from "../pages/page-description.ts";
import { sendPage } from "../pages/send-page.ts";
import { queryOf } from "../query-string.ts";
import { longestQuery, searchedText, searchQuery } from "../search/document.ts";
import { findDocuments } from "../search/documents.ts";
import type { Search } from "../search/search.ts";
import { category } from "../validation.ts";
import { requireVisitor, visitorOf } from "../visitor.ts";
import { type ReportFilter, reportQuery } from "./filter.ts";
import { figuresOf, knownMonths, monthlyReport } from "./report.ts";

/** Options of {@link reportRoutes}. */
export interface ReportRoutesOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly totals: BoundRollup;
  readonly search: Search;
  /** Identifies the visitor. */
  readonly visitors: RequestHandler;
}

const monthlyReportBody = z
  .strictObject({
    from: z.string(),
    to: z.string(),
    time_zone: z.string(),
    by: z.enum(["category", "month"]),
    months: z.array(
      z.strictObject({
        month: z.string(),
        category: category.optional(),
        expenses: z.int(),
        total: z.string(),
        average: z.string(),
        minimum: z.string(),
        maximum: z.string(),
        median: z.string().optional(),
      }),
    ),
  })
  .meta({ id: "MonthlyReport" });

const readScope = "expenses:read";
const shownHits = 10;

/**
 * Adds `GET /reports/monthly`, which returns JSON, and the pages `/reports` with charts and `/receipts` with a search.
 */
export function reportRoutes(
  app: Express,
  { db, prepared, totals, search, visitors }: ReportRoutesOptions,
): void {
  async function inTenant<T>(tenant: string, work: (tx: Queryable) => Promise<T>): Promise<T> {
    await prepared();
    return db.withTenant(tenant, work);
  }

  app.use(
    route(
      {
        method: "GET",
        path: "/reports/monthly",
        summary: "Returns statistics by month",
        description:
          "Count, total, average, minimum, maximum and median of every month and category, or of every month. " +
          "The range includes both months; without them it ends with the newest month that has expenses.",
        tags: ["reports"],
        before: [requireScopes(readScope), requireTenant()],
        request: { query: reportQuery },
        responses: { 200: { body: monthlyReportBody }, 503: "the database is not available" },
        examples: { query: { by: "month" } },
      },
      async ({ query: { from, to, by } }, _req, res) => {
        const tenant = currentTenant();
        res.json(await inTenant(tenant, (tx) => monthlyReport(tx, tenant, totals, { from, to, by })));
      },
    ),
  );

  const reports = pageDescription({
    summary: "Shows statistics by month",
    description:
      "The page has charts of the monthly report, the tables behind them, and a form that chooses the months.",
    responses: {
      200: html,
      303: "redirects to the sign-in page",
      307: "another tab renews the session",
      403: `requires the scope ${readScope}`,
      409: "another tab renews the session",
      422: "the page, with an error message about the months",
      503: "the database is not available",
    },
  });
  app.get(
    "/reports",
    reports,
    visitors,
    requireVisitor,
    requireReader,
    async (req: Request, res: Response) => {
      const tenant = tenantOf(req);
      const { filter, error } = shownMonths(req);
      const page = await inTenant(tenant, async (tx) => {
        const report = await monthlyReport(tx, tenant, totals, filter);
        const together = await figuresOf(tx, tenant, totals, report, "month");
        const known = await knownMonths(tx, tenant, totals);
        return reportsPage({ tenant, report, together, known, error });
      });
      sendPage(res, error === undefined ? 200 : 422, page);
    },
  );

  const receipts = pageDescription({
    summary: "Shows receipts and a search",
    description: "The page has a form, and below it the texts that match.",
    responses: {
      200: html,
      303: "redirects to the sign-in page",
      307: "another tab renews the session",
      403: `requires the scope ${readScope}`,
      409: "another tab renews the session",
      422: "the page, with an error message about the search",
      503: "the database or the search is not available",
    },
  });
  app.get(
    "/receipts",
    receipts,
    visitors,
    requireVisitor,
    requireReader,
    async (req: Request, res: Response) => {
      const asked = queryOf(req);
      // Treat an empty field of the form as missing. Without a query the page shows only the form.
      for (const name of ["category", "retry"])
        if (asked.get(name) === "" || name === "retry") asked.delete(name);
      if (!asked.has("q")) {
        sendPage(res, 200, receiptsPage({}));
        return;
      }
      const tenant = tenantOf(req);
      const typed = { q: asked.get("q") ?? "", category: asked.get("category") ?? undefined };
      const { data } = searchQuery.safeParse(valuesOf(asked));
      if (data === undefined) {
        sendPage(res, 422, receiptsPage({ ...typed, error: wrongSearch(typed.q) }));
        return;
      }
      const query = { ...data, limit: shownHits };
      const hits = await findDocuments(await search.opened(), tenant, query, leaving(res));
      sendPage(res, 200, receiptsPage({ ...typed, hits }));
    },
  );
}

function wrongSearch(q: string): string {
  if (q.trim() === "") return "Enter the words to search for.";
  if (!searchedText.safeParse(q).success) return `Enter at most ${longestQuery} characters, without NUL.`;
  return "Choose one of the categories, or all.";
}

/** Returns the months that the form requests; if they are invalid, the latest months and an error. */
function shownMonths(req: Request): { readonly filter: ReportFilter; readonly error?: string } {
  const asked = queryOf(req);
  asked.delete("retry");
  for (const name of ["from", "to"]) if (asked.get(name) === "") asked.delete(name);
  const { data } = reportQuery.safeParse(valuesOf(asked));
  if (data !== undefined) return { filter: { from: data.from, to: data.to, by: "category" } };
  const error =
    "Choose other months: the first must not be after the last, and at most five years before it.";
  return { filter: { from: undefined, to: undefined, by: "category" }, error };
}

/** Returns the fields of a form; a repeated field is a list, which no schema of a page accepts. */
function valuesOf(fields: URLSearchParams): object {
  return Object.fromEntries(
    [...new Set(fields.keys())].map((name) => {
      const values = fields.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

/** Responds with 403 to a visitor without the right to read expenses. Must run after `requireVisitor`. */
const requireReader: RequestHandler = (req, _res, next) => {
  const visitor = visitorOf(req);
  next(visitor !== undefined && mayRead(visitor) ? undefined : missingScopes([readScope]));
};

function mayRead({ scopes, tenant }: Principal): boolean {
  return scopes.includes(readScope) && tenant !== undefined;
}

function tenantOf(req: Request): string {
  const tenant = visitorOf(req)?.tenant;
  if (tenant === undefined) throw missingScopes([readScope]);
  return tenant;
}
