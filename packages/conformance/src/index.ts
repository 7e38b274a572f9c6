export type { Finding } from "./check.ts";
export { checkConformance, type ConformanceReport, type Environment } from "./conformance.ts";
export { InvalidUse } from "./faults.ts";
export { notChecked, type NotChecked } from "./not-checked.ts";
export type {
  Algorithm,
  ConformanceOptions,
  DependencyProbe,
  Feature,
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
export type { Probe } from "./requests.ts";
export type { Outcome } from "./outcome.ts";
export { asJUnit, asTable } from "./report.ts";
export { type Rule, rules } from "./rules.ts";
export type { Verdict } from "./verdict.ts";
