import type { Controls } from "../harness/controls.ts";
import type { Case } from "../harness/subject.ts";
import type { Traced } from "./subjects/statements.ts";

/** Cases that are measured side by side. */
export interface Group {
  /** The work that a case repeats. */
  readonly unit: "request" | "query";
  readonly cases: readonly Case[];
  /** The base, and the case that repeats its measurement. */
  readonly controls: Controls;
}

/** The case with the instrumentations of all packages, which are not installed: they take 131 MB. */
export const AUTO = "auto";
/** The comparison of two heaps, which is not a case of a group. */
export const HEAP = "heap";

const REQUESTS = ["none", "no-endpoint", "memory", "sampled-out", "otlp", "stock", "stock-beside-ours"];
const STATEMENTS = ["none", "svc", "stock"] as const;
const nameOf = (by: Traced["by"]): string => `sql-${by}`;

/** All names that `--only` accepts. */
export const names: readonly string[] = [...REQUESTS, AUTO, ...STATEMENTS.map(nameOf), HEAP];

/** @throws Error that lists the known cases */
export function checkNames(only: readonly string[] | undefined): void {
  const unknown = only?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length === 0) return;
  throw new Error(`there is no case ${unknown.join(", ")}; there are ${names.join(", ")}`);
}

/**
 * Returns the chosen cases that send requests, with base and control; undefined if there are none.
 *
 * @param autoFolder the folder with the instrumentations of `auto`; without it this case is omitted
 */
export function requestCases(
  only: readonly string[] | undefined,
  autoFolder: string | undefined,
): Group | undefined {
  const at = (name: string, setting: string = name): Case => ({
    name,
    module: moduleOf("requests"),
    setting,
  });
  const auto = autoFolder === undefined ? [] : [at(AUTO, `${AUTO}:${autoFolder}`)];
  return chosen("request", [...REQUESTS.map((name) => at(name)), ...auto, at("control", "none")], only, {
    base: "none",
    names: ["control"],
  });
}

/** Returns the chosen cases that send statements, with base and control; undefined if there are none. */
export function statementCases(only: readonly string[] | undefined, databaseUrl: string): Group | undefined {
  const at = (by: Traced["by"], name: string = nameOf(by)): Case => ({
    name,
    module: moduleOf("statements"),
    setting: JSON.stringify({ by, url: databaseUrl } satisfies Traced),
  });
  return chosen("query", [...STATEMENTS.map((by) => at(by)), at("none", "sql-control")], only, {
    base: nameOf("none"),
    names: ["sql-control"],
  });
}

function chosen(
  unit: Group["unit"],
  cases: readonly Case[],
  only: readonly string[] | undefined,
  controls: Controls,
): Group | undefined {
  if (only === undefined) return { unit, cases, controls };
  if (!cases.some(({ name }) => only.includes(name))) return undefined;
  const always = [controls.base, ...controls.names];
  return {
    unit,
    cases: cases.filter(({ name }) => always.includes(name) || only.includes(name)),
    controls,
  };
}

function moduleOf(subject: string): URL {
  return new URL(`./subjects/${subject}.ts`, import.meta.url);
}
