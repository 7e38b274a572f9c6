import { ConfigurationError, type Fault } from "@svc/options";
import type { Definition } from "./definition.ts";
import { definitionOf, type Rollup } from "./rollup.ts";
import { ownName } from "./sql/pieces.ts";

/** A rollup and the name that its user has chosen. */
export interface NamedRollup {
  readonly name: string;
  readonly rollup: Rollup;
  readonly definition: Definition;
}

/**
 * Returns the rollups of an object.
 *
 * @param option name of the object in error messages
 * @throws ConfigurationError for values that are not from `defineRollup()`, for two rollups with the same name, and for two
 *   rollups whose tables are or may be the same because only one of them names its schema
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
    const maybeSame = named.find((each) => isAmbiguous(each.definition, definition));
    const sameName = named.find((each) => each.definition.name === definition.name);
    if (sameTable !== undefined) {
      const message = `has the table ${definition.givenTable}, as ${option}.${sameTable.name}; choose another table`;
      faults.push({ key, message });
    } else if (sameName !== undefined) {
      const message = `has the name ${definition.name}, as ${option}.${sameName.name}; their jobs would have one task: rename it`;
      faults.push({ key, message });
    } else if (maybeSame !== undefined) {
      const other = `${maybeSame.definition.givenTable} of ${option}.${maybeSame.name}`;
      const message = `has the table ${definition.givenTable}, which may be ${other}: write both with their schema, or choose another table`;
      faults.push({ key, message });
    }
    named.push({ name, rollup, definition });
  }
  if (faults.length > 0) throw new ConfigurationError(subject, faults);
  return named;
}

/**
 * Returns whether two tables have the same name and only one names its schema. The search path decides whether they are the
 * same.
 */
function isAmbiguous(one: Definition, other: Definition): boolean {
  const hasSchema = ({ givenTable }: Definition): boolean => givenTable.includes(".");
  return hasSchema(one) !== hasSchema(other) && ownName(one) === ownName(other);
}
