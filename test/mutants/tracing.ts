import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on tracing. */
export const tracing: Mutants = {
  "RDY-17": {
    file: "packages/telemetry/src/readiness.ts",
    find: 'name: "telemetry", critical: false',
    replace: 'name: "telemetry", critical: true',
  },
  "COR-14": {
    file: "packages/telemetry/src/server-spans.ts",
    find: "context.openSpan(traceOf(own, caller));",
    replace: "",
  },
  "TRACE-1": {
    file: "packages/telemetry/src/telemetry.ts",
    find: "if (target === undefined) return;",
    replace: 'if (target === undefined) return void (await loadOpenTelemetry(true, ""));',
  },
  "TRACE-2": {
    file: "packages/telemetry/src/plugin.ts",
    find: 'if (tracesEndpoint !== "" || endpoint !== "") return { endpoint, tracesEndpoint };\n',
    replace: "",
  },
  "TRACE-3": {
    file: "packages/telemetry/src/plugin-options.ts",
    find: "if (fileHeaders === undefined) return [];",
    replace: "if (fileHeaders !== null) return [];",
  },
  "TRACE-4": {
    file: "packages/telemetry/src/plugin.ts",
    find: "service: options.serviceName ?? service.name,",
    replace: "service: service.name,",
  },
  "TRACE-5": {
    file: "packages/telemetry/src/plugin.ts",
    find: 'logger.info({}, "telemetry: not exporting; set SVC_TELEMETRY_ENDPOINT");',
    replace: "",
  },
  "TRACE-6": {
    file: "packages/telemetry/src/plugin-options.ts",
    find: "k.integer({ min: 1, max: 65_535 }), 4318)",
    replace: "k.integer({ min: 1, max: 65_535 }), 4317)",
  },
  "TRACE-7": {
    file: "packages/telemetry/src/server-spans.ts",
    find: "span.updateName(`${method} ${route}`);",
    replace: "",
  },
  "TRACE-8": {
    file: "packages/telemetry/src/sql/trace-queries.ts",
    find: 'if (rowCount !== undefined) span.set({ "db.rows_affected": rowCount });',
    replace: "",
  },
  "TRACE-12": {
    file: "packages/search-store/src/store.ts",
    find: '"rag.search", "internal"',
    replace: '"rag.search", "client"',
    test: "packages/search-store/test/servers.test.ts",
  },
  "TRACE-13": {
    file: "packages/job-table/src/worker/running-jobs.ts",
    find: '`job ${task}`, "consumer"',
    replace: '`job ${task}`, "internal"',
  },
  "TRACE-14": {
    file: "packages/telemetry/src/provider.ts",
    find: '"deployment.environment.name": env,',
    replace: "",
  },
  "TRACE-15": {
    file: "packages/telemetry/src/attributes.ts",
    find: "if (!names.has(name)) dropped += 1;\n    else if (typeof value",
    replace: "if (typeof value",
  },
  "TRACE-16": {
    file: "packages/telemetry/src/sql/span-of-statement.ts",
    find: 'if (recordStatement) attributes["db.statement"]',
    replace: 'attributes["db.statement"]',
  },
  "TRACE-17": {
    file: "packages/telemetry/src/exception-event.ts",
    find: '"exception.message": cutText(message),',
    replace: '"exception.message": "",',
  },
  "TRACE-18": {
    file: "packages/telemetry/src/trace-parent.ts",
    find: "spanId: traceparent.slice(36, 52),",
    replace: 'spanId: "b7ad6b7169203332",',
  },
  "TRACE-20": {
    file: "packages/job-table/src/worker/running-jobs.ts",
    find: "trace: traceContextOf(trace),",
    replace: "trace: undefined,",
  },
  "TRACE-21": {
    file: "packages/telemetry/src/spans.ts",
    find: "      return act();\n    } catch (error) {\n      failures.report(error);",
    replace: "      return act();\n    } catch (error) {\n      throw error;",
  },
  "TRACE-22": {
    file: "packages/telemetry/src/server-spans.ts",
    find: "if (req[SPAN] !== undefined || isOpenServerSpan(outer) || httpSpanIn(active) !== undefined)",
    replace: "if (res.destroyed)",
  },
  "TRACE-23": {
    file: "packages/telemetry/src/readiness.ts",
    find: '"span export failing; spans are being dropped"',
    replace: '"span export failing"',
  },
  "TRACE-24": {
    file: "packages/telemetry/src/endpoint.ts",
    find: "return `${protocol}//${host}${pathname}`;",
    replace: "return url;",
  },
  "TRACE-26": {
    file: "packages/telemetry/src/attributes.ts",
    find: "export const MAX_TEXT = 256;",
    replace: "export const MAX_TEXT = 257;",
  },
  "TRACE-27": {
    file: "packages/telemetry/src/options.ts",
    find: "k.number({ min: 10, max: 9_000 }), 5_000)",
    replace: "k.number({ min: 10, max: 9_000 }), 6_000)",
  },
  "TRACE-28": {
    file: "packages/telemetry/src/provider.ts",
    find: "return ratio === 0 ? new sdk.AlwaysOffSampler() : new sdk.TraceIdRatioBasedSampler(ratio);",
    replace: "return new sdk.AlwaysOffSampler();",
  },
  "TRACE-29": {
    file: "packages/telemetry/src/packages.ts",
    find: 'NAMES.join(" ")',
    replace: 'NAMES.slice(1).join(" ")',
  },
  "TRACE-30": {
    none: "tracing has no listener and no publisher, so no line could be changed to emit an event",
  },
};
