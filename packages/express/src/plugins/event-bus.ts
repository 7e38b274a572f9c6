import type { Table } from "@svc/config";
import type { Logger } from "@svc/context";
import type { EventBus } from "@svc/events";
import { ConfigurationError } from "@svc/options";
import { type EventsSettings, eventsTable } from "./events-table.ts";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext } from "./plugin.ts";

/** The settings of an adapter by the names of its options, so that its faults are called by their keys. */
interface RedisOptions {
  readonly redis: string | undefined;
  readonly prefix: string;
}

interface NatsOptions {
  readonly servers: string | undefined;
  readonly stream: string;
}

const { url, keyPrefix, stream } = eventsTable.keys;
const redisTable: Table<RedisOptions> = { keys: { redis: url, prefix: keyPrefix } };
const natsTable: Table<NatsOptions> = { keys: { servers: url, stream } };

/** What carries events to other services; undefined for none. Its packages are loaded here and nowhere else. */
export async function eventBus(
  settings: EventsSettings,
  { logger, profile }: PluginContext,
): Promise<EventBus | undefined> {
  if (settings.bus === "none" || settings.url === undefined) return undefined;
  return settings.bus === "redis"
    ? redisBus(settings, settings.url, logger, profile)
    : natsBus(settings, settings.url, logger, profile);
}

async function redisBus(
  { keyPrefix: prefix }: EventsSettings,
  redis: string,
  logger: Logger,
  profile: PluginContext["profile"],
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
  profile: PluginContext["profile"],
): Promise<EventBus> {
  const { createNatsJetStreamBus } = await installed(
    "nats",
    ["@nats-io/transport-node", "@nats-io/jetstream"],
    () => import("@svc/events/nats-jetstream"),
  );
  const by = { plugin: "events", table: natsTable, profile, maker: "createNatsJetStreamBus()" } as const;
  return namedAsConfigured(by, () => createNatsJetStreamBus({ servers, stream: name, logger }));
}

/** The packages of a bus are installed by whoever uses it. */
async function installed<T>(bus: string, packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `${bus} needs packages that are not installed: npm install ${packages.join(" ")}`;
    throw new ConfigurationError("the service", [{ key: "plugin.events.bus", message }]);
  }
}
