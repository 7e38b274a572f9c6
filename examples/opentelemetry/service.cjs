// A service of createService() in CommonJS. It has no code for OpenTelemetry.
const { createService } = require("@svc/express");
const { propagationHeaders } = require("@svc/request-id");

async function start() {
  const service = await createService({
    config: { toml: `[service]\nname = "orders"\nport = ${process.env.PORT ?? 3000}` },
    routes(app) {
      // A real handler passes these headers to fetch().
      app.get("/orders/:id", (_req, res) => res.json(propagationHeaders()));
    },
  });
  await service.start();
  console.error(`http://127.0.0.1:${service.address.port}/orders/7`);
}

void start();
