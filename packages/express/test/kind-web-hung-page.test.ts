import { problemHandler, serviceUnavailable } from "@svc/problem";
import { collectingLogger, listen } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import { type ErrorPage, errorPages } from "../src/web/error-pages.ts";
import { onBothMajors } from "./support/majors.ts";

describe("an error page that is never finished", () => {
  onBothMajors((express) => {
    it("PROF-7 is replaced by the problem document at the time limit, and logged", async () => {
      const logger = collectingLogger();
      const errorPage: ErrorPage = () => new Promise<never>(() => undefined);
      const { forErrors } = errorPages({ errorPage, timeoutMs: 20, logger });
      const app = express();
      app.get("/", (_req, _res, next) => next(serviceUnavailable("later", { retryAfterSeconds: 7 })));
      app.use(forErrors, problemHandler());
      await using server = await listen(app);
      const { status, type, headers, body } = await request(server.url).get("/").set("Accept", "text/html");
      expect([status, type, headers["retry-after"]]).to.deep.equal([503, "application/problem+json", "7"]);
      expect(body).to.include({ status: 503, detail: "later" });
      const line = logger.lines.find(({ message }) => String(message).startsWith("errorPage() failed"));
      expect(line?.fields).to.have.property("request_id");
      expect(String((line?.fields as { err?: unknown } | undefined)?.err)).to.contain(
        "no result within 20 ms",
      );
    });
  });
});
