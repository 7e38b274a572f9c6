import type { Controls } from "../harness/controls.ts";
import type { Case } from "../harness/subject.ts";

/** The base of all comparisons, and the repeated measurements of the base at other places in the order. */
export const controls: Controls = { base: "bare-express5", names: ["control", "control-2"] };
/** The second base: Express 5 with `tune()`. */
export const tuned = "bare-express5-tuned";

/** Cases that are also compared with a case other than a base. */
export const pairs: Readonly<Record<string, string>> = {
  "full-packages-uncached": "hand-written",
  "svc-full-own": "svc-full",
  "svc-full-own-info": "svc-full-info",
  "svc-full-rs256-unseen": "bare-express5-rs256",
};

/** All cases, in the order in which they run. */
export const httpCases: readonly Case[] = [
  at("bare-express5", "bare-express5"),
  at("svc-express", "svc-express", "warn"),
  at("svc-express-info", "svc-express", "info"),
  at("svc-express-no-etag", "svc-express", "no-etag"),
  at("packages", "packages", "warn"),
  at("packages-info", "packages", "info"),
  at("packages-tuned", "packages", "tuned"),
  at(tuned, tuned),
  at("bare-express4", "bare-express4"),
  at("control", "bare-express5"),
  at("node-http", "node-http"),
  at("fastify", "fastify"),
  at("peer-default", "peer-default", "warn"),
  at("peer-default-info", "peer-default", "info"),
  at("svc-full", "svc-full", "cached"),
  at("svc-full-no-etag", "svc-full", "no-etag"),
  at("svc-full-info", "svc-full", "info"),
  at("svc-full-telemetry", "svc-full", "telemetry"),
  at("svc-full-data", "svc-full", "data"),
  at("svc-full-own", "svc-full", "own"),
  at("svc-full-own-info", "svc-full", "own-info"),
  at("svc-described", "svc-full", "described"),
  at("svc-full-hs256-uncached", "svc-full", "uncached"),
  at("svc-full-rs256-unseen", "svc-full", "unseen"),
  at("bare-express5-rs256", "bare-express5-rs256"),
  at("bare-express5-layers", "bare-express5-layers"),
  at("full-packages", "full-packages", "cached"),
  at("full-packages-info", "full-packages", "info"),
  at("full-packages-tuned", "full-packages", "tuned"),
  at("full-packages-uncached", "full-packages", "uncached"),
  at("peer-full-hs256", "peer-full", "HS256"),
  at("peer-full-rs256", "peer-full", "RS256"),
  at("hand-written", "hand-written", "key-object"),
  at("hand-written-string-secret", "hand-written", "string"),
  at("+request-id", "alone", "request-id"),
  at("+log (WARN)", "alone", "log-warn"),
  at("+log (INFO)", "alone", "log-info"),
  at("+metrics", "alone", "metrics"),
  at("+problem", "alone", "problem"),
  at("+problem (server)", "alone", "problem-server"),
  at("+health", "alone", "health"),
  at("+json-body", "alone", "json-body"),
  at("+serve", "alone", "serve"),
  at("control-2", "bare-express5"),
];

/**
 * Returns the cases with these names, and the cases with which they are compared.
 *
 * @throws Error that lists the known cases
 */
export function chosenCases(names: readonly string[] | undefined): readonly Case[] {
  if (names === undefined) return httpCases;
  const unknown = names.filter((name) => !httpCases.some((each) => each.name === name));
  if (unknown.length > 0) {
    const known = httpCases.map((each) => each.name).join(", ");
    throw new Error(`there is no case ${unknown.join(", ")}; there are ${known}`);
  }
  const always = new Set([controls.base, ...controls.names]);
  return httpCases.filter(({ name }) => always.has(name) || names.includes(name));
}

function at(name: string, file: string, setting?: string): Case {
  return { name, module: new URL(`./variants/${file}.ts`, import.meta.url), setting };
}
