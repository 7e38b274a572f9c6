import { randomBytes } from "node:crypto";
import { createService, type ServiceOptions } from "@svc/express";
import { memberNames, rawRequest, repeatedNames, signToken, until } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import { onBothMajors } from "./support/majors.ts";

const secret = randomBytes(32).toString("base64");
const toml = `[service]
name = "test"
port = 0
[plugins]
enabled = ["observability", "auth", "tenancy"]
[plugin.auth]
mode = "secret"
algorithms = ["HS256"]
[plugin.tenancy]
sources = ["token", "header"]
`;
const canary = "canary5ecr3t";
const headerNames = ["authorization", "cookie", "set-cookie", "x-api-key"];

/** Starts a service and keeps its log lines as written. */
async function loggingService(app: Express): Promise<{ port: number; lines: string[] } & AsyncDisposable> {
  const lines: string[] = [];
  const options: ServiceOptions = {
    config: { toml },
    env: { SVC_AUTH_SECRET: secret },
    signals: false,
    app,
    routes(routed, { log }) {
      routed.get("/fails", (req) => {
        const code = req.headers["x-fault"];
        throw Object.assign(new Error(`postgres://app:${canary}@db/x is away`), { code });
      });
      routed.get("/logs", (req, res) => {
        const at = String(req.headers["x-fault"]);
        log.info({ at, headers: req.headers, rawHeaders: req.rawHeaders }, at);
        res.end();
      });
    },
    logDestination: { write: (line) => void lines.push(line) },
    checks: headerNames.map((name) => ({
      name,
      critical: true,
      check: () => ({ healthy: false, detail: `password=${canary}` }),
    })),
  };
  const service = await createService(options);
  await service.start();
  return {
    lines,
    port: service.address?.port ?? 0,
    async [Symbol.asyncDispose]() {
      service.server.closeAllConnections();
      await service.stop();
    },
  };
}

describe("log lines from a service", () => {
  onBothMajors((express) => {
    it("contain the message as their last member when the Authorization header has two tokens (LOG-2, AUTH-11)", async () => {
      await using test = await loggingService(express());
      await rawRequest(
        test.port,
        "GET /health HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a b\r\nConnection: close\r\n\r\n",
      );
      await until("the line", () => test.lines.some((line) => line.includes('"at":"authorization"')));
      const line = test.lines.find((each) => each.includes('"at":"authorization"')) ?? "";
      expect(JSON.parse(line)).to.include({
        level: "info",
        service: "test",
        env: "local",
        reason: "malformed",
        at: "authorization",
        message: "bearer token refused",
      });
      expect(memberNames(line).at(-1)).to.equal("message");
    });

    it("contain every member only once, and no secret, after requests with hostile headers (LOG-1, LOG-2)", async () => {
      await using test = await loggingService(express());
      // prettier-ignore
      const credentials = [
        "Bearer", "Bearer ", "bearer a b", "Bearer \t", "Basic", `Basic ${canary}`, canary, "Bearer a,b",
        `Bearer ${canary}`, `Bearer ${signToken({ sub: canary }, canary.repeat(4))}`, `Bearer "${canary}"`,
        `Bearer ${signToken({ sub: "ann" }, secret)}`, `Bearer a\r\nAuthorization: Bearer ${canary}`,
        undefined, undefined, undefined, undefined,
      ];
      let asked = 0;
      for (const path of ["/logs", "/fails", "/cookie", "/ready", "/token=canary5ecr3t"]) {
        for (const [index, value] of credentials.entries()) {
          const name = headerNames[index % headerNames.length];
          const authorization = value === undefined ? "" : `Authorization: ${value}\r\n`;
          asked++;
          await rawRequest(
            test.port,
            `GET ${path} HTTP/1.1\r\nHost: a\r\n${authorization}Cookie: sid=${canary}\r\nX-Api-Key: ${canary}\r\n` +
              `X-Fault: ${name}\r\nX-Tenant-ID: ${name}\r\nX-Request-ID: ${name}-${index}\r\nConnection: close\r\n\r\n`,
          );
        }
      }
      const isAccess = (line: string): boolean => line.includes('"message":"request"}');
      await until("the access lines", () => test.lines.filter(isAccess).length === asked);
      const messages = new Set<unknown>();
      for (const line of test.lines) {
        const record = JSON.parse(line) as Record<string, unknown>;
        for (const name of ["level", "time", "service", "env", "message"]) {
          expect(record[name], `${name} of ${line}`).to.be.a("string");
        }
        expect(repeatedNames(line), line).to.deep.equal([]);
        expect(line).not.to.match(/canary5ecr3t|"\[redacted\][^"]*":/);
        messages.add(record["message"]);
      }
      expect(messages).to.include.all.keys("bearer token refused", "request", ...headerNames);
    });
  });
});
