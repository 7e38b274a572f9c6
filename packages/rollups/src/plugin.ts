import { ConfigurationError, type Fault } from "@svc/options";
import { definePlugin, type PluginContext, type PluginParts } from "@svc/plugin";
import type { Database } from "@svc/sql";
import { rollupsOptions, type RollupsMembers, type RollupsSettings } from "./plugin-options.ts";
import type { VerifierQueue } from "./verifier.ts";

export type { RollupTools } from "./plugin-parts.ts";
export type { RollupDraft, RollupsMembers, ServiceRollups } from "./plugin-options.ts";

/** `[plugin.rollups]`: monthly totals as `service.rollups`, their tables, jobs and verification. */
export const rollupsPlugin = definePlugin({
  name: "rollups",
  uses: ["database", "queue", "metrics"],
  options: rollupsOptions,
  start: startRollups,
});

async function startRollups(context: PluginContext<RollupsSettings>): Promise<PluginParts<RollupsMembers>> {
  const { options, part, code, isEnabled, nameOf, attempt } = context;
  const db = code<{ readonly db: Database | undefined }>("work")?.db ?? part<Database>("db");
  const jobs = part<VerifierQueue>("jobs");
  const faults = faultsOf(options, { db, hasQueue: isEnabled("queue"), isEnabled, nameOf });
  await attempt(() => refuse(faults));
  const { resolveServiceRollups, rollupParts } = await import("./plugin-parts.ts");
  const named = await attempt(() => resolveServiceRollups(options));
  // A queue or a database that could not be created reports its own faults.
  const lacksQueue = jobs === undefined && isEnabled("queue");
  if (faults.length > 0 || named === undefined || db === undefined || lacksQueue)
    return { parts: { rollups: {} } };
  return rollupParts(context, named, db, jobs);
}

interface Surroundings extends Pick<PluginContext, "isEnabled" | "nameOf"> {
  readonly db: Database | undefined;
  readonly hasQueue: boolean;
}

function faultsOf(
  { refresh, verifyEverySeconds, rollups }: RollupsSettings,
  { db, hasQueue, isEnabled, nameOf }: Surroundings,
): readonly Fault[] {
  const faults: Fault[] = [];
  if (Object.keys(rollups).length === 0) {
    const message = "contains rollups, which has no rollups: pass rollups to createService()";
    faults.push({ key: "plugins.enabled", message });
  }
  if (db === undefined && !isEnabled("database")) {
    const message =
      "contains rollups, which needs a database: add database, or pass your own db to createService()";
    faults.push({ key: "plugins.enabled", message });
  }
  if (hasQueue) return faults;
  if (refresh === "job") {
    faults.push({ key: nameOf("refresh"), message: 'is "job", which needs the plugin queue: enable it' });
  }
  if (verifyEverySeconds > 0) {
    const message = `is ${verifyEverySeconds}, but jobs verify the totals: enable the plugin queue, or set it to 0`;
    faults.push({ key: nameOf("verifyEverySeconds"), message });
  }
  return faults;
}

function refuse(faults: readonly Fault[]): void {
  if (faults.length > 0) throw new ConfigurationError("the service", faults);
}
