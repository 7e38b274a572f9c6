import {
  createJobTable,
  createWorker,
  defineTasks,
  type InputsOf,
  type JobTable,
  type OutputsOf,
  queueRoutes,
  tableAccess,
  type TaskHandlers,
  type TaskJob,
  type WorkerOptions,
} from "@svc/job-table";
import { type } from "arktype";
import { expect } from "chai";
import { Pool } from "pg";
import * as v from "valibot";
import { z } from "zod";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

// An interface, because it has no index signature: a type alias is accepted in more places.
interface Mails {
  readonly "mail.send": { readonly to: string; readonly copies?: number | undefined };
  readonly "mail.sweep": { readonly olderThanDays?: number };
}

const db = new Pool();
const mails = createJobTable({ db, tasks: defineTasks<Mails>() });
const untyped = createJobTable({ db });

/** Compiles the calls in a function without running them. */
function compiles(calls: () => unknown): void {
  expect(calls).to.be.a("function");
}

// The compiler is the test: it must accept this code, and reject each line after @ts-expect-error.
describe("the types of tasks", () => {
  it("accept the jobs of the map, and reject an unknown task, a wrong payload and a missing payload", () => {
    compiles(() => [
      mails.enqueue({ task: "mail.send", payload: { to: "ann" }, id: "1", delaySeconds: 5 }),
      mails.enqueue({ task: "mail.sweep" }, { tx: undefined }),
      // @ts-expect-error -- the task is misspelled
      mails.enqueue({ task: "mail.sned", payload: { to: "ann" } }),
      // @ts-expect-error -- the member has another type
      mails.enqueue({ task: "mail.send", payload: { to: 7 } }),
      // @ts-expect-error -- an unknown member
      mails.enqueue({ task: "mail.send", payload: { to: "ann", cc: "ben" } }),
      // @ts-expect-error -- the payload of the other task
      mails.enqueue({ task: "mail.send", payload: { olderThanDays: 7 } }),
      // @ts-expect-error -- the default, {}, has no `to`
      mails.enqueue({ task: "mail.send" }),
      // @ts-expect-error -- an unknown member of a job
      mails.enqueue({ task: "mail.sweep", delay: 5 }),
    ]);
  });

  it("check every job of enqueueMany()", () => {
    const job: TaskJob<Mails> = { task: "mail.send", payload: { to: "ann" } };
    compiles(() => [
      mails.enqueueMany([job, { task: "mail.sweep", payload: { olderThanDays: 7 } }]),
      mails.enqueueMany(["ann", "ben"].map((to) => ({ task: "mail.send", payload: { to } }) as const)),
      // @ts-expect-error -- the second task is unknown
      mails.enqueueMany([job, { task: "mail.swep" }]),
    ]);
  });

  it("type the payload of each handler, and reject a missing, an unknown and a wrong handler", () => {
    const sweep = (): void => undefined;
    compiles(() => {
      createWorker({
        table: mails,
        handlers: {
          "mail.send"(payload, job) {
            const isExact: Same<typeof payload, Mails["mail.send"]> = true;
            return [isExact, job.signal];
          },
          "mail.sweep": async ({ olderThanDays = 7 }) => olderThanDays.toFixed(),
        },
      });
      // @ts-expect-error -- a worker claims every row, and must handle mail.send
      createWorker({ table: mails, handlers: { "mail.sweep": sweep } });
      createWorker({
        table: mails,
        // @ts-expect-error -- a task is misspelled
        handlers: { "mail.send": sweep, "mail.sweep": sweep, "mail.sned": sweep },
      });
      createWorker({
        table: mails,
        // @ts-expect-error -- the handler expects another payload
        handlers: { "mail.sweep": sweep, "mail.send": (_payload: { to: number }) => undefined },
      });
    });
  });

  it("accept handlers that are defined in a separate constant, and handlers of other tasks from a record", () => {
    const handlers = {
      "mail.send": ({ to }) => to.trim(),
      "mail.sweep": () => undefined,
    } satisfies TaskHandlers<Mails>;
    const others: TaskHandlers = { "order.placed->mail": () => undefined };
    compiles(() => createWorker({ table: mails, handlers: { ...others, ...handlers } }));
    const { "mail.sweep": sweep } = handlers;
    // @ts-expect-error -- the record has no mail.send
    compiles(() => createWorker({ table: mails, handlers: { ...others, "mail.sweep": sweep } }));
  });

  it("leave the types of an untyped table unchanged", () => {
    const options: Partial<WorkerOptions> = { concurrency: 2 };
    const same: Same<ReturnType<typeof createJobTable>, JobTable> = true;
    const sameOptions: Same<Parameters<typeof createWorker>[0], WorkerOptions> = true;
    expect([same, sameOptions]).to.eql([true, true]);
    compiles(() => [
      untyped.enqueue({ task: "anything", payload: 7 }),
      untyped.enqueueMany([{ task: "a" }, { task: "b", payload: [1] }]),
      createWorker({
        ...options,
        table: untyped,
        handlers: { a: ({ to }: { to: string }, { id }) => [to, id], b: (payload: unknown) => payload },
      }),
      // @ts-expect-error -- the payload is unknown
      createWorker({ table: untyped, handlers: { a: (payload) => payload.to } }),
    ]);
  });

  it("accept a typed table as an untyped one, and the reverse only with a cast", () => {
    const plain: JobTable = mails;
    const cast = plain as JobTable<Mails>;
    // @ts-expect-error -- the compiler does not know its tasks
    const wrong: JobTable<Mails> = untyped;
    compiles(() => [queueRoutes({ table: mails }), tableAccess("x()", mails, 1000)]);
    expect([plain, cast]).to.eql([mails, mails]);
    expect(wrong).to.equal(untyped);
  });

  it("are inferred from schemas of zod, valibot and ArkType, with different types for queueing and receiving", () => {
    const tasks = defineTasks({
      zod: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }),
      valibot: v.object({ retries: v.optional(v.number(), 3) }),
      arktype: type({ to: "string" }),
    });
    const table = createJobTable({ db, tasks });
    compiles(() => {
      void table.enqueue({ task: "zod", payload: { at: "2026-01-01T00:00:00Z" } });
      void table.enqueue({ task: "valibot" });
      void table.enqueue({ task: "arktype", payload: { to: "ann" } });
      // @ts-expect-error -- only the handler receives a Date
      void table.enqueue({ task: "zod", payload: { at: new Date() } });
      // @ts-expect-error -- a number is not a string
      void table.enqueue({ task: "arktype", payload: { to: 7 } });
      createWorker({
        table,
        handlers: {
          zod: ({ at }) => at.getTime(),
          valibot: ({ retries }) => retries.toFixed(),
          arktype: ({ to }) => to.trim(),
        },
      });
    });
    expect(Object.keys(tasks.schemas)).to.eql(["zod", "valibot", "arktype"]);
  });

  it("can be derived from schemas, for handlers and tables that are defined separately", () => {
    const schemas = { at: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }) };
    type Queued = InputsOf<typeof schemas>;
    type Received = OutputsOf<typeof schemas>;
    const handlers = { at: ({ at }) => at.getTime() } satisfies TaskHandlers<Received>;
    const plain: JobTable = createJobTable({ db, tasks: defineTasks(schemas) });
    const table = plain as JobTable<Queued, Received>;
    compiles(() => [
      createWorker({ table, handlers }),
      table.enqueue({ task: "at", payload: { at: "2026-01-01T00:00:00Z" } }),
      // @ts-expect-error -- only the handler receives a Date
      table.enqueue({ task: "at", payload: { at: new Date() } }),
    ]);
    expect(handlers.at({ at: new Date(7) })).to.equal(7);
  });

  it("reject a schema that returns another type than the map, and allow tasks without a schema", () => {
    const tasks = defineTasks<Mails>({
      "mail.send": z.object({ to: z.string(), copies: z.number().optional() }).readonly(),
    });
    compiles(() => createJobTable({ db, tasks }).enqueue({ task: "mail.sweep" }));
    // @ts-expect-error -- the schema returns another type
    const other = defineTasks<Mails>({ "mail.send": z.object({ to: z.number() }) });
    // @ts-expect-error -- the map has no such task
    const unknown = defineTasks<Mails>({ "mail.sned": z.object({}) });
    expect([tasks, other, unknown].map(({ schemas }) => Object.keys(schemas).length)).to.eql([1, 1, 1]);
    // @ts-expect-error -- not a schema
    expect(() => defineTasks({ "mail.send": "string" })).to.throw("mail.send: must be a Standard Schema");
  });
});
