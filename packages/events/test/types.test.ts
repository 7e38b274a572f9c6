import { createEvents, type Subscriber } from "@svc/events";
import { createJobTable, createWorker, defineTasks } from "@svc/job-table";
import { expect } from "chai";
import { Pool } from "pg";

interface Tasks {
  readonly "mail.send": { readonly to: string };
}

const table = createJobTable({ db: new Pool(), tasks: defineTasks<Tasks>() });

/** Compiles the calls in a function without running them. */
function compiles(calls: () => unknown): void {
  expect(calls).to.be.a("function");
}

// The compiler is the test: it must accept this code, and reject each line after @ts-expect-error.
describe("the types of createEvents() with a typed job table", () => {
  it("accept a typed table, and check the jobs that a subscriber queues", () => {
    compiles(() =>
      createEvents<{ "expense.recorded": { readonly by: string } }>({
        source: "books",
        table,
        subscribers: {
          "expense.recorded": {
            thank: async ({ data }) => table.enqueue({ task: "mail.send", payload: { to: data.by } }),
            // @ts-expect-error -- the task is misspelled
            typo: async ({ data }) => table.enqueue({ task: "mail.sned", payload: { to: data.by } }),
            // @ts-expect-error -- the payload has another type
            wrong: async () => table.enqueue({ task: "mail.send", payload: { to: 7 } }),
          },
        },
      }),
    );
  });

  it("combine the subscribers' handlers with those of the tasks, and reject a missing or misspelled one", () => {
    const received: Subscriber = () => undefined;
    const events = createEvents({ source: "books", table, subscribers: { recorded: { received } } });
    const { handlers } = events;
    const send = ({ to }: { readonly to: string }): string => to.trim();
    compiles(() => [
      createWorker({ table, handlers: { ...handlers, "mail.send": send } }),
      // @ts-expect-error -- the handler of mail.send is missing
      createWorker({ table, handlers }),
      // @ts-expect-error -- the task is misspelled
      createWorker({ table, handlers: { ...handlers, "mail.sned": send } }),
    ]);
    expect(Object.keys(handlers)).to.eql(["recorded->received"]);
  });
});
