import { createRequire } from "node:module";
import { describeConfig } from "@svc/config";
import { health as healthRoutes } from "@svc/health";
import { ConfigurationError } from "@svc/options";
import { compose, type FrameworkRoute, type PluginParts, stopPhases } from "@svc/plugin";
import { notFound, problemHandler } from "@svc/problem";
import type { Express } from "express";
import { hasRoute, layerCount } from "./claimed-paths.ts";
import { configure, unusedCode } from "./configure.ts";
import { edgeLayers, ownLimitsOf } from "./edge.ts";
import { frameworkRoutes } from "./framework-routes.ts";
import { createHttpServer } from "./http-server.ts";
import { type InFlight, trackRequests } from "./in-flight.ts";
import { serviceLogger } from "./own-logger.ts";
import { faultsOfOwn } from "./own-options.ts";
import { closeOwnLater } from "./plugins/close-own.ts";
import { settingOf } from "./plugins/option-names.ts";
import { startPlugins } from "./plugins/start.ts";
import { refusePoweredBy } from "./powered-by.ts";
import { createRunner } from "./start-and-drain.ts";
import type { DefinedTasks, OwnPlugins, Service, ServiceLogger } from "./service.ts";
import { faultsOfJobs } from "./service-jobs.ts";
import { faultsOfKind } from "./service-kind.ts";
import type { ServiceOptions } from "./service-options.ts";
import { handleSignals } from "./signals.ts";
import { createStopHooks, type StopHooks } from "./stop-hooks.ts";
import { tune } from "./tune.ts";
import { acceptUpgrades, upgradeOptions } from "./upgrades.ts";
import { webEdge, webErrors, webFiles } from "./web/kind-web.ts";
import { createWork } from "./work/work.ts";

// Load Express with require(), because the hooks of instrumentations that `--require` installs do not see a CommonJS module
// that an ES module imports.
const express = createRequire(import.meta.url)("express") as () => Express;

/** Time limit for all stop hooks in one phase together, in milliseconds. */
const hookTimeoutMs = 10_000;
/** Time limit for starting one plugin, in milliseconds. */
const startTimeoutMs = 10_000;

/**
 * Builds a service from a TOML file and the environment; the README describes its parts. The service does not listen
 * before `start()` and does not wait for dependencies: `/ready` reports a database that is down.
 *
 * @throws ConfigurationError that lists every fault in options, file and environment
 */
export async function createService<
  P extends OwnPlugins = Record<never, never>,
  T extends DefinedTasks = DefinedTasks,
>(options?: ServiceOptions<P, T>): Promise<Service<P, T>> {
  const closeOwn = closeOwnLater(options, hookTimeoutMs);
  try {
    return (await build(options)) as Service<P, T>;
  } catch (error) {
    await closeOwn();
    throw error;
  }
}

async function build(options: object | undefined): Promise<Service> {
  let service: Service | undefined;
  const { resolved, config } = configure(options, () => service as Service);
  const { service: settings } = config;
  const log = serviceLogger(resolved, config);
  for (const note of config.notes) log.warn({}, note);
  if (settings.debug && settings.env === "prod") {
    log.warn({}, "DEBUG IS ON IN PROD: internal error details reach clients; unset SVC_DEBUG");
  }
  const app = resolved.app ?? express();
  refuseLayers(app);

  const hooks = createStopHooks(hookTimeoutMs, () => log);
  let made: Assembled | undefined;
  try {
    made = await assemble({ resolved, config }, app, log, hooks);
    ({ service } = made);
    if (resolved.work.role !== "worker") await resolved.routes?.(app, service);
    made.framework.place(app);
    app.use(made.framework.behind);
    const pages = webErrors(resolved, log);
    if (pages !== undefined) app.use(pages.forUnknownPaths);
    app.use(notFound());
    if (pages !== undefined) app.use(pages.forErrors);
    app.use(problemHandler({ debug: settings.debug, logger: log }));
    return service;
  } catch (error) {
    // The timers would keep the application in memory, and connections opened by plugins and routes the process alive.
    made?.inFlight.stop();
    for (const phase of stopPhases) await hooks.run(phase);
    throw error;
  }
}

/** A service whose application has no routes yet. */
interface Assembled {
  readonly service: Service;
  readonly framework: ReturnType<typeof frameworkRoutes>;
  readonly inFlight: InFlight;
}

/** Starts the plugins, and adds their layers and the service's own to the application. */
async function assemble(
  { resolved, config }: ReturnType<typeof configure>,
  app: Express,
  log: ServiceLogger,
  hooks: StopHooks,
): Promise<Assembled> {
  const { service: settings } = config;
  app.disable("x-powered-by");
  app.set("etag", settings.etag ? "weak" : false);
  app.set("trust proxy", settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false);
  const classes = settings.tune ? tune(app) : undefined;
  refusePoweredBy(app);

  const plugins = await startPlugins(resolved.plugins, config, {
    service: {
      name: settings.name,
      version: settings.version,
      env: settings.env,
      profile: resolved.profile,
      role: resolved.work.role,
      origins: originsOf(settings.port),
      behindProxies: settings.trustedProxies.length > 0,
    },
    logger: log,
    codeOf: resolved.codeOf,
    code: { work: resolved.work },
    hasRoute: (path) => hasRoute(app, path),
    hooks,
    faults: [
      ...unusedCode(resolved, config),
      ...faultsOfJobs(config.plugin, resolved.work),
      ...faultsOfKind(resolved, config),
      ...faultsOfOwn(resolved, settings),
    ],
    startTimeoutMs,
  });
  const all = plugins.all;
  const health = healthRoutes({
    service: settings.name,
    version: settings.version,
    env: settings.env,
    readinessTimeoutSeconds: settings.readinessTimeoutSeconds,
    checks: [...all.flatMap((each) => each.checks ?? []), ...resolved.checks],
    plugins: () => all.map(({ name, info }) => ({ ...(typeof info === "function" ? info() : info), name })),
    providers: Object.keys((config.plugin["auth"] as { providers?: object } | undefined)?.providers ?? {}),
    logger: log,
  });
  health.setState("starting");

  const routes: FrameworkRoute[] = [
    { path: "/health", handler: health.handlers.health },
    { path: "/ready", handler: health.handlers.ready },
    ...(settings.env === "prod" ? [] : [{ path: "/info", handler: health.handlers.info }]),
    ...all.flatMap((each) => each.routes ?? []),
  ];
  const framework = frameworkRoutes(routes);
  const serves = resolved.work.role !== "worker";
  // Only probes and scrapers send requests to a worker, so it needs neither authentication nor tenancy.
  const probed = (each: PluginParts): PluginParts => ({ edge: each.edge, routes: each.routes });
  const layered = serves ? all : all.map(probed);
  const hasOwnLimits = ownLimitsOf(layered, log);
  const isWeb = serves && resolved.kind === "web";
  const web = isWeb ? webEdge(resolved, config) : undefined;
  const edge = edgeLayers(settings, layered, hasOwnLimits, web, resolved, log);
  const files = isWeb ? webFiles(resolved, config, routes) : [];
  const front = [...layered.flatMap((each) => each.page ?? []), framework.front, ...files];
  // The application's middleware stays in separate layers, so that Express handles its promises and errors as usual.
  if (!serves || resolved.middleware.length === 0) app.use(compose([...edge, ...front]));
  else app.use(compose(edge), ...resolved.middleware, compose(front));

  const inFlight = trackRequests(app, {
    requestTimeoutMs: settings.requestTimeoutSeconds * 1000,
    maxBodyBytes: settings.maxBodyBytes,
    receiveTimeoutMs: hasOwnLimits && settings.receiveTimeoutSeconds * 1000,
    hasOwnLimits,
  });
  const limits = hasOwnLimits === undefined ? settings : { ...settings, receiveTimeoutSeconds: 0 };
  const upgrades = hasOwnLimits === undefined ? {} : upgradeOptions;
  const server = createHttpServer(inFlight, limits, log, classes, upgrades);
  if (hasOwnLimits !== undefined) acceptUpgrades(server, inFlight.listener);
  if (settings.maxConnections !== undefined) server.maxConnections = settings.maxConnections;
  const work = createWork(
    plugins.work,
    all.flatMap((each) => each.schemas ?? []),
    (key) => settingOf(resolved.plugins, config.plugin, key),
    log,
  );
  const runner = createRunner({
    server,
    inFlight,
    hooks,
    health,
    work,
    logger: () => log,
    host: settings.host,
    port: settings.port,
    drainDelayMs: settings.drainDelaySeconds * 1000,
    shutdownTimeoutMs: settings.shutdownTimeoutSeconds * 1000,
  });
  let untie: (() => void) | undefined;

  async function stop(): Promise<number> {
    const code = await runner.stop();
    untie?.();
    return code;
  }

  const bare = {
    app,
    server,
    config,
    log,
    health,
    get address() {
      return runner.address;
    },
    onStop: hooks.add,
    async start() {
      log.info({ config: describeConfig(config) }, "starting");
      if (resolved.signals) untie ??= handleSignals(runner, () => log);
      try {
        await runner.start();
      } catch (error) {
        untie?.();
        untie = undefined;
        throw error;
      }
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
  const service = Object.defineProperties(
    { ...plugins.parts },
    Object.getOwnPropertyDescriptors(bare),
  ) as unknown as Service;
  return { service, framework, inFlight };
}

function originsOf(port: number): readonly string[] {
  return port === 0
    ? []
    : ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]"].map((host) => `http://${host}:${port}`);
}

// Existing layers would respond before the request id, the limits and the security headers apply.
function refuseLayers(app: Express): void {
  const layers = layerCount(app);
  if (layers === 0) return;
  const message = `already has ${layers} routes or middleware, which would run before the service's own; register them in routes(app)`;
  throw new ConfigurationError("createService()", [{ key: "app", message }]);
}
