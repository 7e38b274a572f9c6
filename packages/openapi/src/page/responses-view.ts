import { cut, type Fields, fieldsOf, type Resolve, textOf } from "./document-shape.ts";
import { type Html, markup } from "@svc/html";
import { schemaList } from "./schema-list.ts";
import { schemaText } from "./schema-text.ts";

const MAX_RESPONSES = 30;
const LONGEST_NAME = 200;
const LONGEST_DESCRIPTION = 1000;

export function responsesView(value: unknown, resolve: Resolve): Html | undefined {
  const responses = Object.entries(fieldsOf(value)).slice(0, MAX_RESPONSES);
  if (responses.length === 0) return undefined;
  return markup`<h4>Responses</h4>
<dl>${responses.map(([status, each]) => responseView(status, resolve(each).fields, resolve))}</dl>
`;
}

function responseView(status: string, fields: Fields, resolve: Resolve): Html {
  const contents = Object.entries(fieldsOf(fields["content"]));
  const description = textOf(fields["description"], LONGEST_DESCRIPTION);
  return markup`
<dt>${cut(status, LONGEST_NAME)}<dd><div class="text">${description}</div>${contents.map(
    ([type, content]) => {
      const { schema } = resolve(content).fields;
      // Omit the members of an error, which are the same for all operations.
      const members = status.startsWith("2") ? schemaList(schema, resolve) : undefined;
      const title = markup`${cut(type, LONGEST_NAME)}: <span class="type">${schemaText(schema, resolve)}</span>`;
      return members === undefined
        ? markup`<div>${title}</div>`
        : markup`<details><summary>${title}</summary>${members}</details>`;
    },
  )}`;
}
