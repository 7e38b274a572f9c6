import type { ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { type DescribedRoute, route } from "@svc/openapi";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { forbidden, payloadTooLarge, unprocessable } from "@svc/problem";
import { SearchError } from "./errors.ts";
import type { BoundSearch } from "./service/bound-search.ts";
import { found, ingested, newDocument, newSearch, queued } from "./service/route-schemas.ts";

export const searchRoutesOptions = defineOptions("searchRoutes()", {
  /** The search: `service.search`, or the result of `bindSearch()`. Required. */
  search: { kind: k.objectWith<BoundSearch>("a bound search", "ingest", "search", "deleteDocument") },
  /** Middleware that decides which callers may use the routes, such as `requireScopes("documents")`. Required. */
  guard: { kind: k.func<Middleware>() },
  /** Path before `/documents` and `/search`. Default: `/rag`. */
  path: {
    kind: k.withDefault(
      k.string({ pattern: /^(?:\/[\w~-][\w.~-]*)+$/, expects: "a path such as /rag" }),
      "/rag",
    ),
  },
});

/** Options of {@link searchRoutes}. */
export type SearchRoutesOptions = OptionsOf<typeof searchRoutesOptions>;

/**
 * Returns the routes `POST /rag/documents`, `POST /rag/search` and `DELETE /rag/documents/:id` for `app.use()`. They need a
 * parsed JSON body, and the tenant in the current context; a body never names the tenant. `@svc/openapi` describes them.
 *
 * @throws ConfigurationError
 */
export function searchRoutes(options: SearchRoutesOptions): DescribedRoute[] {
  const { search, guard, path } = searchRoutesOptions.resolve(options);
  const shared = { tags: ["search"], before: guard };
  const unavailable = { 503: "The database, the search or its embedder does not answer" };
  const refused = { 403: "The request has no tenant", ...unavailable };

  const add = route(
    {
      ...shared,
      method: "POST",
      path: `${path}/documents`,
      summary: "Stores a text for the search, and replaces the text of the same id",
      request: { body: newDocument },
      responses: {
        200: { body: ingested },
        202: {
          description: "The text has many chunks; a job stores it, even after a DELETE in the meantime",
          body: queued,
        },
        ...refused,
      },
      examples: { body: { id: "receipt-1", text: "Two coffees at the station", metadata: { kind: "food" } } },
    },
    async ({ body: { id, text, metadata } }, _req, res) => {
      const parts = search.split(text);
      if (search.isLarge(parts.length)) {
        const { id: job } = await asProblem("body", () => search.ingestLater(id, text, { metadata }));
        return res.status(202).json({ id, job });
      }
      const { chunks, embedded, reused, removed } = await asProblem("body", () =>
        search.ingest(
          id,
          parts.map((content) => ({ content })),
          { metadata },
        ),
      );
      return res.json({ id, chunks, embedded, reused, removed });
    },
  );

  const find = route(
    {
      ...shared,
      method: "POST",
      path: `${path}/search`,
      summary: "Finds texts by meaning and by word",
      request: { body: newSearch },
      responses: { 200: { body: found }, ...refused },
      examples: { body: { text: "coffee", limit: 3 } },
    },
    async ({ body: { text, limit, where } }, _req, res) => {
      const signal = leaving(res);
      const hits = await asProblem("search", () => search.search({ text, limit, where, signal }));
      res.json({
        hits: hits.map(({ documentId, ordinal, content, meta, score }) => ({
          document: documentId,
          chunk: ordinal,
          text: content,
          metadata: meta,
          score,
        })),
      });
    },
  );

  const remove = route(
    {
      ...shared,
      method: "DELETE",
      path: `${path}/documents/:id`,
      summary: "Deletes a document, if it exists",
      responses: { 204: "", 422: "The id is too long, or contains NUL", ...refused },
    },
    async (_valid, req, res) => {
      const { id } = (req as unknown as { readonly params: { readonly id: string } }).params;
      await asProblem("id", () => search.deleteDocument(id));
      res.status(204).send();
    },
  );
  return [add, find, remove];
}

const PLACES = { body: ["body"], search: ["body", "text"], id: ["path", "id"] } as const;

/** Runs an operation, and turns an error that the request caused into a problem. */
async function asProblem<T>(place: keyof typeof PLACES, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    // The search has checked the rest of the job, so only its size can be refused.
    if (code === "ERR_SVC_JOB_ARGUMENT") throw payloadTooLarge(undefined, { cause: error });
    if (!(error instanceof SearchError)) throw error;
    if (code === "ERR_SVC_SEARCH_TENANT") throw forbidden("this request is not scoped to a tenant");
    if (code !== "ERR_SVC_SEARCH_ARGUMENT" && code !== "ERR_SVC_SEARCH_FILTER") throw error;
    const loc = code === "ERR_SVC_SEARCH_FILTER" ? ["body", "where"] : [...PLACES[place]];
    throw unprocessable([{ type: "invalid", loc, msg: error.message }]);
  }
}

/** Returns a signal that aborts when the client disconnects. */
function leaving(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  res.once("close", () => controller.abort());
  return controller.signal;
}
