import type { Database } from "@svc/database";
import { requireContentType } from "@svc/json-body";
import { requireScopes } from "@svc/jwt-auth";
import { currentTenant, requireTenant } from "@svc/tenancy";
import type { Express, Request, Response } from "express";
import { leaving } from "../leaving.ts";
import { queryOf } from "../query-string.ts";
import { newDocument, searchQuery } from "./document.ts";
import { findDocuments, keepDocument } from "./documents.ts";
import type { Search } from "./search.ts";

/** Options of {@link searchRoutes}. */
export interface SearchRoutesOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly search: Search;
}

/** Adds `POST /documents`, which stores a text, and `GET /search`, which finds it. */
export function searchRoutes(app: Express, { db, prepared, search }: SearchRoutesOptions): void {
  app.post(
    "/documents",
    requireScopes("expenses:write"),
    requireTenant(),
    requireContentType("application/json"),
    async (req: Request, res: Response) => {
      const document = newDocument(req.body);
      const tenant = currentTenant();
      await prepared();
      const store = await search.store();
      const kept = await keepDocument(store, tenant, document, (work) => db.withTenant(tenant, work));
      const { chunks: pieces, embedded, reused, removed } = kept;
      res.json({ id: document.id, pieces, embedded, reused, removed });
    },
  );

  app.get("/search", requireScopes("expenses:read"), requireTenant(), async (req: Request, res: Response) => {
    const query = searchQuery(queryOf(req));
    const tenant = currentTenant();
    const store = await search.store();
    res.json({ hits: await findDocuments(store, tenant, query, leaving(res)) });
  });
}
