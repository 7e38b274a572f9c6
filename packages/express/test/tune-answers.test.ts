import { createServer, type RequestListener } from "node:http";
import { listen } from "@svc/test-support";
import { tune } from "@svc/express";
import { expect } from "chai";
import type { Express } from "express";
import fc from "fast-check";
import { onBothMajors } from "./support/majors.ts";
import { type Answer, answers } from "./support/generated-answers.ts";
import { type AppPlan, appPlans, buildApp, prefixOf } from "./support/generated-apps.ts";
import { createWireClient, type WireClient } from "./support/wire-client.ts";

const seed = 20_261_123;
const plans = fc.sample(appPlans, { numRuns: 200, seed });
const answersPerPlan = 50;

/** A running application, with the lines that its middleware has recorded about its requests. */
interface Served extends AsyncDisposable {
  readonly client: WireClient;
  readonly notes: readonly string[];
  close(): Promise<void>;
}

describe("a tuned application", function () {
  this.timeout(120_000);
  // Express 4 prints deprecation warnings unless the event `deprecation` has a listener.
  const ignore = (): void => undefined;
  before(() => void process.on("deprecation" as "warning", ignore));
  after(() => void process.off("deprecation" as "warning", ignore));

  onBothMajors((express) => {
    async function serveApp(plan: AppPlan, given: readonly Answer[], tuned: boolean): Promise<Served> {
      const notes: string[] = [];
      let classes = {};
      const app = buildApp(express, plan, given, {
        note: (line) => void notes.push(line.trim()),
        tune: (each: Express) => {
          if (tuned) classes = tune(each);
        },
      });
      const server = createServer(plan.classes ? classes : {}, app as RequestListener);
      const listening = await listen(server);
      const client = createWireClient(listening.port);
      const close = async (): Promise<void> => {
        client.close();
        if (server.listening) await listening[Symbol.asyncDispose]();
      };
      return {
        client,
        notes,
        close,
        [Symbol.asyncDispose]: close,
      };
    }

    it("sends the same bytes as an untuned application in 10,000 generated responses", async () => {
      let compared = 0;
      for (const [number, plan] of plans.entries()) {
        const given = fc.sample(answers, { numRuns: answersPerPlan, seed: seed + number });
        await using theirs = await serveApp(plan, given, false);
        await using ours = await serveApp(plan, given, true);
        for (const [index, answer] of given.entries()) {
          const ask: Ask = async (head) => {
            const [expected, actual] = await Promise.all([
              theirs.client.send(head, answer.method),
              ours.client.send(head, answer.method),
            ]);
            if (withoutDate(actual) !== withoutDate(expected)) {
              const difference = `${JSON.stringify([plan, answer])}\n${String(answer.how)}\n${head}`;
              expect(withoutDate(actual), difference).to.equal(withoutDate(expected));
            }
            return expected;
          };
          await askWithConditions(ask, `${prefixOf(plan)}${index}`, answer);
          compared++;
        }
        // Close first: middleware may record lines until no request is in progress.
        await Promise.all([theirs.close(), ours.close()]);
        expect(ours.notes.toSorted(), JSON.stringify(plan)).to.deep.equal(theirs.notes.toSorted());
      }
      expect(compared).to.equal(10_000);
    });
  });
});

/**
 * Sends a request without a body to both applications, expects equal responses, and returns the response of the untuned one.
 */
type Ask = (head: string) => Promise<string>;

/**
 * Sends the request. If a conditional header needs the ETag of the response, first sends it without conditional headers.
 */
async function askWithConditions(ask: Ask, url: string, answer: Answer): Promise<void> {
  const { method, accept, conditions } = answer;
  const lines = [`${method} ${url}?callback=done HTTP/1.1`, "Host: x"];
  if (method !== "GET" && method !== "HEAD") lines.push("Content-Length: 0");
  if (accept !== undefined) lines.push(`Accept: ${accept}`);
  const { etag, modifiedSince, cacheControl } = conditions;
  if (etag !== undefined) {
    const known = /^etag: (.*)$/im.exec(await ask(headOf(lines)))?.[1] ?? '"unknown"';
    lines.push(`If-None-Match: ${etag(known)}`);
  }
  if (modifiedSince !== undefined) lines.push(`If-Modified-Since: ${modifiedSince}`);
  if (cacheControl !== undefined) lines.push(`Cache-Control: ${cacheControl}`);
  await ask(headOf(lines));
}

function headOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\r\n`).join("");
}

function withoutDate(text: string): string {
  return text.replace(/^Date: .*$/m, "Date: now");
}
