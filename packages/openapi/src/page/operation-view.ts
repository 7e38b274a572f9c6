import { type Access, accessOf } from "./access.ts";
import { bodyOf, bodyView } from "./body-view.ts";
import { curlOf } from "./curl.ts";
import { cut, fieldsOf, type OpenApiDocument, type Resolve, textOf } from "./document-shape.ts";
import { type Html, link, markup } from "@svc/html";
import type { Operation } from "./operations.ts";
import { parameterOf, parametersView } from "./parameters-view.ts";
import { responsesView } from "./responses-view.ts";

const LONGEST_PATH = 300;
const LONGEST_TITLE = 200;
const LONGEST_DESCRIPTION = 4000;
const MAX_PARAMETERS = 100;

/** Returns an operation as one line, for a page that has reached its size limit. */
export function operationLine({ method, path }: Operation): Html {
  return markup`<p><b>${method.toUpperCase()}</b> <code>${cut(path, LONGEST_PATH)}</code></p>
`;
}

/**
 * Returns an operation as a `details` element. The script reads the operation from its `data-` attributes, from the cells
 * of its parameters and from the sample of its body.
 */
export function operationView(operation: Operation, document: OpenApiDocument, resolve: Resolve): Html {
  const { method, path, target, fields } = operation;
  const summary = textOf(fields["summary"], LONGEST_TITLE);
  const description = textOf(fields["description"], LONGEST_DESCRIPTION);
  const access = accessOf(document, fields, resolve);
  const parameters = operation.parameters.slice(0, MAX_PARAMETERS).map((each) => parameterOf(each, resolve));
  const body = bodyOf(fields["requestBody"], resolve);
  const id = method + path.toWellFormed().replace(/[^\w\-.~/{}]/gu, encodeURIComponent);
  return markup`<details id="${id}" data-method="${method.toUpperCase()}" data-path="${target}">
<summary><h3><b>${method.toUpperCase()}</b> <code>${cut(path, LONGEST_PATH)}</code>${summary !== "" && ` ${summary}`}${fields["deprecated"] === true && markup` <strong>deprecated</strong>`}</h3></summary>
${description !== "" && markup`<p class="text">${description}</p>`}${docsLink(fields["externalDocs"])}${accessView(access)}${parametersView(parameters)}${body !== undefined && bodyView(body, resolve)}${responsesView(fields["responses"], resolve)}<h4>curl</h4>
<pre class="curl">${curlOf({
    method,
    path: target,
    values: parameters.filter((each) => each.required),
    body: body?.sample,
    ...access,
  })}</pre>
<p><a href="#${id}">Link to this operation</a></p>
</details>
`;
}

export function docsLink(value: unknown): Html | undefined {
  const { url, description } = fieldsOf(value);
  if (typeof url !== "string") return undefined;
  return markup`<p>See also: ${link(cut(url, LONGEST_DESCRIPTION), textOf(description, LONGEST_TITLE))}</p>`;
}

function accessView({ lines }: Access): Html | undefined {
  if (lines.length === 0) return undefined;
  return markup`<h4>Access</h4>
<ul>${lines.map((line) => markup`<li>${line}</li>`)}</ul>
`;
}
