import { createResolver, fieldsOf, jsonOf, listOf, type OpenApiDocument, textOf } from "./document-shape.ts";
import { type Html, markup } from "@svc/html";
import { docsLink, operationLine, operationView } from "./operation-view.ts";
import { basePath, type Group, groupsOf, serverAddress } from "./operations.ts";

export interface DocsPageOptions {
  /** An OpenAPI 3.1 document. Missing and malformed members are omitted from the page. */
  readonly document: OpenApiDocument;
  /** Path of the document, for example `/openapi.json`. */
  readonly documentPath: string;
  /** Path below which `docs.js` and `docs.css` are served, for example `/docs`. */
  readonly assetPath: string;
}

/** Bytes of HTML after which the page shows only method and path of an operation. */
const ROOM = 4_000_000;
const MAX_OPERATIONS = 5000;
const MAX_UNLISTED = 200;
const LONGEST_TITLE = 200;
const LONGEST_DESCRIPTION = 10_000;

/** Returns the page as a complete HTML document. It is readable without its script. */
export function docsPage({ document, documentPath, assetPath }: DocsPageOptions): string {
  const info = fieldsOf(document.info);
  const title = textOf(info["title"], LONGEST_TITLE) || "API";
  const version = textOf(info["version"], LONGEST_TITLE);
  const description = textOf(info["description"], LONGEST_DESCRIPTION);
  const base = basePath(document);
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assetPath}/docs.css">
<script type="module" src="${assetPath}/docs.js"></script>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${version !== "" && `Version ${version}. `}<a href="${documentPath}">OpenAPI document</a></p>
${description !== "" && markup`<p class="text">${description}</p>`}${docsLink(document.externalDocs)}
<p>In the curl lines, <code>$ORIGIN</code> is the address of this service, for example <code>${serverAddress(document) ?? "http://localhost:8000"}</code>, and <code>$TOKEN</code> is your token.${base !== "" && markup` Every path starts with <code>${base}</code>.`}</p>
<div id="tools"></div>
${sections(document)}${unlisted(document)}</main>
</body>
</html>
`.text;
}

function sections(document: OpenApiDocument): readonly Html[] {
  const resolve = createResolver(document);
  const groups = groupsOf(document);
  let bytes = 0;
  let count = 0;

  function section({ tag, description, operations }: Group): Html {
    const shown = operations.slice(0, Math.max(0, MAX_OPERATIONS - count)).map((operation) => {
      const view = bytes > ROOM ? operationLine(operation) : operationView(operation, document, resolve);
      bytes += Buffer.byteLength(view.text);
      return view;
    });
    count += operations.length;
    const hidden = operations.length - shown.length;
    return markup`<section>
<h2>${tag || (groups.length === 1 ? "Operations" : "Other operations")}</h2>
${description !== "" && markup`<p class="text">${description}</p>`}
${shown}${hidden > 0 && markup`<p>${hidden} more operations are in the document.</p>`}</section>
`;
  }

  return groups.length === 0 ? [markup`<p>The document has no operations.</p>`] : groups.map(section);
}

/** Lists the routes that a path of OpenAPI cannot express. */
function unlisted(document: OpenApiDocument): Html | undefined {
  const routes = listOf(document["x-unlisted"]).slice(0, MAX_UNLISTED);
  if (routes.length === 0) return undefined;
  return markup`<section>
<h2>Routes without a path</h2>
<p>The paths of these routes are patterns that OpenAPI cannot express.</p>
<ul>${routes.map((each) => markup`<li><code>${textOf(typeof each === "string" ? each : jsonOf(each), LONGEST_TITLE)}</code></li>`)}</ul>
</section>
`;
}
