import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on profiles, ports, environment, configuration, performance budget and versioning. */
export const setup: Mutants = {
  "PROF-1": {
    file: "packages/express/src/configure.ts",
    find: 'if (profile === "reduced") return',
    replace: "if (false as boolean) return",
  },
  "PROF-2": {
    file: "packages/jwt-auth/src/reduced-profile.ts",
    find: 'kind: k.withDefault(k.oneOf("secret", "public_key"), mode)',
    replace: 'kind: k.withDefault(k.oneOf("secret", "public_key"), "secret")',
  },
  "PROF-3": {
    file: "packages/jwt-auth/src/plugin.ts",
    find: '  refuseInReduced(context, "revocation", "keys");',
    replace: "",
  },
  "PROF-4": {
    file: "packages/context/src/trace-headers.ts",
    find: 'typeof tracestate === "string" ? tracestate : undefined',
    replace: "undefined",
  },
  "PROF-5": {
    file: "packages/express/src/service-jobs.ts",
    find: 'if (profile === "reduced") refuseInReduced(options);',
    replace: "",
  },
  "PROF-6": {
    file: "packages/express/src/service-options.ts",
    find: 'if (kind !== "api") {',
    replace: 'if (kind === "") {',
  },
  "PORT-1": {
    file: "packages/config/src/ports.ts",
    find: "export const highestBasePort = 65_526;",
    replace: "export const highestBasePort = 65_535;",
  },
  "PORT-2": {
    file: "packages/express/src/start-and-drain.ts",
    find: "server.listen(options.port, options.host);",
    replace: "server.listen(options.port && options.port + 1, options.host);",
  },
  "PORT-3": { file: "packages/config/src/ports.ts", find: "keyValue: 3,", replace: "keyValue: 2," },
  "PORT-4": {
    file: "packages/dev-services/src/demo-postgres.ts",
    find: "port: servicePort + 1,",
    replace: "port: servicePort + 3,",
  },
  "PORT-7": {
    file: "packages/dev-services/src/demo-redis.ts",
    find: "const port = servicePort + 3;",
    replace: "const port = servicePort + 4;",
  },
  "PORT-5": {
    file: "examples/full-service/src/demo.ts",
    find: "await requireFree(service.port, service.host);",
    replace: "",
  },
  "PORT-6": {
    file: "packages/dev-services/src/account.ts",
    find: 'return keptFolder(`svc-${createHash("sha256").update(path).digest("hex").slice(0, 12)}`);',
    replace: 'return keptFolder("svc-demo");',
  },
  "ENV-1": {
    file: "packages/config/src/service-table.ts",
    find: 'env: "SVC_APP_NAME",',
    replace: 'env: "SVC_SERVICE_NAME",',
  },
  "ENV-2": {
    file: "packages/options/src/environment-names.ts",
    find: '["local", "dev", "staging", "prod"]',
    replace: '["local", "dev", "staging", "prod", "test"]',
  },
  "ENV-3": {
    file: "packages/config/src/service-table.ts",
    find: 'env: "SVC_PORT",',
    replace: 'env: "PORT",',
  },
  "ENV-4": [
    { file: "packages/config/src/service-table.ts", find: 'env: "SVC_DEBUG"', replace: 'env: "DEBUG"' },
    {
      file: "packages/express/src/create-service.ts",
      find: "problemHandler({ debug: settings.debug, logger: log })",
      replace: "problemHandler({ debug: true, logger: log })",
    },
  ],
  "ENV-5": {
    file: "packages/config/src/service-table.ts",
    find: 'env: "SVC_LOG_JSON_LOGS"',
    replace: 'env: "SVC_JSON_LOGS"',
  },
  "ENV-6": {
    file: "packages/cache/src/cache.ts",
    find: "/** A cache in Redis that many parts of a service share. */",
    replace:
      "export const fromProcess: unknown = process.env;\n\n/** A cache in Redis that many parts of a service share. */",
    test: "test/environment.test.ts",
  },
  "ENV-7": [
    {
      file: "bench/budget.ts",
      find: 'env.SVC_PERF_BUDGET !== "1"',
      replace: 'env.SVC_PERF_BUDGETS !== "1"',
      test: "test/environment.test.ts",
    },
    {
      file: "packages/cache/src/cache.ts",
      find: "/** A cache in Redis that many parts of a service share. */",
      replace:
        "export const { SVC_CACHE_URL } = process.env;\n\n/** A cache in Redis that many parts of a service share. */",
      test: "test/environment.test.ts",
    },
  ],
  "CFG-1": {
    file: "packages/config/src/read-plugins.ts",
    find: 'readTable(list, root["plugins"], ["plugins"], reading)',
    replace: 'readTable(list, root["components"], ["plugins"], reading)',
  },
  "CFG-2": {
    file: "packages/express/src/start-service.ts",
    find: "file === undefined ? options : withFile(options ?? {}, file)",
    replace: "options",
  },
  "CFG-3": {
    file: "packages/config/src/service-table.ts",
    find: 'env: "SVC_ENV",\n    wins: "env",',
    replace: 'env: "SVC_ENV",\n    wins: "file",',
  },
  "CFG-4": {
    file: "packages/jwt-auth/src/options.ts",
    find: 'env: "SVC_AUTH_JWKS_URL", wins: "env"',
    replace: 'env: "SVC_AUTH_JWKS_URL", wins: "file"',
  },
  "CFG-5": {
    file: "packages/config/src/file-or-environment.ts",
    find: 'wins: wins ?? "file",',
    replace: 'wins: wins ?? "env",',
  },
  "CFG-6": {
    file: "packages/config/src/read-plugins.ts",
    find: "const names = [...listed].filter((name) => Object.hasOwn(built, name));",
    replace: "const names = Object.keys(built);",
  },
  "CFG-7": {
    file: "packages/config/src/plugin-names.ts",
    find: '  "rate_limit",',
    replace: '  "rate_limits",',
  },
  "CFG-8": {
    file: "packages/config/src/read-plugins.ts",
    find: "if (!Object.hasOwn(built, name)) refuse(name, built, reading);",
    replace: "",
  },
  "CFG-9": {
    file: "packages/express/src/plugins/start.ts",
    find: "Object.assign(parts, made.parts);",
    replace: "",
  },
  "CFG-10": {
    file: "packages/config/src/references.ts",
    find: "const value = variable(env, name) ?? otherwise;",
    replace: "const value = variable(env, name);",
  },
  "CFG-11": {
    file: "packages/config/src/references.ts",
    find: "`names the environment variable ${name}, which is not set`",
    replace: '"names an environment variable that is not set"',
  },
  "CFG-12": {
    file: "packages/config/src/fault-list.ts",
    find: "const most = 100;",
    replace: "const most = 1;",
  },
  "CFG-13": {
    file: "packages/config/src/file-or-environment.ts",
    find: "const hidden = concealed || kind.secret === true ||",
    replace: "const hidden = concealed ||",
  },
  "CFG-14": {
    file: "packages/express/src/start-service.ts",
    find: "export const configurationExitCode = 2;",
    replace: "export const configurationExitCode = 1;",
  },
  "CFG-15": {
    file: "packages/express/src/create-service.ts",
    find: 'if (settings.debug && settings.env === "prod") {',
    replace: 'if (settings.debug && settings.env === "staging") {',
  },
  "CFG-16": {
    file: "examples/full-service/src/demo.ts",
    find: 'if (service.env === "prod") throw new ConfigurationError("the demo", [noDemoInProduction]);',
    replace: "",
  },
  "CFG-17": {
    file: "examples/full-service/src/data.ts",
    find: "if (demoUsers === true) {",
    replace: "if (false as boolean) {",
  },
  "CFG-18": {
    file: "packages/config/src/service-table.ts",
    find: 'environment === "local" ? "127.0.0.1" : "0.0.0.0"',
    replace: '"0.0.0.0"',
  },
  "PERF-1": {
    file: "bench/budget.ts",
    find: 'if (!options.record && env.SVC_PERF_BUDGET !== "1") {',
    replace: 'if (!options.record && env.SVC_PERF_BUDGET === "0") {',
  },
  "PERF-2": {
    file: "bench/budget.ts",
    find: 'if (given === undefined || given === "") return 0.2;',
    replace: 'if (given === undefined || given === "") return 0.5;',
  },
  "PERF-3": {
    file: "bench/harness/baseline.ts",
    find: "{ ...(await readBaseline(file)), [platform]: ratios }",
    replace: "{ [platform]: ratios }",
  },
  "VER-1": {
    file: "packages/health/src/health.ts",
    find: 'JSON.stringify({ status: "ok", service, version, env })',
    replace: 'JSON.stringify({ status: "ok", service, version: "0.0.0", env })',
  },
  "VER-2": {
    file: "packages/request-id/src/request-id.ts",
    find: 'if (!res.headersSent) setCheckedHeader(res, "x-request-id", "X-Request-ID", id);',
    replace: "",
  },
  "VER-3": { file: ".ci/run", find: "\nnpm test\n", replace: "\nnpm run build\n" },
  "VER-4": {
    file: "packages/jwt-auth/src/guards.ts",
    find: "if (principal === undefined) next(unauthorized());\n    else if (holdsAll",
    replace: "if (principal === undefined) next(missingScopes(wanted));\n    else if (holdsAll",
  },
};
