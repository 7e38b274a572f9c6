import { boolean, defineOptions, listOf, string, withDefault } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { accessLog } from "./access-log.ts";

/** `[plugin.observability]`: the access line. Request ids and problems are part of every service, with or without it. */
export const observabilityPlugin = definePlugin({
  name: "observability",
  options: defineOptions("[plugin.observability]", {
    /** Whether every request gets a log line at level INFO. Default: true. */
    accessLog: { key: "access_log", kind: withDefault(boolean(), true) },
    /** Paths without this line, for example those of probes. Default: none. */
    quietPaths: {
      key: "quiet_paths",
      kind: withDefault(listOf(string({ pattern: /^\//, expects: "a path that begins with /" })), []),
    },
  }),
  start({ options: { accessLog: isOn, quietPaths }, logger }) {
    return { edge: isOn ? accessLog({ logger, quietPaths }) : undefined };
  },
});
