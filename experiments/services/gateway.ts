import { gateway, type RouteOptions } from "@svc/gateway";
import { problemHandler } from "@svc/problem";
import { requestId } from "@svc/request-id";
import express from "express";
import { createServer } from "node:http";
import { answerQuestions, listenAndAnnounce, settingsOfParent } from "../harness/within-service.ts";
import { repeatPosts, withoutBackpressure } from "./broken-gateways.ts";

export interface GatewaySettings {
  readonly routes: readonly RouteOptions[];
  readonly variant: string;
}

/** Milliseconds for which a target of the gateway is paused. */
const restMs = 10_000;

const { routes, variant } = settingsOfParent<GatewaySettings>();
let advancedMs = 0;
const proxy = gateway({ routes, now: () => performance.now() + advancedMs });
const readiness = proxy.readiness();

const app = express();
app.disable("x-powered-by");
app.use(requestId());
if (variant === "broken-gateway-retries-posts") app.use(repeatPosts);
if (variant === "broken-no-backpressure") app.use(withoutBackpressure(routes));
app.use(proxy);
app.use((_req, res) => void res.end("own"));
app.use(problemHandler());

answerQuestions({
  memory: () => process.memoryUsage.rss(),
  readiness: () => readiness.check(AbortSignal.timeout(1_000)),
  /** Ends the pause of every target now. */
  endRests: () => (advancedMs += restMs),
});
listenAndAnnounce(createServer(app));
