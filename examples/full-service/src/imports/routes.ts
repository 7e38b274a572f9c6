import { randomBytes } from "node:crypto";
import type { Database } from "@svc/database";
import { requireContentType } from "@svc/json-body";
import type { JobTable } from "@svc/job-table";
import { requireScopes } from "@svc/jwt-auth";
import { notFoundError } from "@svc/problem";
import { currentTenant, requireTenant } from "@svc/tenancy";
import type { Express, Request, Response } from "express";
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

/**
 * Adds `POST /expenses/import`, which accepts a file of expenses, and `GET /imports/:id`, which reports its progress.
 */
export function importRoutes(app: Express, { db, jobs, prepared, limits }: ImportRoutesOptions): void {
  app.post(
    "/expenses/import",
    requireScopes("expenses:write"),
    requireTenant(),
    requireContentType("text/csv"),
    async (req: Request, res: Response) => {
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
  );

  app.get(
    "/imports/:id",
    requireScopes("expenses:read"),
    requireTenant(),
    async (req: Request<{ id: string }>, res: Response) => {
      const { id } = req.params;
      if (!isImportId(id)) throw notFoundError("no import has this id");
      await prepared();
      const found = await db.withTenant(currentTenant(), (tx) => findImport(tx, id, jobs.name));
      if (found === undefined) throw notFoundError("no import has this id");
      res.json(found);
    },
  );
}
