import type { ServiceOptions } from "@svc/express";
import type { Canaries } from "@svc/test-support/otlp";

/** A service that uses each canary in the place that its kind requires. */
export function canaryService(canaries: Canaries) {
  return {
    routes(app, { db, jobs, events, telemetry }) {
      const query = async (text: string, values?: unknown[]): Promise<unknown> => db?.query(text, values);
      app.get("/items/:id", (_req, res) => void res.json({}));
      app.post("/bodies", (req, res) => void res.json({ read: req.body !== undefined }));
      app.get("/parameter", async (_req, res) => {
        await query("select note from notes where note = $1", [canaries.sqlParameter]);
        res.json({});
      });
      app.get("/literal", async (_req, res) => {
        await query(
          `select note from notes where note <> '${canaries.sqlLiteral}' /* ${canaries.sqlComment} */`,
        );
        res.json({});
      });
      app.get("/invalid-syntax", async (_req, res) => {
        res.json(await query("select $1::int", [canaries.invalidSyntax]));
      });
      app.get("/duplicate-key", async (_req, res) => {
        await query("insert into notes values ($1)", [canaries.duplicateKey]);
        res.json(await query("insert into notes values ($1)", [canaries.duplicateKey]));
      });
      app.get("/wrapped", async () => {
        await query("select $1::int", [canaries.wrappedSqlError]).catch((cause: Error) => {
          throw new Error(`could not count: ${cause.message}`, { cause });
        });
      });
      app.get("/error", () => {
        throw new RangeError(`${canaries.errorMessage} is too large`);
      });
      app.get("/hook", async (_req, res) => {
        const { unknownAttribute, searchText } = canaries;
        await telemetry?.span(
          "rag.search",
          "internal",
          { "rag.limit": 5, "rag.query": searchText },
          async ({ set }) => {
            set({ "app.customer": unknownAttribute, [unknownAttribute]: 1, "rag.hits": 2 });
          },
        );
        res.json({});
      });
      app.get("/work", async (_req, res) => {
        await jobs?.enqueue({ task: "fail", payload: { note: canaries.jobPayload }, maxAttempts: 1 });
        await events?.publish({ type: "note.added", data: { note: canaries.eventData } });
        res.json({});
      });
    },
    jobs: {
      async fail(_payload, _job, { db }) {
        await db?.query("select $1::int", [canaries.jobError]);
      },
    },
    subscribers: {
      "note.added": {
        async count({ data }, _job, { db }) {
          await db?.query("select note from notes where note = $1", [(data as { note: string }).note]);
        },
      },
    },
  } satisfies ServiceOptions;
}
