import { type Environment, variable } from "./environment.ts";
import type { FaultList } from "./fault-list.ts";
import { keyName } from "./masking.ts";

/** A table from the file, without a prototype, after its references were replaced. */
export interface FileTable {
  readonly [key: string]: unknown;
}

/** The content of the file, after its references were replaced. */
export interface Resolved {
  readonly root: FileTable;
  /** Keys (in the format of `keyName`) whose values contain text from the environment. */
  readonly fromEnvironment: ReadonlySet<string>;
  /** Keys with a reference that could not be replaced; their faults are already in the list. */
  readonly broken: ReadonlySet<string>;
  /** Variables that the file refers to. */
  readonly variables: ReadonlySet<string>;
}

// This depth exceeds that of every key that a table defines.
const deepest = 16;

/**
 * Copies the parsed document with `${NAME}` and `${NAME:-default}` replaced in every string (`$${` is a literal `${`).
 * Replacements are not searched for references again. Adds a fault for a variable that is not set, a malformed
 * reference, and a key that could reach a prototype. No fault shows the string.
 */
export function resolveReferences(document: object, env: Environment, faults: FaultList): Resolved {
  const fromEnvironment = new Set<string>();
  const broken = new Set<string>();
  const variables = new Set<string>();

  function refuse(path: readonly string[], reason: string): void {
    broken.add(keyName(path));
    faults.add(keyName(path), () => reason);
  }

  function copyTable(table: object, path: readonly string[]): FileTable {
    const copy: Record<string, unknown> = Object.create(null);
    for (const [key, value] of Object.entries(table)) {
      const at = [...path, key];
      if (key === "__proto__" || key === "constructor") {
        refuse(at, "is not allowed as the name of a key");
      } else {
        copy[key] = copyValue(value, at, at.length);
      }
    }
    return copy;
  }

  function copyValue(value: unknown, path: readonly string[], depth: number): unknown {
    if (typeof value === "string") return replace(value, path);
    if (typeof value !== "object" || value === null || value instanceof Date) return value;
    if (depth >= deepest) {
      refuse(path, `is nested deeper than ${deepest} levels`);
      return undefined;
    }
    if (Array.isArray(value)) return value.map((each) => copyValue(each, path, depth + 1));
    return copyTable(value, path);
  }

  function replace(text: string, path: readonly string[]): string {
    if (!text.includes("${")) return text;
    return text.replaceAll(reference, (whole, escaped?: string, name?: string, otherwise?: string) => {
      if (escaped !== undefined) return "${";
      if (name === undefined) {
        refuse(path, 'contains "${" without NAME} or NAME:-default}; write a literal "${" as "$${"');
        return whole;
      }
      fromEnvironment.add(keyName(path));
      variables.add(name);
      const value = variable(env, name) ?? otherwise;
      if (value === undefined) refuse(path, `names the environment variable ${name}, which is not set`);
      return value ?? "";
    });
  }

  return { root: copyTable(document, []), fromEnvironment, broken, variables };
}

// Matches an escaped opening, a well-formed reference (with a default without braces), or any other opening.
const reference = /\$(\$\{)|\$\{(?:([A-Za-z_]\w*)(?::-([^{}]*))?\})?/g;
