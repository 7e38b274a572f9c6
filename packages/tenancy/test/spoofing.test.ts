import { requireTenant, tenancy } from "@svc/tenancy";
import { listen, type Listening } from "@svc/test-support";
import { expect } from "chai";
import { ask, type Asked } from "./support/ask.ts";
import { spoofs } from "./support/spoof-matrix.ts";
import { report, stacks, verified } from "./support/stacks.ts";

const callers = {
  off: { auth: false, caller: undefined },
  nobody: { auth: true, caller: undefined },
  acme: { auth: true, caller: { tenant: "acme" } },
  unscoped: { auth: true, caller: {} },
  trusted: { auth: true, caller: {} },
} as const;

for (const [stack, serve] of Object.entries(stacks)) {
  describe(`tenancy() with a client that tries to choose the tenant, on ${stack}`, () => {
    const running = new Map<string, Promise<Listening>>();
    after(async () => {
      for (const each of running.values()) await (await each)[Symbol.asyncDispose]();
    });

    /** Returns the port of the server for these settings; all requests share it. */
    async function port(
      sources: (typeof spoofs)[number]["sources"],
      kind: keyof typeof callers,
      required: boolean,
    ): Promise<number> {
      const key = `${sources.join()} ${kind} ${required}`;
      const options = {
        sources,
        baseDomain: "example.com",
        auth: callers[kind].auth,
        trustUnscopedPrincipals: kind === "trusted",
        requireTenant: required,
      };
      const chain = required ? [verified, tenancy(options)] : [verified, tenancy(options), requireTenant()];
      const held = running.get(key) ?? listen(serve(chain, report));
      running.set(key, held);
      return (await held).port;
    }

    for (const spoof of spoofs) {
      it(`grants each kind of caller only the tenant that it may use, for ${spoof.title} (TEN-4, TEN-5, TEN-6, TEN-7, TEN-8, TEN-9, TEN-13)`, async () => {
        for (const kind of Object.keys(callers) as (keyof typeof callers)[]) {
          const request: Asked = { ...spoof, caller: callers[kind].caller };
          const answer = await ask(await port(spoof.sources, kind, false), request);
          const expected = spoof[kind];
          if (typeof expected === "number") {
            expect(answer.status, kind).to.equal(expected);
            expect(answer.headers["content-type"], kind).to.equal("application/problem+json");
          } else {
            expect([answer.status, answer.body["tenant"], answer.body["current"]], kind).to.eql([
              200,
              expected,
              expected,
            ]);
          }
          // With the option `requireTenant` the response is the same, except that a request with neither a tenant nor a
          // session gets a 403.
          const atOnce = await ask(await port(spoof.sources, kind, true), request);
          const nothingSaid = kind === "nobody" && spoof.off === 403;
          expect(atOnce.status, `${kind}, at once`).to.equal(nothingSaid ? 403 : answer.status);
          if (answer.status === 200) expect(atOnce.body, kind).to.eql(answer.body);
        }
      });
    }
  });
}
