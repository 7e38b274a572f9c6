import { createService } from "@svc/express";
import { notFoundError } from "@svc/problem";

const orders = new Map([["7", { id: "7", total: 42 }]]);

export function ordersService(env) {
  return createService({
    config: new URL("service.toml", import.meta.url),
    env,
    routes(app) {
      app.get("/orders/:id", async (req, res) => {
        const order = orders.get(req.params.id);
        if (order === undefined) throw notFoundError(`there is no order ${req.params.id}`);
        res.json(order);
      });
      app.post("/orders", (req, res) => {
        orders.set(req.body.id, req.body);
        res.status(201).json(req.body);
      });
    },
  });
}
