import { type Member, membersOf, type Shape } from "../../src/options.ts";
import { fileName } from "../../src/shape-faults.ts";

/** The shapes that each README table documents, with the prefixes of their members' names. */
const tables: readonly (readonly (readonly [shape: Shape, prefix: string])[])[] = [
  [["keys", ""]],
  [
    ["probes", ""],
    ["dependency", "dependencies."],
    ["tenancy", "tenancy."],
    ["limits", "limits."],
  ],
  [
    ["limited", ""],
    ["limitStore", "limit_store."],
  ],
  [
    ["session", ""],
    ["hook", "hook."],
    ["store", "store."],
    ["rotation", "rotation."],
  ],
  [["options", ""]],
];

/** Returns the rows of each table that documents options, as Markdown without alignment. */
export function readmeTables(): readonly (readonly string[])[] {
  return tables.map((shapes) =>
    shapes.flatMap(([shape, prefix]) =>
      Object.entries(membersOf(shape)).map(
        ([name, member]) =>
          `| \`${prefix}${shape === "options" ? name : fileName(name)}\` | ${defaultOf(member)} | ${member.meaning} |`,
      ),
    ),
  );
}

function defaultOf({ required, default: value, otherwise }: Member): string {
  if (required === true) return "required";
  if (otherwise !== undefined) return otherwise;
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) return "none";
  if (typeof value === "number") return String(value);
  return `\`${typeof value === "string" ? value : JSON.stringify(value).replaceAll(",", ", ")}\``;
}
