import type { Environment } from "@svc/config";
import type { Middleware, ReadinessCheck } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  type Definition,
  either,
  func,
  type Kind,
  listOf,
  objectWith,
  oneOf,
  optional,
  type OptionsOf,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import type { LineDestination } from "@svc/log";
import type { Schedules } from "@svc/scheduler";
import type { Express } from "express";
import type { AnyPlugin, CodeEntries } from "@svc/plugin";
import type { AuthCode } from "./plugins/auth.ts";
import { builtInPlugins } from "./plugins/built-in.ts";
import { codeOptions, pluginKind, refuseNames } from "./plugins/code-options.ts";
import type { JobCode, JobDatabase, ServiceRole } from "./plugins/job-code.ts";
import type { OwnPlugins, Service } from "./service.ts";
import { type QueueCode, resolveJobCode, type ServiceJobs, type ServiceSubscribers } from "./service-jobs.ts";

/** The options of own plugins in code, by the name of the plugin. */
type CodeOf<P extends OwnPlugins> = {
  readonly [N in keyof P]?: OptionsOf<Definition<CodeEntries<P[N]["options"]["keys"]>>> | undefined;
};

/**
 * Options of {@link createService}. The TOML file has the settings of the environment, these options have the code. An own
 * plugin has its options in code under its name.
 */
export type ServiceOptions<P extends OwnPlugins = Record<never, never>> = BuiltInOptions<P> & CodeOf<P>;

interface BuiltInOptions<P extends OwnPlugins> {
  /**
   * Path or URL of the TOML file, or `{ toml }` with its content. Default none: only the environment, where
   * `SVC_APP_NAME` names the service.
   */
  readonly config?: string | URL | InlineConfig | undefined;
  /** Environment variables by name. Default: those of the process. */
  readonly env?: Environment | undefined;
  /** `reduced`: no file and no plugins, only the environment (PROF-1). Default `full`. */
  readonly profile?: "full" | "reduced" | undefined;
  /** The kind of the service; `api` is the only one so far (PROF-6). Default `api`. */
  readonly kind?: "api" | undefined;
  /** Registers the application's routes. Called once, before the service starts. Default none. */
  readonly routes?: ((app: Express, service: Service<P>) => void | Promise<void>) | undefined;
  /** Own plugins, each switched on by its name in `[plugins] enabled`. Default none. */
  readonly plugins?: P | undefined;
  /** An Express application of either major to build on. Default a new one. */
  readonly app?: Express | undefined;
  /** Runs for every request, after the request id and before the routes. Default none. */
  readonly middleware?: readonly Middleware[] | undefined;
  /**
   * Options of authentication that need code: the revocation store, a second location of tokens, the refresh hook, own
   * keys, and the handlers for sign-in through providers. Needs the plugin `auth`. Default none.
   */
  readonly auth?: AuthCode | undefined;
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
   * The schedules of jobs by name: `{ cron: "30 2 * * *", zone: "Europe/Berlin", task }` or `{ everySeconds: 60, task }`.
   * Needs the plugin `queue`, and a handler in `jobs` for every task if this process runs jobs. Default none.
   */
  readonly schedules?: Schedules | undefined;
  /**
   * Whether this process answers the application's requests (`server`), runs jobs (`worker`), or both. A worker still
   * answers `/health`, `/ready`, `/info` and `/metrics`, but does not use `routes` and `middleware`. Default `both`.
   */
  readonly role?: ServiceRole | undefined;
  /** Options of the plugin `queue` that need code: the guard of its page. Default none. */
  readonly queue?: QueueCode | undefined;
  /**
   * The database of jobs and events, a pool of `pg` or a database of `@svc/database`. The caller closes it after the service
   * has stopped. Default that of the plugin `database`.
   */
  readonly db?: JobDatabase | undefined;
  /** Readiness checks of the application. Default none. */
  readonly checks?: readonly ReadinessCheck[] | undefined;
  /** The destination of log lines, for example `{ write(line) {} }`. Default standard output. */
  readonly logDestination?: LineDestination | undefined;
  /** Whether signals and uncaught errors of the process stop the service once it is started. Default true. */
  readonly signals?: boolean | undefined;
}

/** A configuration in code, for tests and for services without a file. */
export interface InlineConfig {
  readonly toml: string;
}

const fileUrl: Kind<URL> = { expects: "a file URL", accepts: (value): value is URL => value instanceof URL };
const inline: Kind<InlineConfig> = {
  expects: "{ toml } with the content of a file",
  accepts: (value): value is InlineConfig =>
    typeof value === "object" && value !== null && "toml" in value && typeof value.toml === "string",
};

/** The options with every default filled in. */
export interface ResolvedServiceOptions {
  readonly config: string | URL | InlineConfig | undefined;
  readonly env: Environment | undefined;
  readonly profile: "full" | "reduced";
  readonly routes: ServiceOptions["routes"];
  readonly app: Express | undefined;
  readonly middleware: readonly Middleware[];
  /** The built-in plugins, then the own ones. */
  readonly plugins: readonly AnyPlugin[];
  /** The options of each plugin in code. */
  readonly codeOf: (plugin: AnyPlugin) => Readonly<Record<string, unknown>>;
  /** The names of plugins with options in code. */
  readonly withCode: readonly string[];
  readonly work: JobCode;
  readonly checks: readonly ReadinessCheck[];
  readonly logDestination: LineDestination | undefined;
  readonly signals: boolean;
}

const kinds = {
  config: optional(either(string(), either(fileUrl, inline))),
  env: optional(secret(objectWith<Environment>("an object of environment variables by name"))),
  profile: withDefault(oneOf("full", "reduced"), "full"),
  kind: withDefault(oneOf("api"), "api"),
  routes: optional(func<NonNullable<ServiceOptions["routes"]>>()),
  plugins: withDefault(pluginKind, {}),
  app: optional(objectWith<Express>("an Express application", "use", "set", "get")),
  middleware: withDefault(listOf(func<Middleware>()), []),
  jobs: optional(objectWith<ServiceJobs>("an object with a handler for every task")),
  subscribers: optional(objectWith<ServiceSubscribers>("an object of subscribers by type of event")),
  schedules: optional(objectWith<Schedules>("an object of schedules by name")),
  role: withDefault(oneOf("server", "worker", "both"), "both"),
  db: optional(objectWith<JobDatabase>("a pool or a database")),
  checks: withDefault(listOf(objectWith<ReadinessCheck>("a readiness check", "check")), []),
  logDestination: optional(objectWith<LineDestination>("a destination", "write")),
  signals: withDefault(boolean(), true),
};

/** The members of a service and options that no plugin may be named after. */
const reserved = [...Object.keys(kinds), "start", "stop", "server", "health", "log", "address", "onStop"];

/** @throws ConfigurationError */
export function resolveServiceOptions(
  given: object | undefined,
  serviceOf: () => Service,
): ResolvedServiceOptions {
  const { plugins: own = {} } = (given ?? {}) as { readonly plugins?: unknown };
  const plugins = [...builtInPlugins, ...(pluginKind.accepts(own) ? Object.values(own) : [])] as AnyPlugin[];
  const codeKinds = Object.fromEntries(
    plugins.map(({ name, options }) => [
      name,
      optional(objectWith<object>(codeText(Object.entries(options.keys)))),
    ]),
  );
  const { jobs, subscribers, schedules, role, db, ...resolved } = resolveOptions("createService()", given, {
    ...codeKinds,
    ...kinds,
  });
  if (resolved.profile === "reduced" && resolved.config !== undefined) {
    const message = "is read by the full profile only; the reduced one is configured by the environment";
    throw new ConfigurationError("createService()", [{ key: "config", message }]);
  }
  refuseNames(resolved.plugins, builtInPlugins, reserved);
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

function codeText(entries: readonly (readonly [string, object])[]): string {
  const names = entries.flatMap(([name, entry]) => ("key" in entry ? [] : [name]));
  return `an object { ${names.join(", ")} }`;
}
