export { type Algorithm, algorithms } from "./algorithms.ts";
export type { KeySource } from "./key-source.ts";
export { type RefusalReason, refusalReasons, type Refused, type Verification, type Verified } from "./verification.ts";
