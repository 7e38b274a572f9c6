import { defineOptions, fileOptions, kinds as k } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { accessLog } from "./access-log.ts";
import { accessLogOptions } from "./options.ts";

/**
 * `[plugin.observability]`: writes access log lines. Every service has request ids and problems, even without this plugin.
 */
export const observabilityPlugin = definePlugin({
  name: "observability",
  options: defineOptions("[plugin.observability]", {
    /** Whether every request gets a log line at level INFO. Default: true. */
    accessLog: { key: "access_log", kind: k.withDefault(k.boolean(), true) },
    ...fileOptions(accessLogOptions),
  }),
  start({ options: { accessLog: isOn, ...options }, logger }) {
    return { edge: isOn ? accessLog({ ...options, logger }) : undefined };
  },
});
