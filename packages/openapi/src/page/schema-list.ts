import { cut, fieldsOf, listOf, type Resolve, textOf } from "./document-shape.ts";
import { type Html, markup } from "@svc/html";
import { membersOf, schemaText } from "./schema-text.ts";

const MAX_LINES = 100;
const MAX_DEPTH = 6;
const LONGEST_NAME = 100;
const LONGEST_DESCRIPTION = 300;

/** Shows the members of a schema as nested lists; undefined for a schema without members. */
export function schemaList(schema: unknown, resolve: Resolve): Html | undefined {
  let lines = 0;

  /** @param within the components that contain this schema */
  function list(part: unknown, within: readonly string[]): Html | undefined {
    const { name, fields } = resolve(part);
    if (within.length >= MAX_DEPTH || (name !== undefined && within.includes(name))) return undefined;
    const inside = [...within, name ?? ""];
    const items: Html[] = [];
    for (const { label, schema: each, required } of partsOf(part, resolve)) {
      lines += 1;
      if (lines > MAX_LINES) {
        if (lines === MAX_LINES + 1) items.push(markup`<li>… see the document for more</li>`);
        break;
      }
      const description = textOf(resolve(each).fields["description"], LONGEST_DESCRIPTION);
      items.push(
        markup`<li>${label} <span class="type">${schemaText(each, resolve)}</span>${required && ", required"}${description !== "" && `: ${description}`}${list(each, inside)}</li>`,
      );
    }
    if (items.length > 0) return markup`<ul>${items}</ul>`;
    // For a list, show the members of its items.
    return "items" in fields ? list(fields["items"], inside) : undefined;
  }

  return list(schema, []);
}

interface ListedPart {
  readonly label: Html;
  readonly schema: unknown;
  readonly required: boolean;
}

function partsOf(schema: unknown, resolve: Resolve): readonly ListedPart[] {
  const { fields } = resolve(schema);
  const members = membersOf(schema, resolve).map(({ name, schema: each, required }) => ({
    label: markup`<code>${cut(name, LONGEST_NAME)}</code>`,
    schema: each,
    required,
  }));
  const alternatives = [...listOf(fields["oneOf"]), ...listOf(fields["anyOf"])].filter(hasMembers);
  const variants = alternatives.map((each) => ({ label: markup`either`, schema: each, required: false }));
  const rest = fields["additionalProperties"];
  const others =
    Object.keys(fieldsOf(rest)).length > 0
      ? [{ label: markup`any other`, schema: rest, required: false }]
      : [];
  return [...members, ...variants, ...others];

  function hasMembers(each: unknown): boolean {
    const { fields: variant } = resolve(each);
    return ["properties", "allOf", "oneOf", "anyOf", "items"].some((key) => key in variant);
  }
}
