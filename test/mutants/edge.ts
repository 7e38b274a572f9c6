import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on system endpoints, readiness, correlation, errors, limits, logs, metrics and the network edge. */
export const edge: Mutants = {
  "COR-1": {
    file: "packages/request-id/src/request-id.ts",
    find: "if (trustIncoming) readCaller(context, req);",
    replace: "",
  },
  "COR-3": {
    file: "packages/request-id/src/request-id.ts",
    find: 'if (!res.headersSent) res.setHeader("X-Request-ID", id);',
    replace: "",
  },
  "EDGE-3": {
    file: "packages/express/src/trusted-hosts.ts",
    find: "if (isTrusted(hostOf(req)) ||",
    replace: "if (true ||",
  },
};
