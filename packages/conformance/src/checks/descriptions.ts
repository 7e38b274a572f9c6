import { isObject } from "../answer.ts";
import { check, type Check, type Need } from "../check.ts";
import { grant } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { documentAnswer, isListed } from "../openapi.ts";
import type { Probe } from "../option-values.ts";
import { requestOf } from "../requests.ts";
import { show } from "../show.ts";
import { every, is, must, notApplicable, statusIs } from "../verdict.ts";
import { isProd } from "./system.ts";

const needs: readonly Need[] = ["openapi"];

/** The contract itself defines the routes at these paths, so a service need not describe them. */
const defined = /^\/(?:auth|\.well-known|health|ready|info|metrics)(?:\/|$)/;

/** Returns the probes whose routes the description must list: routes of the application that respond with JSON. */
function describedProbes({ settings: { probes } }: Kit): readonly Probe[] {
  const { open, protected: inner, mixed, json, scoped, role, tenant, failing, invalid, templated } = probes;
  const inside = [scoped, role, tenant, failing, invalid, templated, probes.limited];
  const all = [open, inner, mixed, json, ...inside.map((each) => each?.request)];
  return all.filter((each) => each !== undefined).filter((each) => !defined.test(requestOf(each).path));
}

/** The rules on descriptions of routes. */
export const descriptionChecks: readonly Check[] = [
  check("DOC-1", { needs }, async function* (kit) {
    const answer = await documentAnswer(kit);
    const { status, object } = answer;
    if (status === 404 && (await isProd(kit))) return yield notApplicable("see DOC-2");
    yield statusIs(answer, 200, "for GET /openapi.json");
    yield must(
      isObject(object?.["paths"]),
      `no object with paths in the response to GET /openapi.json`,
      "a description of the routes as JSON",
    );
    if (object === undefined) return;
    for (const probe of describedProbes(kit)) {
      const { method, path } = requestOf(probe);
      yield must(
        await isListed(kit, object, method, path),
        `no ${method} ${path} in /openapi.json`,
        "a description of every route",
      );
    }
  }),
  check("DOC-2", { needs }, async function* (kit) {
    const { ok, status, object } = await documentAnswer(kit);
    if (status === 404 && (await isProd(kit))) return yield statusIs({ status }, 200, "in prod");
    if (!ok || object === undefined) return yield notApplicable("see DOC-1");
    const version = object["openapi"];
    yield must(/^3\.1\.\d+$/.test(String(version)), `openapi ${show(version)}`, "a version 3.1");
  }),
  check("DOC-3", { needs }, async (kit) => {
    const { docs } = kit.settings.probes;
    const answer = await kit.ask(docs ?? "/docs", { token: grant(kit) });
    if (docs === undefined && (await isProd(kit))) {
      return statusIs(answer, 404, "for /docs in prod", "404, because the page is not switched on");
    }
    const isInteractive = /<(?:script|form)\b/i.test(answer.text);
    return every([
      statusIs(answer, 200, "for the page of the routes"),
      is("Content-Type", answer.mediaType, "text/html"),
      must(isInteractive, "a page without a script or a form", "an interactive page"),
    ]);
  }),
];
