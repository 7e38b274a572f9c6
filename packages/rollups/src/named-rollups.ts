import { ConfigurationError, type Fault } from "@svc/options";
import type { Definition } from "./definition.ts";
import { definitionOf, type Rollup } from "./rollup.ts";

/** A rollup under the name that its user has given it. */
export interface NamedRollup {
  readonly name: string;
  readonly rollup: Rollup;
  readonly definition: Definition;
}

/**
 * Returns the rollups of an object.
 *
 * @param option name of the object, for faults
 * @throws ConfigurationError for values that are not from `defineRollup()`, and for two rollups with one table or one name
 */
export function resolveRollups(
  subject: string,
  option: string,
  rollups: Readonly<Record<string, Rollup>>,
): readonly NamedRollup[] {
  const faults: Fault[] = [];
  const named: NamedRollup[] = [];
  for (const [name, rollup] of Object.entries(rollups)) {
    const key = `${option}.${name}`;
    const definition = definitionOf(rollup);
    if (definition === undefined) {
      faults.push({ key, message: "must be a rollup returned by defineRollup()" });
      continue;
    }
    const sameTable = named.find((each) => each.definition.givenTable === definition.givenTable);
    const sameName = named.find((each) => each.definition.name === definition.name);
    if (sameTable !== undefined) {
      const message = `has the table ${definition.givenTable}, as ${option}.${sameTable.name}; choose another table`;
      faults.push({ key, message });
    } else if (sameName !== undefined) {
      const message = `has the name ${definition.name}, as ${option}.${sameName.name}; their jobs would have one task: rename it`;
      faults.push({ key, message });
    }
    named.push({ name, rollup, definition });
  }
  if (faults.length > 0) throw new ConfigurationError(subject, faults);
  return named;
}
