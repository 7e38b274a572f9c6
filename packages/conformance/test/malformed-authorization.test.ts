import { checkConformance, type ConformanceReport } from "@svc/conformance";
import { listen } from "@svc/test-support";
import { createServer } from "node:http";
import { expect } from "chai";

/** Checks LOG-2 against a service without routes that logs a line for each `Authorization` header. */
async function judged(
  line: (header: string) => Readonly<Record<string, unknown>>,
): Promise<{ readonly report: ConformanceReport; readonly headers: ReadonlySet<string> }> {
  const headers = new Set<string>();
  let log = "";
  const common = { service: "logs", env: "local", level: "info" };
  await using service = await listen(
    createServer((req, res) => {
      const values = req.headersDistinct["authorization"] ?? [];
      for (const value of values) {
        headers.add(value);
        log += `${JSON.stringify({ ...common, ...line(value) })}\n`;
      }
      const id = req.headers["x-request-id"];
      log += `${JSON.stringify({ ...common, message: "request", http_path: req.url, request_id: id ?? "none" })}\n`;
      res.writeHead(404).end();
    }),
  );
  const report = await checkConformance({ url: service.url, log: () => log, only: ["LOG-2"] });
  return { report, headers };
}

describe("malformed Authorization headers", () => {
  it("are also sent to a service without authentication, and include other schemes, two tokens and 9,000 characters", async () => {
    const { report, headers } = await judged(() => ({ message: "token refused" }));
    expect(report.failed).to.equal(0);
    expect([...headers]).to.include.members([
      "Bearer",
      "Bearer a b",
      "Basic x",
      "Bearer a.b.c d.e.f",
      "Bearer a.b.c",
      "Bearer d.e.f",
      "=;,()<>@[]{}?/:",
      "Bearer \u00e9\u00ff",
    ]);
    expect(Math.max(...[...headers].map(({ length }) => length))).to.be.above(9000);
  });

  it("fail the check of log lines when the service logs them without a message", async () => {
    const { report } = await judged((header) =>
      header === "Bearer a b" ? { at: "authorization", "[redacted]": "token refused" } : { message: "ok" },
    );
    const verdict = report.findings[0]?.verdict;
    expect(verdict).to.include({ status: "fail", expected: "service, env, level, message" });
    expect(verdict)
      .to.have.property("seen")
      .that.matches(/^a line without message: \{.*"at":"authorization"/);
  });

  it("fail the check of log lines when the access line of their request has no request_id", async () => {
    const { report } = await judged((header) =>
      header === "Basic x" ? { message: "request", http_path: "/health" } : { message: "ok" },
    );
    expect(report.findings[0]?.verdict)
      .to.include({ status: "fail", expected: "service, env, level, message, request_id" })
      .and.to.have.property("seen")
      .that.matches(/^a line without request_id: /);
  });
});
