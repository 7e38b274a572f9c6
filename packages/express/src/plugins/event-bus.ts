import type { Logger } from "@svc/context";
import type { EventBus } from "@svc/events";
import { ConfigurationError } from "@svc/options";
import { type EventsSettings, eventsOptions } from "./events-table.ts";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, ServiceFacts } from "@svc/plugin";

/** The settings of an adapter by the names of its options, so that its faults can name the keys of the file. */
const { url, keyPrefix, stream } = eventsOptions.keys;
const redisTable = { keys: { redis: url, prefix: keyPrefix } };
const natsTable = { keys: { servers: url, stream } };

/** Returns the bus that carries events to other services, or undefined. Only this function loads the packages of a bus. */
export async function eventBus({
  options: settings,
  logger,
  service: { profile },
}: PluginContext<EventsSettings>): Promise<EventBus | undefined> {
  if (settings.bus === "none" || settings.url === undefined) return undefined;
  return settings.bus === "redis"
    ? redisBus(settings, settings.url, logger, profile)
    : natsBus(settings, settings.url, logger, profile);
}

async function redisBus(
  { keyPrefix: prefix }: EventsSettings,
  redis: string,
  logger: Logger,
  profile: ServiceFacts["profile"],
): Promise<EventBus> {
  const { createRedisStreamsBus } = await installed(
    "redis",
    ["ioredis"],
    () => import("@svc/events/redis-streams"),
  );
  const by = { plugin: "events", table: redisTable, profile, maker: "createRedisStreamsBus()" } as const;
  return namedAsConfigured(by, () => createRedisStreamsBus({ redis, prefix, logger }));
}

async function natsBus(
  { stream: name }: EventsSettings,
  servers: string,
  logger: Logger,
  profile: ServiceFacts["profile"],
): Promise<EventBus> {
  const { createNatsJetStreamBus } = await installed(
    "nats",
    ["@nats-io/transport-node", "@nats-io/jetstream"],
    () => import("@svc/events/nats-jetstream"),
  );
  const by = { plugin: "events", table: natsTable, profile, maker: "createNatsJetStreamBus()" } as const;
  return namedAsConfigured(by, () => createNatsJetStreamBus({ servers, stream: name, logger }));
}

/** Loads a bus; when its packages are not installed, the error shows the command to install them. */
async function installed<T>(bus: string, packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `${bus} needs packages that are not installed: npm install ${packages.join(" ")}`;
    throw new ConfigurationError("the service", [{ key: "plugin.events.bus", message }]);
  }
}
