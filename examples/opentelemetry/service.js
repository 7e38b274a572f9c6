// A service of createService() in an ES module. It has no code for OpenTelemetry.
import { createService } from "@svc/express";
import { propagationHeaders } from "@svc/request-id";

const service = await createService({
  config: { toml: `[service]\nname = "orders"\nport = ${process.env.PORT ?? 3000}` },
  routes(app) {
    // A real handler passes these headers to fetch().
    app.get("/orders/:id", (_req, res) => res.json(propagationHeaders()));
  },
});
await service.start();
console.error(`http://127.0.0.1:${service.address.port}/orders/7`);
