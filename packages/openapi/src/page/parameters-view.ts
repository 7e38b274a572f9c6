import { textsOf } from "./curl.ts";
import { cut, type Fields, type Resolve, textOf } from "./document-shape.ts";
import { exampleOf, givenExample } from "./example.ts";
import { type Html, markup } from "@svc/html";
import { schemaText, typesOf } from "./schema-text.ts";

const LONGEST_CELL = 300;

/** A parameter as the page shows it. */
export interface Parameter {
  readonly name: string;
  readonly place: string;
  readonly required: boolean;
  /** The example in its encoded form. */
  readonly texts: readonly string[];
  /** How a list is encoded: as repeated parameters, separated by commas, or not at all for a single value. */
  readonly list: "repeated" | "commas" | undefined;
  readonly schema: string;
  readonly description: string;
  readonly example: string;
}

export function parameterOf(fields: Fields, resolve: Resolve): Parameter {
  const place = textOf(fields["in"], LONGEST_CELL);
  const isList = typesOf(resolve(fields["schema"]).fields).includes("array");
  const isRepeated = place === "query" && fields["explode"] !== false;
  const given = givenExample(fields, resolve);
  return {
    name: textOf(fields["name"], LONGEST_CELL),
    place,
    required: place === "path" || fields["required"] === true,
    texts: textsOf(exampleOf(fields, resolve) ?? "text").map((text) => cut(text, LONGEST_CELL)),
    list: isList ? (isRepeated ? "repeated" : "commas") : undefined,
    schema: schemaText(fields["schema"], resolve),
    description: textOf(fields["description"], LONGEST_CELL),
    example: given === undefined ? "" : textOf(textsOf(given).join(", "), LONGEST_CELL),
  };
}

/** The script reads the name and the location from the cells. */
export function parametersView(parameters: readonly Parameter[]): Html | undefined {
  if (parameters.length === 0) return undefined;
  return markup`<h4>Parameters</h4>
<div class="wide" role="group" aria-label="Parameters" tabindex="0"><table>
<thead><tr><th scope="col">Name<th scope="col">In<th scope="col">Required<th scope="col">Schema<th scope="col">Description<th scope="col">Example</thead>
<tbody>${parameters.map(
    ({ name, place, required, texts, list, schema, description, example }) => markup`
<tr${required && markup` data-value="${texts.join("\n")}"`}${list !== undefined && markup` data-list="${list}"`}><th scope="row"><code>${name}</code><td>${place}<td>${required ? "yes" : "no"}<td class="type">${schema}<td>${description}<td>${example !== "" && markup`<code>${example}</code>`}`,
  )}</tbody></table></div>
`;
}
