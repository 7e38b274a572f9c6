import { ConfigurationError, type Fault } from "@svc/options";
import { definePlugin, type PluginContext, type PluginParts, spanPart } from "@svc/plugin";
import type { Database } from "@svc/sql";
import { ragOptions, type RagSettings } from "./plugin-options.ts";
import type { IngestQueue } from "./service/bound-search.ts";
import type { RagMembers } from "./plugin-parts.ts";

export type { Embed } from "./embed.ts";
export type { RagMembers, RagTools } from "./plugin-parts.ts";

/** `[plugin.rag]`: semantic and text search within the tenant of a request, as `service.search`. */
export const ragPlugin = definePlugin({
  name: "rag",
  uses: ["database", "queue", "metrics", "telemetry", "tenancy"],
  options: ragOptions,
  start: startRag,
});

async function startRag(context: PluginContext<RagSettings>): Promise<PluginParts<RagMembers>> {
  const { options, attempt, part, code, isEnabled } = context;
  const db = code<{ readonly db: Database | undefined }>("work")?.db ?? part<Database>("db");
  const { embed } = options;
  await attempt(() => refuseLacks(context, db));
  const { ragParts } = await import("./plugin-parts.ts");
  return ragParts(context, {
    db,
    // Without an embedder, the service does not start.
    embed: embed ?? (() => []),
    queue: part<IngestQueue>("jobs"),
    span: spanPart(context),
    rowSecurity: options.rowSecurity ?? isEnabled("tenancy"),
  });
}

function refuseLacks(
  { options, service, isEnabled, nameOf }: PluginContext<RagSettings>,
  db: Database | undefined,
): void {
  const { embed, embeddedFolder, tenant } = options;
  const faults: Fault[] = [];
  const add = (option: string, message: string): void => void faults.push({ key: nameOf(option), message });
  if (embed === undefined) {
    faults.push({ key: "plugin.rag", message: "has no embedder: pass rag.embed to createService()" });
  }
  if (isEnabled("tenancy") && tenant !== undefined) {
    add("tenant", "must not be set while the plugin tenancy is enabled: the request or job has the tenant");
  }
  if (!isEnabled("tenancy") && tenant === undefined) {
    add("tenant", 'is required without the plugin tenancy: set it to "-" for a service without tenants');
  }
  if (embeddedFolder !== "" && service.env === "prod") {
    add("embeddedFolder", "must not be set in prod: use a PostgreSQL server with pgvector");
  }
  // The plugin database reports its invalid options itself.
  if (db === undefined && embeddedFolder === "" && !isEnabled("database")) {
    const message =
      "contains rag, which needs a database: add database, or pass your own db to createService()";
    faults.push({ key: "plugins.enabled", message });
  }
  if (faults.length > 0) throw new ConfigurationError("the service", faults);
}
