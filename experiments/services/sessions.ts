import { createService } from "@svc/express";
import { currentPrincipal, requireAuth, requireScopes, type RevocationCheck } from "@svc/jwt-auth";
import type { TokenStore } from "@svc/token-store";
import { randomUUID } from "node:crypto";
import { announce, answerQuestions, settingsOfParent } from "../harness/within-service.ts";

export interface SessionsSettings {
  readonly secret: string;
  /** URL of Redis for the `cache` plugin and for broken stores. Default: no cache. */
  readonly redisUrl?: string;
  /** Keeps sessions in PostgreSQL, in a store passed as a code option. Default: in the store of the `cache` plugin. */
  readonly postgresUrl?: string;
  /** Whether the service issues tokens; if false, it only verifies them. Default: true. */
  readonly issues?: boolean;
  readonly graceSeconds?: number;
  readonly failOpen?: boolean;
  /** Seconds by which the clock of this process is ahead of the machine's; negative if it is behind. Default: 0. */
  readonly skewSeconds?: number;
  /** Whether a second such service runs in this process; the question `other` returns its port. Default: false. */
  readonly isTwo?: boolean;
  /** The broken variant to run. Default: as built. */
  readonly variant?: string;
}

type Store = TokenStore & RevocationCheck;
type BrokenStores = typeof import("./broken-stores.ts");

const { secret, redisUrl, postgresUrl, variant, ...rest } = settingsOfParent<SessionsSettings>();
const { issues = true, graceSeconds = 10, failOpen = true, isTwo = false, skewSeconds = 0 } = rest;

if (skewSeconds !== 0) {
  const { now } = Date;
  Date.now = () => now() + skewSeconds * 1000;
}

async function storeInCode(broken: BrokenStores | undefined): Promise<Store | undefined> {
  if (postgresUrl !== undefined) {
    const { createDatabase } = await import("@svc/database");
    const { createPostgresTokenStore } = await import("@svc/token-store/postgres");
    const store = createPostgresTokenStore({ db: createDatabase({ url: postgresUrl, max: 16 }) });
    await store.ensureSchema();
    return variant === "broken-local-clocks" ? broken?.withoutClock(store) : store;
  }
  return variant === undefined || redisUrl === undefined ? undefined : broken?.brokenStore(variant, redisUrl);
}

async function start(): Promise<number | undefined> {
  // Load this on demand, because most services run as built.
  const broken = variant === undefined ? undefined : await import("./broken-stores.ts");
  const revocation = await storeInCode(broken);
  const wait =
    variant === undefined || redisUrl === undefined ? undefined : broken?.brokenWait(variant, redisUrl);
  const usesCache = redisUrl !== undefined && revocation === undefined && wait === undefined;
  const plugins = ["observability", "metrics", ...(usesCache ? ["cache"] : []), "auth"];
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "sessions"
        port = 0
        [logging]
        level = "WARN"
        [plugins]
        enabled = ${JSON.stringify(plugins)}
        [plugin.observability]
        access_log = false
        ${usesCache ? `[plugin.cache]\nurl = "${redisUrl}"` : ""}
        [plugin.auth]
        mode = "secret"
        algorithms = ["HS256"]
        audience = "sessions"
        secret = "${secret}"
        cache_tokens = 5000
        revocation_fail_open = ${failOpen}
        issue_tokens = ${issues}
        refresh_grace_seconds = ${graceSeconds}
      `,
    },
    auth: revocation === undefined ? undefined : { revocation },
    routes(app, { issuer }) {
      app.post("/pairs", async (req, res) => {
        const count = Number(req.query["count"]);
        const { subject } = req.query;
        const session = {
          subject: typeof subject === "string" ? subject : randomUUID(),
          scopes: ["orders:read"],
        };
        const issued = Array.from({ length: count }, async () => issuer?.issuePair(session));
        res.json(await Promise.all(issued));
      });
      app.post("/sign-out-everywhere", requireAuth(), async (_req, res) => {
        await issuer?.revokeSubject(currentPrincipal().subject);
        res.status(204).end();
      });
      if (wait !== undefined) app.use("/orders", (_req, _res, next) => void wait().then(() => next(), next));
      app.get("/orders", requireScopes("orders:read"), (_req, res) => void res.json({ orders: [] }));
      app.get("/open", (_req, res) => void res.json({ ok: true }));
    },
  });
  await service.start();
  return service.address?.port;
}

async function main(): Promise<void> {
  const other = isTwo ? await start() : undefined;
  answerQuestions({ cpu: () => process.cpuUsage(), other: () => other });
  announce(await start());
}

void main();
