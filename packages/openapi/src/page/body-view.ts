import { bodyText, isJson } from "./curl.ts";
import { cut, fieldsOf, jsonOf, type Resolve, textOf } from "./document-shape.ts";
import { exampleOf } from "./example.ts";
import { type Html, markup } from "@svc/html";
import { schemaList } from "./schema-list.ts";
import { schemaText } from "./schema-text.ts";

const LONGEST_TYPE = 200;
const LONGEST_DESCRIPTION = 4000;
const LONGEST_SAMPLE = 8000;

export interface Body {
  readonly types: readonly string[];
  readonly required: boolean;
  readonly description: string;
  readonly schema: unknown;
  /** The JSON media type, or else the first one, with its example both as sent and as shown. */
  readonly sample: { readonly type: string; readonly text: string; readonly shown: string } | undefined;
}

export function bodyOf(value: unknown, resolve: Resolve): Body | undefined {
  if (value === undefined) return undefined;
  const { fields } = resolve(value);
  const contents = Object.entries(fieldsOf(fields["content"]));
  const [type, content] = contents.find(([each]) => isJson(each)) ?? contents[0] ?? [];
  const media = resolve(content).fields;
  const isJsonType = type !== undefined && isJson(type);
  const example = exampleOf(media, resolve) ?? (isJsonType ? {} : "");
  const whole = type === undefined ? "" : bodyText(type, example);
  // Omit an example that is too long, because a part of it would not be a valid body.
  const text = whole.length > LONGEST_SAMPLE ? "" : whole;
  return {
    types: contents.map(([each]) => cut(each, LONGEST_TYPE)),
    required: fields["required"] === true,
    description: textOf(fields["description"], LONGEST_DESCRIPTION),
    schema: media["schema"],
    sample:
      type === undefined
        ? undefined
        : { type, text, shown: text !== "" && isJsonType ? jsonOf(example, 2) : text },
  };
}

export function bodyView({ types, required, description, schema, sample }: Body, resolve: Resolve): Html {
  return markup`<h4>Request body</h4>
${description !== "" && markup`<p class="text">${description}</p>`}<p>${required ? "Required" : "Optional"}${types.length > 0 && `, ${types.join(" or ")}`}: <span class="type">${schemaText(schema, resolve)}</span></p>
${schemaList(schema, resolve)}${
    sample !== undefined &&
    markup`<pre class="body" data-type="${sample.type}">
${sample.shown}</pre>`
  }
`;
}
