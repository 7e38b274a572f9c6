import { createService } from "@svc/express";
import { createKeySetSource, requireScopes } from "@svc/jwt-auth";
import { announce, settingsOfParent } from "../harness/within-service.ts";

export interface KeyVerifierSettings {
  readonly jwksUrl: string;
  /** How old the keys may get. */
  readonly maxAgeSeconds: number;
}

const { jwksUrl, maxAgeSeconds } = settingsOfParent<KeyVerifierSettings>();

async function start(): Promise<void> {
  const algorithms = ["RS256", "ES256", "EdDSA"] as const;
  const keys = createKeySetSource({ url: jwksUrl, algorithms, maxAgeSeconds, env: "local" });
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "orders"
        port = 0
        [logging]
        level = "WARN"
        [plugins]
        enabled = ["auth"]
        [plugin.auth]
        issuer = "https://issuer.example.com"
        audience = "orders"
        jwks_url = "${jwksUrl}"
        algorithms = ${JSON.stringify(algorithms)}
        leeway = 0
      `,
    },
    auth: { keys },
    routes(app) {
      app.get("/orders", requireScopes("orders:read"), (_req, res) => void res.json({ orders: [] }));
    },
  });
  await service.start();
  announce(service.address?.port);
}

void start();
