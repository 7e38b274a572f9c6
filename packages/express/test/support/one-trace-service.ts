import type { ServiceOptions } from "@svc/express";

interface Order {
  readonly id: string;
}

/** A service that stores an order, bills it in a job, and stores the id of the billed order in a subscriber. */
export const orderService = {
  routes(app, { db, jobs }) {
    app.post("/orders", async (req, res) => {
      const { id } = req.body as Order;
      await db?.query("insert into orders (id, bill) values ($1, 'open')", [id]);
      await jobs?.enqueue({ task: "order.bill", payload: { id } });
      res.status(201).json({});
    });
    app.post("/orders/:id/untraced", async (req, res) => {
      await jobs?.enqueue({ task: "order.bill", payload: { id: req.params.id }, trace: null });
      res.status(202).json({});
    });
  },
  jobs: {
    async "order.bill"({ id }: Order, _job, { db, events }) {
      await db?.transaction(async (tx) => {
        await tx.query("update orders set bill = 'sent' where id = $1", [id]);
        await events?.publish({ type: "order.billed", data: { id } }, { tx });
      });
    },
  },
  subscribers: {
    "order.billed": {
      async note({ data, tenant_id: tenant }, _job, { db }) {
        const { id } = data as Order;
        await db?.withTenant(tenant || "none", (tx) => tx.query("insert into notes values ($1)", [id]));
      },
    },
  },
} satisfies ServiceOptions;

/** Returns the content of `service.toml`, with the tables of jobs and events under a name. */
export function orderToml(name: string): string {
  return `
[service]
name = "${name}"
port = 0
[plugins]
enabled = ["observability", "metrics", "telemetry", "database", "queue", "events"]
[plugin.database]
url = "\${DATABASE_URL}"
[plugin.queue]
name = "${name}_jobs"
poll = 0.02
[plugin.events]
inbox_table = "${name}_inbox"
`;
}

/** The program of one process of the service, for a folder next to this one. The variable ROLE sets its role. */
export const orderProgram = `
  import { startService } from "@svc/express";
  import { orderService } from "../support/one-trace-service.ts";
  await startService({ ...orderService, config: { toml: process.env.TOML }, role: process.env.ROLE });
`;
