export { setUpgrade, type Upgrade, upgradeOf } from "./upgrade.ts";
export { compose } from "./compose.ts";
export { definePlugin, type PluginDraft } from "./define-plugin.ts";
export { joinPlugins, type JoinedPlugin, type Together } from "./join-plugins.ts";
export { mergeParts } from "./merge-parts.ts";
export { faultsOfParts, isStop } from "./parts-faults.ts";
export type { AnyPlugin, CodeEntries, PartsOf, Plugin, PluginContext, ServiceFacts } from "./plugin.ts";
export { spanPart } from "./span-part.ts";
export {
  type BackgroundPart,
  type FrameworkRoute,
  type JobHandlers,
  type JobSchedules,
  type PluginParts,
  type SchemaPart,
  type StopHook,
  type StopPhase,
  stopPhases,
} from "./slots.ts";
