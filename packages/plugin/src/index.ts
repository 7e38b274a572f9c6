export { definePlugin, type PluginDraft } from "./define-plugin.ts";
export type { AnyPlugin, CodeEntries, PartsOf, Plugin, PluginContext, ServiceFacts } from "./plugin.ts";
export type {
  BackgroundPart,
  FrameworkRoute,
  JobHandlers,
  PluginParts,
  SchemaPart,
  StopHook,
  StopPhase,
} from "./slots.ts";
