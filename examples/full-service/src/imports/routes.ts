import { randomBytes } from "node:crypto";
import type { Database } from "@svc/database";
import { requireContentType } from "@svc/json-body";
import type { JobTable } from "@svc/job-table";
import { requireScopes } from "@svc/jwt-auth";
import { route } from "@svc/openapi";
import { notFoundError } from "@svc/problem";
import { currentTenant, requireTenant } from "@svc/tenancy";
import type { Express, Request, Response } from "express";
import { z } from "zod";
import { checkEncoding, type FileLimits, readFile } from "./file.ts";
import { isImportId } from "./import.ts";
import { importTask } from "./job.ts";
import { beginImport, dropImport, findImport, importJobId, importQueued, stageRows } from "./store.ts";

/** Options of {@link importRoutes}. */
export interface ImportRoutesOptions {
  readonly db: Database;
  readonly jobs: JobTable;
  readonly prepared: () => Promise<void>;
  /** Default: the defaults of `readFile()`. */
  readonly limits?: FileLimits | undefined;
}

const importState = z
  .strictObject({
    id: z.string(),
    state: z.string(),
    rows: z.int(),
    recorded: z.int(),
    failed: z.int(),
    failures: z.array(
      z.strictObject({
        line: z.int(),
        errors: z.array(z.strictObject({ loc: z.array(z.union([z.string(), z.int()])), msg: z.string() })),
      }),
    ),
    created_at: z.string(),
    finished_at: z.string().nullable(),
  })
  .meta({ id: "Import" });

/**
 * Adds `POST /expenses/import`, which accepts a file of expenses, and `GET /imports/:id`, which reports its progress.
 */
export function importRoutes(app: Express, { db, jobs, prepared, limits }: ImportRoutesOptions): void {
  app.use(
    route(
      {
        method: "POST",
        path: "/expenses/import",
        summary: "Imports a file of expenses",
        description:
          "The first line of the file names its columns. The file is accepted immediately; a job records its expenses.",
        tags: ["imports"],
        before: [requireScopes("expenses:write"), requireTenant(), requireContentType("text/csv")],
        requestBodies: { "text/csv": { schema: { type: "string" } } },
        responses: {
          202: {
            body: z.strictObject({ id: z.string(), state: z.literal("queued"), rows: z.int() }),
            headers: { Location: "The path of the import." },
          },
          400: "the file is not valid CSV in UTF-8",
          413: "the file is too large",
          422: "the columns are wrong, or the file has too many rows",
          503: "the database is not available",
        },
      },
      async (_valid, req: Request, res: Response) => {
        checkEncoding(req);
        await prepared();
        const tenant = currentTenant();
        const id = randomBytes(16).toString("hex");
        let isBegun = false;
        try {
          // Use a short transaction for each batch, so that a slow client holds no database connection.
          const rows = await readFile(
            req,
            (header, batch) =>
              db.withTenant(tenant, async (tx) => {
                if (!isBegun) await beginImport(tx, id, tenant, header);
                await stageRows(tx, id, tenant, batch);
                isBegun = true;
              }),
            limits,
          );
          await db.withTenant(tenant, async (tx) => {
            await importQueued(tx, id, rows);
            await jobs.enqueue({ id: importJobId(id), task: importTask, payload: { import: id } }, { tx });
          });
          res.status(202).location(`/imports/${id}`).json({ id, state: "queued", rows });
        } catch (error) {
          // If this deletion fails too, the nightly prune job deletes the import.
          if (isBegun) await db.withTenant(tenant, (tx) => dropImport(tx, id)).catch(() => undefined);
          throw error;
        }
      },
    ),
  );

  app.use(
    route(
      {
        method: "GET",
        path: "/imports/:id",
        summary: "Returns the progress of an import",
        description: "Counts the rows recorded so far, and lists the rows with errors.",
        tags: ["imports"],
        before: [requireScopes("expenses:read"), requireTenant()],
        request: { params: z.object({ id: z.string() }) },
        responses: {
          200: { body: importState },
          404: "no import has this id",
          503: "the database is not available",
        },
      },
      async ({ params: { id } }, _req, res) => {
        if (!isImportId(id)) throw notFoundError("no import has this id");
        await prepared();
        const found = await db.withTenant(currentTenant(), (tx) => findImport(tx, id, jobs.name));
        if (found === undefined) throw notFoundError("no import has this id");
        res.json(found);
      },
    ),
  );
}
