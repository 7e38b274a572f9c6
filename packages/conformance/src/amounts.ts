import { checks } from "./checks/index.ts";
import { requirable } from "./needs.ts";
import type { ConformanceOptions } from "./options.ts";

/** Returns the faults in the options that say how much a run must see. */
export function amountFaults({ require = [], maxNotApplicable }: ConformanceOptions): readonly string[] {
  if (!Array.isArray(require))
    return [`require: ${JSON.stringify(require)} is not allowed; give a list of names`];
  const known = requirable(checks);
  const unknown = require.filter((name) => !known.includes(name));
  const isAmount =
    maxNotApplicable === undefined || (Number.isInteger(maxNotApplicable) && maxNotApplicable >= 0);
  return [
    ...unknown.map(
      (name) =>
        `require: ${JSON.stringify(name)} is not something that this kit can see; allowed are ${known.join(", ")}`,
    ),
    ...(isAmount
      ? []
      : [`maxNotApplicable: ${maxNotApplicable} is not allowed; give a whole number from 0 on`]),
  ];
}
