import type { Environment } from "@svc/config";
import type { Middleware, ReadinessCheck } from "@svc/context";
import {
  ConfigurationError,
  defineOptions,
  type Definition,
  kinds as k,
  type OptionEntries,
  type OptionsOf,
  type ResolvedOptions,
} from "@svc/options";
import type { LineDestination } from "@svc/log";
import type { Schedules } from "@svc/scheduler";
import type { Express } from "express";
import type { AnyPlugin, CodeEntries } from "@svc/plugin";
import { builtInPlugins } from "./plugins/built-in.ts";
import { codeObject, codeOptions, pluginKind, refuseNames } from "./plugins/code-options.ts";
import { type KeysOf, type OwnPlugins, type Service, serviceMembers } from "./service.ts";
import {
  type JobCode,
  type JobDatabase,
  resolveJobCode,
  type ServiceJobs,
  type ServiceSubscribers,
} from "./service-jobs.ts";

type CodeIn<E extends OptionEntries> = OptionsOf<Definition<CodeEntries<E>>>;

/**
 * The options of `[plugin.auth]` that need code. With `issue_tokens`, `revocation` must be a complete token store, because
 * sign-outs are written to it (ISS-5). The service does not stop it.
 */
export type AuthCode = CodeIn<KeysOf<"auth">>;

/** The options of `[plugin.queue]` that need code. */
export type QueueCode = CodeIn<KeysOf<"queue">>;

/** The options of own plugins in code, by the name of the plugin. */
type CodeOf<P extends OwnPlugins> = {
  readonly [N in keyof P]?: CodeIn<P[N]["options"]["keys"]> | undefined;
};

/**
 * Options of {@link createService}. The TOML file has the settings of the environment, these options have the code. An own
 * plugin has its options in code under its name.
 */
export type ServiceOptions<P extends OwnPlugins = Record<never, never>> = BuiltInOptions<P> & CodeOf<P>;

/**
 * The options that no plugin has. Some are written out: `routes` and `plugins` know the own plugins, and the declaration of
 * a derived type would make the parameters of handlers strict.
 */
interface BuiltInOptions<P extends OwnPlugins> extends Omit<
  OptionsOf<typeof serviceOptions>,
  "routes" | "plugins" | "jobs" | "subscribers"
> {
  /** Registers the application's routes. Called once, before the service starts. Default none. */
  readonly routes?: ((app: Express, service: Service<P>) => void | Promise<void>) | undefined;
  /** Own plugins, each switched on by its name in `[plugins] enabled`. Default none. */
  readonly plugins?: P | undefined;
  /**
   * The handlers by task, `(payload, job, service) => ...`. Needs the plugin `queue`. Default none: this process runs no
   * jobs.
   */
  readonly jobs?: ServiceJobs | undefined;
  /**
   * The subscribers by event type and name, `(event, job, service) => ...`; each runs as a job. Needs the plugins `events`
   * and `queue`. Default none.
   */
  readonly subscribers?: ServiceSubscribers | undefined;
  /**
   * Options of authentication that need code: the revocation store, a second location of tokens, the refresh hook, own
   * keys, and the handlers for sign-in through providers. Needs the plugin `auth`. Default none.
   */
  readonly auth?: AuthCode | undefined;
  /** Options of the plugin `queue` that need code: the guard of its page. Default none. */
  readonly queue?: QueueCode | undefined;
}

/** A configuration in code, for tests and for services without a file. */
export interface InlineConfig {
  readonly toml: string;
}

const fileUrl: k.Kind<URL> = {
  expects: "a file URL",
  accepts: (value): value is URL => value instanceof URL,
};
const inline: k.Kind<InlineConfig> = {
  expects: "{ toml } with the content of a file",
  accepts: (value): value is InlineConfig =>
    typeof value === "object" && value !== null && "toml" in value && typeof value.toml === "string",
};

const serviceOptions = defineOptions("createService()", {
  /**
   * Path or URL of the TOML file, or `{ toml }` with its content. Default none: only the environment, where
   * `SVC_APP_NAME` names the service.
   */
  config: { kind: k.optional(k.either(k.string(), k.either(fileUrl, inline))) },
  /** Environment variables by name. Default: those of the process. */
  env: {
    kind: k.optional(k.secret(k.objectWith<Environment>("an object of environment variables"))),
  },
  /** `reduced`: no file and no plugins, only the environment (PROF-1). Default `full`. */
  profile: { kind: k.withDefault(k.oneOf("full", "reduced"), "full") },
  /** The kind of the service; `api` is the only one so far (PROF-6). Default `api`. */
  kind: { kind: k.withDefault(k.oneOf("api"), "api") },
  routes: { kind: k.optional(k.func<(app: Express, service: Service) => void | Promise<void>>()) },
  plugins: { kind: k.withDefault(pluginKind, {}) },
  /** An Express application of either major to build on. Default a new one. */
  app: { kind: k.optional(k.objectWith<Express>("an Express application", "use", "set", "get")) },
  /** Runs for every request, after the request id and before the routes. Default none. */
  middleware: { kind: k.withDefault(k.listOf(k.func<Middleware>()), []) },
  jobs: { kind: k.optional(k.objectWith<ServiceJobs>("an object with a handler for every task")) },
  subscribers: {
    kind: k.optional(k.objectWith<ServiceSubscribers>("an object of subscribers by event type")),
  },
  /**
   * The schedules of jobs by name: `{ cron: "30 2 * * *", zone: "Europe/Berlin", task }` or `{ everySeconds: 60, task }`.
   * Needs the plugin `queue`, and a handler in `jobs` for every task if this process runs jobs. Default none.
   */
  schedules: { kind: k.optional(k.objectWith<Schedules>("an object of schedules by name")) },
  /**
   * Whether this process answers the application's requests (`server`), runs jobs (`worker`), or both. A worker still
   * answers `/health`, `/ready`, `/info` and `/metrics`, but does not use `routes` and `middleware`. Default `both`.
   */
  role: { kind: k.withDefault(k.oneOf("server", "worker", "both"), "both") },
  /**
   * The database of jobs and events, a pool of `pg` or a database of `@svc/database`. The caller closes it after the service
   * has stopped. Default that of the plugin `database`.
   */
  db: { kind: k.optional(k.objectWith<JobDatabase>("a pool or a database")) },
  /** Readiness checks of the application. Default none. */
  checks: { kind: k.withDefault(k.listOf(k.objectWith<ReadinessCheck>("a readiness check", "check")), []) },
  /** The destination of log lines, for example `{ write(line) {} }`. Default standard output. */
  logDestination: { kind: k.optional(k.objectWith<LineDestination>("a destination", "write")) },
  /** Whether signals and uncaught errors of the process stop the service once it is started. Default true. */
  signals: { kind: k.withDefault(k.boolean(), true) },
});

type Resolved = ResolvedOptions<(typeof serviceOptions)["keys"]>;

/** The options with every default filled in. */
export interface ResolvedServiceOptions extends Omit<
  Resolved,
  "plugins" | "kind" | "jobs" | "subscribers" | "schedules" | "role" | "db"
> {
  /** The built-in plugins, then the own ones. */
  readonly plugins: readonly AnyPlugin[];
  /** The options of each plugin in code. */
  readonly codeOf: (plugin: AnyPlugin) => Readonly<Record<string, unknown>>;
  /** The names of plugins with options in code. */
  readonly withCode: readonly string[];
  readonly work: JobCode;
}

/** @throws ConfigurationError */
export function resolveServiceOptions(
  given: object | undefined,
  serviceOf: () => Service,
): ResolvedServiceOptions {
  const { plugins: own = {} } = (given ?? {}) as { readonly plugins?: unknown };
  const plugins = [...builtInPlugins, ...(pluginKind.accepts(own) ? Object.values(own) : [])] as AnyPlugin[];
  const ofPlugins = Object.fromEntries(
    plugins.map((plugin) => [plugin.name, { kind: k.optional(codeObject(plugin)) }]),
  );
  const { subject, keys } = serviceOptions;
  const all = defineOptions(subject, { ...ofPlugins, ...keys }) as Definition as typeof serviceOptions;
  const { jobs, subscribers, schedules, role, db, ...resolved } = all.resolve(given);
  if (resolved.profile === "reduced" && resolved.config !== undefined) {
    const message = "is read only by the full profile; the reduced profile is configured by the environment";
    throw new ConfigurationError("createService()", [{ key: "config", message }]);
  }
  refuseNames(resolved.plugins, builtInPlugins, [...Object.keys(keys), ...serviceMembers]);
  const code = resolved as unknown as Readonly<Record<string, object | undefined>>;
  const checked = new Map(plugins.map((plugin) => [plugin.name, codeOptions(plugin, code[plugin.name])]));
  return {
    ...resolved,
    plugins,
    codeOf: ({ name }) => checked.get(name) ?? {},
    withCode: plugins.flatMap(({ name }) => (code[name] === undefined ? [] : [name])),
    work: resolveJobCode({ jobs, subscribers, schedules, role, db }, resolved.profile, serviceOf),
  };
}
