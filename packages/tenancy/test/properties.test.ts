import { Agent, request, type RequestListener } from "node:http";
import { tenancy, type TenantSource } from "@svc/tenancy";
import { listen, type Listening } from "@svc/test-support";
import { expect } from "chai";
import fc from "fast-check";
import { report, stacks, verified } from "./support/stacks.ts";

const sources: readonly TenantSource[] = ["token", "user", "subdomain", "path", "header"];
const agent = new Agent({ keepAlive: true });

const name = fc.oneof(
  fc.constantFrom("acme", "globex", "ACME", "www", "xn--acme", "ac%6de", "-", "", "ann", "acme.acme"),
  fc.string({ unit: fc.constantFrom(...Array.from("abz09-_.%/:@'\"?#; ,[]")), maxLength: 20 }),
);
const target = fc.oneof(
  name.map((each) => `/t/${each}/orders`),
  name.map((each) => `/T/${each}`),
  name.map((each) => `//t/${each}`),
  name.map((each) => `http://${each}.example.com/t/acme`),
  name.map((each) => `/${each}`),
  fc.constantFrom("/health", "/"),
);
const asked = fc.record(
  {
    target: target.map((text) => text.replace(/[ "']/g, "")),
    host: fc.oneof(
      name.map((each) => `${each}.example.com`),
      name.map((each) => `${each}.EXAMPLE.com.:8000`),
      name,
    ),
    "x-tenant-id": fc.oneof(name, fc.array(name, { maxLength: 3 })),
    "x-forwarded-host": name.map((each) => `${each}.example.com`),
  },
  { requiredKeys: ["target", "host"] },
);
const caller = fc.option(
  fc.record(
    {
      sub: fc.constantFrom("ann", "acme", "globex", "a b"),
      tenant: fc.constantFrom("acme", "globex", "Acme"),
    },
    { requiredKeys: ["sub"] },
  ),
  { nil: undefined },
);
const listed = fc
  .subarray([...sources], { minLength: 1 })
  .chain((some) => fc.shuffledSubarray(some, { minLength: some.length }));

describe("tenancy() with authentication on, for generated requests", () => {
  const chains = new Map<string, RequestListener>();
  let server: Listening;
  before(async () => {
    server = await listen((req, res) => {
      const key = req.headers["x-listed"];
      if (typeof key !== "string") {
        // A client of an earlier server on the same port may still send requests; they do not belong to this test.
        res.writeHead(404).end();
        return;
      }
      const list = key.split(",") as TenantSource[];
      const middleware = [verified, tenancy({ sources: list, baseDomain: "example.com" })];
      const chain = chains.get(key) ?? stacks["bare http"]!(middleware, report);
      chains.set(key, chain);
      chain(req, res);
    });
  });
  after(async () => {
    agent.destroy();
    await server[Symbol.asyncDispose]();
  });

  function tenantGranted(
    list: readonly TenantSource[],
    { target: path, ...rest }: Readonly<Record<string, string | string[]>>,
    who: object | undefined,
  ): Promise<unknown> {
    const { port } = server;
    const headers = { ...rest, "x-listed": list.join() };
    const sent = who === undefined ? headers : { ...headers, authorization: `Test ${JSON.stringify(who)}` };
    return new Promise((resolve, reject) => {
      const req = request({ port, host: "127.0.0.1", agent, path: path as string, headers: sent }, (res) => {
        let text = "";
        res.setEncoding("utf8");
        res.on("data", (chunk: string) => (text += chunk));
        res.on("end", () => {
          // Node itself refused the request as invalid HTTP.
          if (res.statusCode === 400 && text === "") resolve(undefined);
          else if (res.statusCode === 200) resolve((JSON.parse(text) as { tenant?: string }).tenant);
          else reject(new Error(`returned ${res.statusCode} ${text}`));
        });
      });
      req.on("error", reject);
      req.end();
    });
  }

  it("grants only the tenant in the caller's signed token (TEN-4, TEN-6, TEN-8)", async function () {
    this.timeout(60_000);
    let grants = 0;
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(listed, asked, caller, async (list, sent, who) => {
        const tenant = await tenantGranted(list, sent, who);
        if (tenant === undefined) {
          refusals += 1;
          return;
        }
        grants += 1;
        expect(who, "a caller").to.not.equal(undefined);
        const backed = [who?.tenant, ...(list.includes("user") ? [who?.sub] : [])];
        expect(backed).to.include(tenant);
      }),
      { numRuns: 3_000 },
    );
    expect(grants).to.be.above(100);
    expect(refusals).to.be.above(100);
  });

  it("grants no tenant to a caller without a tenant (TEN-6, TEN-7)", async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(
        listed.filter((list) => !list.includes("user")),
        asked,
        async (list, sent) => {
          expect(await tenantGranted(list, sent, { sub: "acme" })).to.equal(undefined);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
