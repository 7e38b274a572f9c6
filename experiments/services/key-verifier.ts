import { createService } from "@svc/express";
import { createKeySetSource, requireScopes } from "@svc/jwt-auth";
import { watchHeldUp } from "../harness/held-up.ts";
import { announce, answerQuestions, settingsOfParent } from "../harness/within-service.ts";

export interface KeyVerifierSettings {
  readonly jwksUrl: string;
  /** The maximum age of the keys. */
  readonly maxAgeSeconds: number;
  /** A longer time without a fetch counts as overdue. */
  readonly mostRestMs: number;
}

/** The time between two fetches of the key set. */
export interface KeyRest {
  readonly ms: number;
  /** Milliseconds beyond the allowed time, less the stalls of this process after the fetch was due. */
  readonly overdueMs: number;
}

const { jwksUrl, maxAgeSeconds, mostRestMs } = settingsOfParent<KeyVerifierSettings>();
const heldUp = watchHeldUp();
/** Start and end by `performance.now()`. */
const rests: (readonly [from: number, to: number])[] = [];
let fetchedAt: number | undefined;
answerQuestions({
  rests: () =>
    [...rests, ...(fetchedAt === undefined ? [] : [[fetchedAt, performance.now()] as const])].map(restOf),
});

function restOf([from, to]: readonly [from: number, to: number]): KeyRest {
  const due = from + mostRestMs;
  return { ms: to - from, overdueMs: to < due ? 0 : to - due - heldUp.between(due, to) };
}

async function fetchKeys(...given: Parameters<typeof fetch>): Promise<Response> {
  if (fetchedAt !== undefined) rests.push([fetchedAt, performance.now()]);
  fetchedAt = undefined;
  try {
    return await fetch(...given);
  } finally {
    fetchedAt = performance.now();
  }
}

async function start(): Promise<void> {
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
  announce(service.address?.port);
}

void start();
