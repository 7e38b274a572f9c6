import type { Table } from "@svc/config";
import { boolean, listOf, string, withDefault } from "@svc/options";
import { accessLog } from "@svc/log";
import type { PluginParts, ServiceLogger } from "./plugin.ts";

/** `[plugin.observability]`. Request ids and problems are part of every service, with or without it. */
export interface ObservabilitySettings {
  /** Whether every request gets a log line at level INFO. Default: true. */
  readonly accessLog: boolean;
  /** Paths without this line, for example those of probes. Default: none. */
  readonly quietPaths: readonly string[];
}

export const observabilityTable: Table<ObservabilitySettings> = {
  keys: {
    accessLog: { key: "access_log", kind: withDefault(boolean(), true) },
    quietPaths: {
      key: "quiet_paths",
      kind: withDefault(listOf(string({ pattern: /^\//, expects: "a path that begins with /" })), []),
    },
  },
};

/** Returns the middleware that writes the access line. */
export function observability(settings: ObservabilitySettings, logger: ServiceLogger): PluginParts {
  return { edge: settings.accessLog ? accessLog({ logger, quietPaths: settings.quietPaths }) : undefined };
}
