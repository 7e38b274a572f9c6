import type { Answer } from "../answer.ts";
import { check, type Check } from "../check.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import { every, fail, must, mustBe, ruledOut, statusIs } from "../verdict.ts";
import { askWithId } from "./logs.ts";
import { duringFault, ready } from "./readiness.ts";

/** Requests `/health` once; all checks that read it share the response. */
export function health(kit: Kit): Promise<Answer> {
  return kit.once("health", () => kit.get("/health"));
}

function info(kit: Kit): Promise<Answer> {
  return kit.once("info", () => kit.get("/info"));
}

export async function isProd(kit: Kit): Promise<boolean> {
  return (await health(kit)).object?.["env"] === "prod";
}

export const systemChecks: readonly Check[] = [
  check("SYS-1", {}, async function* (kit) {
    const answer = await health(kit);
    const { object } = answer;
    if (answer.status !== 200) return fail(`${answer.status}`, "200");
    const missing = ["service", "version", "env"].filter(
      (member) => typeof object?.[member] !== "string" || object[member] === "",
    );
    yield must(object?.["status"] === "ok", `status ${show(object?.["status"])}`, 'status "ok"');
    yield must(
      missing.length === 0,
      `no string for ${missing.join(", ")}`,
      "service, version and env as strings",
    );
  }),
  duringFault("SYS-2", "harmless", ({ health: answer, hangs }, kit) => {
    const limitMs = kit.settings.limits.readinessTimeoutSeconds * 1000;
    const seen = `a response after ${Math.round(answer.durationMs)} ms while a check hangs`;
    return every([
      statusIs(answer, 200, "with dependencies down"),
      must(!hangs || answer.durationMs < limitMs, seen, "an immediate response"),
    ]);
  }),
  check("SYS-3", {}, async (kit) => statusIs(await ready(kit), 200, "", "200 while the service is ready")),
  duringFault("SYS-4", "critical", ({ health: { status } }) =>
    must(status === 200, `/health ${status} with a critical dependency down`, "200"),
  ),
  check("SYS-5", {}, async function* (kit) {
    const answer = await info(kit);
    if (await isProd(kit)) return ruledOut("the environment is prod");
    if (answer.status !== 200) return fail(`${answer.status}`, "200");
    const { service, version, env, providers, plugins } = answer.object ?? {};
    const named = (each: unknown): boolean =>
      typeof each === "object" && each !== null && typeof (each as { name?: unknown }).name === "string";
    yield must(
      [service, version, env].every((each) => typeof each === "string"),
      show({ service, version, env }),
      "service, version and env as strings",
    );
    yield mustBe(
      Array.isArray(providers) && providers.every((each) => typeof each === "string"),
      { providers },
      "a list of names",
    );
    yield mustBe(
      Array.isArray(plugins) && plugins.every(named),
      { plugins },
      "a list of objects with a name",
    );
  }),
  check("SYS-6", {}, async (kit) => {
    if (!(await isProd(kit))) return ruledOut("the environment is not prod");
    return statusIs(await info(kit), 404, "", "404, as for any unknown path");
  }),
  check("SYS-7", { needs: ["metrics"] }, async (kit) => {
    const answer = await kit.get("/metrics");
    return must(
      answer.status === 200 && answer.body.length > 0,
      `${answer.status} with ${answer.body.length} bytes`,
      "200 with the metrics",
    );
  }),
  check("SYS-8", {}, async function* (kit) {
    const answers: readonly (readonly [string, Answer])[] = [
      ["/health", await health(kit)],
      ["/ready", await ready(kit)],
      ...((await isProd(kit)) ? [] : ([["/info", await info(kit)]] as const)),
    ];
    yield* answers.map(([path, { status, mediaType, object }]) =>
      must(
        mediaType === "application/json" && object !== undefined,
        `${path}: ${status} as ${mediaType || "no content type"}`,
        "a JSON object as application/json",
      ),
    );
  }),
  check("VER-1", {}, async (kit) => {
    const reported = (await health(kit)).object?.["version"];
    const second = await info(kit);
    if (second.status !== 200) {
      // SYS-8 checks the response of `/info`.
      return must(Boolean(reported), "no version in /health", "a version");
    }
    const other = second.object?.["version"];
    return must(
      Boolean(reported) && reported === other,
      `${show(reported)} in /health, ${show(other)} in /info`,
      "the same version in both",
    );
  }),
  check("ENV-1", {}, async (kit) => {
    const name = (await health(kit)).object?.["service"];
    const names: [string, unknown][] = [["/ready", (await ready(kit)).object?.["service"]]];
    if (kit.log !== undefined) {
      const lines = await kit.log.about((await askWithId(kit, "/health")).id);
      const line = lines.find(({ value }) => typeof value?.["service"] === "string");
      if (line !== undefined) names.push(["the log", line.value?.["service"]]);
    }
    if (kit.has("metrics")) {
      const { text } = await kit.get("/metrics");
      const label = /^service_info\{[^}]*\bservice="([^"]*)"/m.exec(text)?.[1];
      if (label !== undefined) names.push(["/metrics", label]);
    }
    const other = names.find(([, each]) => each !== name);
    return must(
      other === undefined,
      `${show(name)} in /health, ${show(other?.[1])} in ${other?.[0]}`,
      "the same name everywhere",
    );
  }),
  check("ENV-2", {}, async (kit) => {
    const env = (await health(kit)).object?.["env"];
    return mustBe(
      typeof env === "string" && ["local", "dev", "staging", "prod"].includes(env),
      { env },
      "local, dev, staging or prod",
    );
  }),
  check("PROF-2", { needs: ["reduced", "auth"] }, async function* (kit) {
    const token = kit.settings.keys === undefined ? undefined : kit.tokens.mint();
    const paths = ["POST /auth/refresh", "POST /auth/logout", "GET /.well-known/jwks.json"];
    const answers = await Promise.all(paths.map((path) => kit.ask(path, { token })));
    yield* answers.map(({ status }, index) =>
      must(status === 404, `${paths[index]}: ${status}`, "404: the reduced profile only verifies tokens"),
    );
  }),
];
