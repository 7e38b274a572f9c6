import { createCache } from "@svc/cache";
import { rateLimit } from "@svc/rate-limit";
import express from "express";
import { createServer } from "node:http";
import { answerQuestions, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";
import { brokenLimitStore } from "./broken-limit-stores.ts";

export interface LimitedSettings {
  readonly redisUrl: string;
  readonly variant: string;
  readonly limit: number;
  readonly windowSeconds: number;
  /** Time limit of the store, after which a request passes uncounted. */
  readonly commandTimeoutMs: number;
}

const { redisUrl, variant, limit, windowSeconds, commandTimeoutMs } = settingsOfParent<LimitedSettings>();

const cache = createCache({ url: redisUrl, commandTimeoutMs: Math.max(commandTimeoutMs, 1000) });
const logger = Object.fromEntries(
  (["debug", "info", "warn", "error", "fatal"] as const).map((level) => [
    level,
    (fields: object, message?: string) => console.log(JSON.stringify({ level, message, ...fields })),
  ]),
) as unknown as Required<Parameters<typeof rateLimit>>[0]["logger"];

const limited = rateLimit({
  limit,
  windowSeconds,
  commandTimeoutMs,
  store: brokenLimitStore(variant, cache.redis) ?? cache.redis,
  key: (req) => req.headers["x-key"]?.toString(),
  logger,
});
const app = express();
app.use(limited as never);
app.get(["/", "/health"], (_req, res) => void res.end());
app.use(((_error, _req, res, _next) => void res.status(429).end()) as express.ErrorRequestHandler);

// The check loads the script and opens the connection, so that the load begins with a store that responds.
answerQuestions({ ready: async () => (await limited.readiness().check(AbortSignal.timeout(5000))).healthy });
listenAndAnnounce(createServer(app));
