import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { codeBlocks, until } from "@svc/test-support";
import { expect } from "chai";
import { conditions, started } from "../../support/started.ts";

const root = new URL("../../../", import.meta.url);
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const [commands = "", call = ""] = codeBlocks(readme, "sh");
const [, traceparent = ""] = /'traceparent: ([^']+)'/.exec(call) ?? [];
const traceId = traceparent.slice(3, 35);

describe("the stock instrumentations of OpenTelemetry", function () {
  this.timeout(60_000);

  const variants = commands.trim().split("\n");
  it("have four start commands in the README", () => {
    expect(variants).to.have.lengthOf(4);
  });

  for (const command of variants) {
    const [node, flag = "", preload = "", file = ""] = command.split(" ");
    it(`COR-12 COR-13 trace a request that is started with ${command}`, async () => {
      expect(node).to.equal("node");
      const args = [...conditions.source, flag, fileURLToPath(new URL(preload, root))];
      await using app = await started(new URL(file, root), args);
      const answer = await fetch(`${app.url}/orders/7`, { headers: { traceparent } });
      const sent = ((await answer.json()) as { readonly traceparent: string }).traceparent;
      expect(sent)
        .to.match(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
        .and.not.to.equal(traceparent);
      const spans = () => app.lines().filter(({ span }) => span !== undefined);
      const accessLine = () => app.lines().find(({ message }) => message === "request");
      await until("the span and the access line", () => spans().length > 0 && accessLine() !== undefined);
      expect(spans()).to.deep.equal([{ span: "GET /orders/:id", kind: "SERVER", trace_id: traceId }]);
      expect(accessLine()).to.include({ http_path: "/orders/7", trace_id: traceId });
      const shown = codeBlocks(readme, "json")[0]?.trim().split("\n") ?? [];
      expect(spans()[0]).to.include(JSON.parse(shown[0] ?? ""));
      expect(accessLine()).to.include(JSON.parse(shown[1] ?? ""));
    });
  }
});
