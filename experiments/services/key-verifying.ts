import { createService } from "@svc/express";
import { createKeySetSource, requireScopes } from "@svc/jwt-auth";

export interface KeyVerifierSettings {
  readonly jwksUrl: string;
  /** The maximum age of the cached keys, in seconds. */
  readonly maxAgeSeconds: number;
  /** Milliseconds between two ticks of the timer that measures the time between two fetches. */
  readonly tickMs: number;
}

/** The time between the end of one key-set fetch and the start of the next. */
export interface KeyRest {
  readonly ms: number;
  /** Ticks of a timer of this process, which a stall delays just as it delays the fetch. */
  readonly ticks: number;
}

/** A running service that verifies tokens. */
export interface KeyVerifier {
  readonly port: number | undefined;
  /** Returns the times between two fetches so far. */
  readonly rests: () => readonly KeyRest[];
}

export async function startKeyVerifier({
  jwksUrl,
  maxAgeSeconds,
  tickMs,
}: KeyVerifierSettings): Promise<KeyVerifier> {
  const rests: KeyRest[] = [];
  let last: { readonly at: number; readonly tick: number } | undefined;
  let tick = 0;
  setInterval(() => (tick += 1), tickMs);

  function currentRest(): readonly KeyRest[] {
    return last === undefined ? [] : [{ ms: performance.now() - last.at, ticks: tick - last.tick }];
  }

  async function fetchKeys(...given: Parameters<typeof fetch>): Promise<Response> {
    rests.push(...currentRest());
    last = undefined;
    try {
      return await fetch(...given);
    } finally {
      last = { at: performance.now(), tick };
    }
  }

  const algorithms = ["RS256", "ES256", "EdDSA"] as const;
  const keys = createKeySetSource({
    url: jwksUrl,
    algorithms,
    maxAgeSeconds,
    fetch: fetchKeys,
    env: "local",
  });
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
  return { port: service.address?.port, rests: () => [...rests, ...currentRest()] };
}
