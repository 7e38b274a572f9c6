import type { Database } from "@svc/database";
import { requireContentType } from "@svc/json-body";
import { requireScopes } from "@svc/jwt-auth";
import { route } from "@svc/openapi";
import { currentTenant, requireTenant } from "@svc/tenancy";
import type { Express } from "express";
import { z } from "zod";
import { leaving } from "../leaving.ts";
import { newDocument, searchQuery } from "./document.ts";
import { findDocuments, keepDocument } from "./documents.ts";
import type { Search } from "./search.ts";

/** Options of {@link searchRoutes}. */
export interface SearchRoutesOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly search: Search;
}

const count = z.int().nonnegative();

/** The response of a search. */
const hits = z.strictObject({
  hits: z.array(
    z.strictObject({
      document: z.string(),
      piece: count,
      text: z.string(),
      meta: z.record(z.string(), z.unknown()),
      score: z.number(),
      rank: z.strictObject({ meaning: z.int().nullable(), words: z.int().nullable() }),
    }),
  ),
});

/** Adds `POST /documents`, which stores a text, and `GET /search`, which finds it. */
export function searchRoutes(app: Express, { db, prepared, search }: SearchRoutesOptions): void {
  app.use(
    route(
      {
        method: "POST",
        path: "/documents",
        summary: "Stores a text for the search",
        description:
          "The text is cut into pieces, which the search finds. A text with a known id replaces the earlier text.",
        tags: ["search"],
        before: [requireScopes("expenses:write"), requireTenant(), requireContentType("application/json")],
        request: { body: newDocument },
        responses: {
          200: {
            body: z.strictObject({
              id: z.string(),
              pieces: count,
              embedded: count,
              reused: count,
              removed: count,
            }),
          },
          503: "the database or the search is not available",
        },
        examples: {
          body: { id: "receipt-1", text: "Two coffees at the station", meta: { category: "meals" } },
        },
      },
      async ({ body: document }, _req, res) => {
        const tenant = currentTenant();
        await prepared();
        const opened = await search.opened();
        const kept = await keepDocument(opened, tenant, document, (work) => db.withTenant(tenant, work));
        const { chunks: pieces, embedded, reused, removed } = kept;
        res.json({ id: document.id, pieces, embedded, reused, removed });
      },
    ),
  );

  app.use(
    route(
      {
        method: "GET",
        path: "/search",
        summary: "Finds texts by meaning and by word",
        description: "The best match comes first. Spelling errors are tolerated.",
        tags: ["search"],
        before: [requireScopes("expenses:read"), requireTenant()],
        request: { query: searchQuery },
        responses: { 200: { body: hits }, 503: "the database or the search is not available" },
        examples: { query: { q: "coffee" } },
      },
      async ({ query }, _req, res) => {
        const tenant = currentTenant();
        const opened = await search.opened();
        res.json({ hits: await findDocuments(opened, tenant, query, leaving(res)) });
      },
    ),
  );
}
