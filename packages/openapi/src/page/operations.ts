import {
  createResolver,
  type Fields,
  fieldsOf,
  jsonOf,
  listOf,
  type OpenApiDocument,
  textOf,
} from "./document-shape.ts";

/** An operation of the document, including the members that it inherits from its path. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  /** The path below the origin: the path of the document's server followed by `path`. */
  readonly target: string;
  readonly fields: Fields;
  readonly parameters: readonly Fields[];
}

export interface Group {
  readonly tag: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** The methods in the order in which the page shows them. */
const METHODS = ["get", "head", "post", "put", "patch", "delete", "options", "trace"] as const;

const LONGEST_TAG = 100;
const LONGEST_SERVER = 300;
const LONGEST_DESCRIPTION = 4000;

/**
 * Returns the operations by their first tag: the tags that the document describes first, then the others by name, then
 * the operations without a tag. Operations are sorted by path and method.
 */
export function groupsOf(document: OpenApiDocument): readonly Group[] {
  const descriptions = new Map<string, string>();
  for (const each of listOf(document.tags).map(fieldsOf)) {
    descriptions.set(textOf(each["name"], LONGEST_TAG), textOf(each["description"], LONGEST_DESCRIPTION));
  }
  const operations = Map.groupBy(operationsOf(document), ({ fields }) =>
    textOf(listOf(fields["tags"])[0], LONGEST_TAG),
  );
  const others = [...operations.keys()].filter((tag) => tag !== "" && !descriptions.has(tag));
  return [...descriptions.keys(), ...others.toSorted(), ""]
    .filter((tag, index, all) => operations.has(tag) && all.lastIndexOf(tag) === index)
    .map((tag) => ({ tag, description: descriptions.get(tag) ?? "", operations: operations.get(tag) ?? [] }));
}

function operationsOf(document: OpenApiDocument): readonly Operation[] {
  const resolve = createResolver(document);
  const base = basePath(document);
  const paths = Object.entries(fieldsOf(document.paths)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return paths.flatMap(([path, value]) => {
    const item = resolve(value).fields;
    return METHODS.flatMap((method) => {
      if (typeof item[method] !== "object" || item[method] === null) return [];
      const fields = fieldsOf(item[method]);
      const given = [...listOf(item["parameters"]), ...listOf(fields["parameters"])];
      const target = base + path;
      return {
        method,
        path,
        target,
        fields,
        parameters: lastOfEach(given.map((each) => resolve(each).fields)),
      };
    });
  });
}

/** Returns the address of the document's first server if it is absolute. */
export function serverAddress({ servers }: OpenApiDocument): string | undefined {
  const url = textOf(fieldsOf(listOf(servers)[0])["url"], LONGEST_SERVER);
  return /^https?:\/\//i.test(url) ? url.replace(/\/+$/, "") : undefined;
}

/**
 * Returns the path of the document's first server, for example `/api`, without a trailing slash; empty for an
 * absolute URL, which may name another server.
 */
export function basePath({ servers }: OpenApiDocument): string {
  const url = textOf(fieldsOf(listOf(servers)[0])["url"], LONGEST_SERVER);
  return /^\/(?!\/)/.test(url) ? url.replace(/\/+$/, "") : "";
}

/**
 * Returns each parameter once: a parameter of the operation replaces the path's parameter with the same name
 * and location.
 */
function lastOfEach(parameters: readonly Fields[]): readonly Fields[] {
  return [...new Map(parameters.map((each) => [jsonOf([each["in"], each["name"]]), each])).values()];
}
