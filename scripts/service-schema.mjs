// Writes the JSON Schema of service.toml for editors, packages/express/service.schema.json, from the definitions of
// [service], [logging] and the built-in plugins: npm run option-docs. With --check, only reports whether it would change.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { format, resolveConfig } from "prettier";
import { docOf, inKeys } from "./option-docs.mjs";

const root = resolve(import.meta.dirname, "..");
const source = (path) => import(pathToFileURL(join(root, path)).href);
const { loggingTable, serviceTable } = await source("packages/config/src/index.ts");
const { builtInPlugins, defaultPlugins } = await source("packages/express/src/plugins/built-in.ts");

/** Any string with a reference to a variable: the value is known only when the service starts. */
const reference = { $ref: "#/definitions/reference" };

/**
 * Returns the schema of one table of the file. No key is required, because the table of a disabled plugin may be
 * incomplete.
 */
function tableSchema(definition) {
  const properties = Object.entries(definition.keys).flatMap(([option, entry]) =>
    entry.key === undefined ? [] : [[entry.key, entrySchema(definition, option, entry)]],
  );
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}

function entrySchema(definition, option, entry) {
  const doc = docOf(definition, option);
  if ("kind" in entry) return keySchema(definition, doc, entry);
  const description = described(definition, doc);
  if ("table" in entry) return { description, ...tableSchema(entry.table) };
  return { description, type: "object", additionalProperties: tableSchema(entry.each) };
}

function keySchema(definition, doc, { kind, inFile, env, wins, defaultIn }) {
  const variables = [env ?? []].flat().filter((name) => !doc.meaning.includes(name));
  const also =
    variables.length === 0 ? "" : ` Also ${variables.join(" or ")}${wins === "env" ? ", which wins" : ""}.`;
  const fallback = inFile === undefined ? kind.fallback : inFile.toFile(kind.fallback);
  return {
    description: described(definition, inFile === undefined ? doc : inUnitOfFile(doc, fallback)) + also,
    ...withReferences((inFile?.kind ?? kind).schema ?? {}),
    default: kind.secret || defaultIn ? undefined : fallback,
  };
}

/** Returns the doc comment of an option in milliseconds for its key in seconds. */
function inUnitOfFile({ meaning, fallback }, number) {
  const text = meaning.replace(/,? in (?:milliseconds|ms)\b/, "").replace(/^Milliseconds\b/, "Seconds");
  const unit = /seconds/i.test(text) ? "" : " In seconds.";
  return { meaning: text + unit, fallback: number?.toLocaleString("en") ?? fallback };
}

function described(definition, { meaning, fallback }) {
  const end = fallback === "required" ? " Required." : ` Default: ${fallback}.`;
  return inKeys(definition, fallback === undefined ? meaning : meaning + end).trim();
}

/** Returns a schema that also accepts a reference, which becomes a number, a boolean or a list when it is read. */
function withReferences({ items, ...schema }) {
  const isAnyText = schema.type === "string" && schema.pattern === undefined;
  const isAnything = Object.keys(schema).length === 0;
  if (isAnyText || isAnything) return schema;
  return { anyOf: [items === undefined ? schema : { ...schema, items: withReferences(items) }, reference] };
}

/** Returns the schema for the required keys of a table; undefined if the table has none. */
function demands({ keys }) {
  const entries = Object.values(keys).filter(({ key }) => key !== undefined);
  const required = entries.flatMap(({ key, kind, env, defaultIn }) =>
    kind === undefined || "optional" in kind || env !== undefined || defaultIn !== undefined ? [] : [key],
  );
  const nested = entries.flatMap(({ key, table, each }) => {
    const inner = (table ?? each) && demands(table ?? each);
    if (inner === undefined) return [];
    return [[key, table === undefined ? { additionalProperties: inner } : inner]];
  });
  if (required.length + nested.length === 0) return undefined;
  return { required, properties: Object.fromEntries(nested) };
}

/** Returns the condition that a plugin in `[plugins] enabled` has its required keys. */
function demandsOf({ name, options }) {
  const wanted = options && demands(options);
  if (wanted === undefined) return [];
  const isEnabled = {
    properties: { enabled: { type: "array", contains: { const: name } } },
    required: ["enabled"],
  };
  const has = (key, schema) => ({
    properties: { [key]: schema },
    required: wanted.required.length > 0 ? [key] : [],
  });
  return [
    {
      if: { properties: { plugins: isEnabled }, required: ["plugins"] },
      then: has("plugin", has(name, wanted)),
    },
  ];
}

const builtIn = builtInPlugins.map(({ name, options = { subject: name, keys: {} } }) => [
  name,
  tableSchema(options),
]);
const enabledNames = { anyOf: [{ enum: builtIn.map(([name]) => name) }, { type: "string" }] };

const schema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "service.toml of @svc/express",
  type: "object",
  properties: {
    service: { description: "The service and its server.", ...tableSchema(serviceTable) },
    logging: { description: "The log of the service.", ...tableSchema(loggingTable) },
    plugins: {
      description: "The plugins of the service.",
      type: "object",
      additionalProperties: false,
      properties: {
        enabled: {
          description: `The plugins that start, built in or your own. Default: ${defaultPlugins.join(", ")}.`,
          ...withReferences({ type: "array", items: enabledNames }),
          default: defaultPlugins,
        },
      },
    },
    plugin: {
      description: "The settings of each plugin.",
      type: "object",
      properties: Object.fromEntries(builtIn),
      // A service may have its own plugins.
      additionalProperties: { type: "object" },
    },
  },
  additionalProperties: false,
  allOf: builtInPlugins.flatMap(demandsOf),
  definitions: {
    reference: {
      description: "Refers to a variable: ${NAME} or ${NAME:-default}.",
      type: "string",
      pattern: "\\$\\{",
    },
  },
};

const file = join(root, "packages/express/service.schema.json");
const text = await format(JSON.stringify(schema), { ...(await resolveConfig(file)), filepath: file });
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  console.error("packages/express/service.schema.json: run `npm run option-docs`");
  process.exitCode = 1;
}
