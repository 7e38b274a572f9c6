export { checkConformance, type Environment } from "./conformance.ts";
export type { ConformanceReport, Finding, Outcome, Verdict } from "./conformance-report.ts";
export { InvalidUse } from "./faults.ts";
export { notChecked, type NotChecked } from "./not-checked.ts";
export type { Algorithm, Feature, Probe } from "./option-values.ts";
export type {
  ConformanceOptions,
  DependencyProbe,
  FederatedProbe,
  HookProbe,
  Keys,
  Limits,
  Probes,
  RotationProbe,
  SessionProbe,
  StoreProbe,
  TenancySettings,
} from "./options.ts";
export { asJUnit, asTable } from "./report.ts";
export { type Rule, rules } from "./rules.ts";
