import { once } from "node:events";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import type { IncomingMessage } from "node:http";
import { type Middleware, openContext } from "@svc/context";
import { type Caller, requireTenant, tenancy, type TenancyOptions } from "@svc/tenancy";
import { badTenantIds, expressMajors, goodTenantIds, listen } from "@svc/test-support";
import { expect } from "chai";
import { ask, type Asked, type Answered } from "./support/ask.ts";
import { report, stacks, verified } from "./support/stacks.ts";

for (const [stack, serve] of Object.entries(stacks)) {
  describe(`tenancy() finding a tenant, on ${stack}`, () => {
    async function answer(
      options: TenancyOptions,
      request: Asked,
      chain: readonly Middleware[] = [],
    ): Promise<Answered> {
      await using server = await listen(serve([verified, tenancy(options), ...chain], report));
      return await ask(server.port, request);
    }
    async function tenantFor(options: TenancyOptions, request: Asked): Promise<unknown> {
      return (await answer(options, request)).body["tenant"];
    }

    it("uses a valid subject as the tenant of the source `user` (TEN-15)", async () => {
      const options = { sources: ["user"] } as const;
      for (const sub of [
        "ann",
        "A",
        "auth0|5f7c8ec7c33c6c004bbafe82",
        "ann@example.com:x_y-z.0",
        "a".repeat(128),
      ]) {
        expect(await tenantFor(options, { caller: { sub } })).to.equal(sub);
      }
      for (const sub of [
        "",
        "|ann",
        "-a",
        "ann b",
        "ann/b",
        "ann\u0000",
        "j\u00fcrgen",
        "a".repeat(129),
        "a\n",
      ]) {
        expect(await tenantFor(options, { caller: { sub } }), sub).to.equal(undefined);
      }
      expect(await tenantFor(options, {})).to.equal(undefined);
    });

    it("uses the signed sources in the configured order (TEN-1)", async () => {
      const caller = { sub: "ann", tenant: "acme" };
      expect(await tenantFor({ sources: ["token", "user"] }, { caller })).to.equal("acme");
      expect(await tenantFor({ sources: ["user", "token"] }, { caller })).to.equal("ann");
      expect(await tenantFor({ sources: ["token", "user"] }, { caller: { sub: "ann" } })).to.equal("ann");
      expect(
        await tenantFor({ sources: ["user", "token"] }, { caller: { sub: "?", tenant: "acme" } }),
      ).to.equal("acme");
    });

    it("rejects a named tenant that differs from the user's own, even with trustUnscopedPrincipals (TEN-8)", async () => {
      const options = { sources: ["path", "user"], trustUnscopedPrincipals: true } as const;
      const request = { target: "/t/globex/strict", caller: { sub: "ann" } };
      const { status, body } = await answer(options, request);
      expect([status, body["detail"]]).to.eql([
        403,
        "this session is scoped to tenant 'ann', and the request names 'globex'",
      ]);
      expect(await tenantFor(options, { target: "/t/ann/", caller: { sub: "ann" } })).to.equal("ann");
    });

    it("uses the tenant claim even when `sources` does not contain `token` (TEN-4, TEN-8)", async () => {
      const caller = { tenant: "acme" };
      const options = { sources: ["path"], trustUnscopedPrincipals: true } as const;
      expect(await tenantFor(options, { caller })).to.equal("acme");
      expect(await tenantFor(options, { caller, target: "/t/acme/" })).to.equal("acme");
      expect(await tenantFor(options, { caller, target: "/t/globex/" })).to.equal(undefined);
    });

    it("accepts a tenant claim that is not a slug, and compares it exactly (TEN-12)", async () => {
      const options = { sources: ["token", "subdomain"], baseDomain: "example.com" } as const;
      for (const tenant of ["Acme", "acme_1", "m\u00fcnchen", "a b", "x".repeat(255)]) {
        expect(await tenantFor(options, { caller: { tenant } })).to.equal(tenant);
      }
      const lines = ["Host: acme.example.com"];
      expect(await tenantFor(options, { caller: { tenant: "Acme" }, lines })).to.equal(undefined);
      expect(await tenantFor(options, { caller: { tenant: "" } })).to.equal(undefined);
    });

    it("accepts slugs of 1 to 63 lowercase letters, digits and hyphens (TEN-12)", async () => {
      const options = { sources: ["header"], auth: false, env: "local" } as const;
      for (const slug of ["a", "7", "a-", "a--b", "0-9", "a".repeat(63)]) {
        expect(await tenantFor(options, { lines: [`X-Tenant-ID: ${slug}`] })).to.equal(slug);
      }
      for (const other of ["-", "-a", "A", "a_b", "a.b", "a b", "a/b", "'", "a".repeat(64), "..", "\u00e4"]) {
        expect(await tenantFor(options, { lines: [`X-Tenant-ID: ${other}`] }), other).to.equal(undefined);
      }
    });

    it("accepts a configured path prefix, even with several segments (TEN-14)", async () => {
      const options = { sources: ["path"], auth: false, pathPrefix: "/Api/tenants" } as const;
      expect(await tenantFor(options, { target: "/api/tenants/acme/orders" })).to.equal("acme");
      expect(await tenantFor(options, { target: "/API/Tenants/acme" })).to.equal("acme");
      expect(await tenantFor(options, { target: "/t/acme/orders" })).to.equal(undefined);
      expect(await tenantFor(options, { target: "/api/tenantsx/acme" })).to.equal(undefined);
    });

    it("with auth: false, uses the first source that names a tenant (TEN-9)", async () => {
      const lines = ["Host: one.example.com", "X-Tenant-ID: three"];
      const request = { target: "/t/two/", lines };
      const options = { baseDomain: "example.com", auth: false, env: "local" } as const;
      expect(await tenantFor({ ...options, sources: ["subdomain", "path", "header"] }, request)).to.equal(
        "one",
      );
      expect(await tenantFor({ ...options, sources: ["path", "subdomain", "header"] }, request)).to.equal(
        "two",
      );
      expect(await tenantFor({ ...options, sources: ["token", "user", "header", "path"] }, request)).to.equal(
        "three",
      );
      expect(
        await tenantFor({ ...options, sources: ["subdomain", "path"] }, { ...request, lines: [] }),
      ).to.equal("two");
    });

    it("rejects a named tenant that a verified caller does not belong to, even with auth: false (TEN-6)", async () => {
      const options = { sources: ["token", "path"], auth: false } as const;
      expect(await tenantFor(options, { target: "/t/globex/", caller: { tenant: "acme" } })).to.equal(
        undefined,
      );
      expect(await tenantFor(options, { target: "/t/globex/", caller: {} })).to.equal(undefined);
      expect(await tenantFor(options, { target: "/t/globex/" })).to.equal("globex");
    });

    it("gets the caller from callerOf() instead of the context", async () => {
      const callerOf = (req: IncomingMessage): Caller | undefined => {
        const tenant = req.headers["x-verified-tenant"];
        return typeof tenant === "string" ? { tenant } : undefined;
      };
      const options = { sources: ["token"], callerOf } as const;
      const lines = ["X-Verified-Tenant: globex"];
      expect(await tenantFor(options, { lines, caller: { tenant: "acme" } })).to.equal("globex");
      expect(await tenantFor(options, { caller: { tenant: "acme" } })).to.equal(undefined);
    });

    it("accepts every valid tenant id of a caller, and treats a caller with an invalid tenant id as unverified (AUTH-39)", async () => {
      const options = { sources: ["token", "path"], trustUnscopedPrincipals: true } as const;
      for (const tenant of goodTenantIds) {
        const callerOf = (): Caller => ({ subject: "ann", tenant });
        expect(await tenantFor({ ...options, callerOf }, {})).to.equal(tenant);
      }
      for (const [what, tenant] of Object.entries(badTenantIds)) {
        const callerOf = (): Caller => ({ subject: "ann", tenant });
        for (const target of ["/", "/t/acme/"]) {
          const { status } = await answer({ ...options, callerOf, requireTenant: true }, { target });
          expect(status, what).to.equal(target === "/" ? 403 : 401);
        }
      }
    });

    it("returns 500 when callerOf() throws or returns an invalid caller", async () => {
      const faulty: readonly (() => unknown)[] = [
        async () => ({ tenant: "acme" }),
        () => true,
        () => "ann",
        () => ({ tenant: 7 }),
        () => ({ subject: ["ann"] }),
        () => {
          throw new Error("the store is down");
        },
        () => {
          // Without a wrapper, this would be a 404 with a private detail.
          throw Object.assign(new Error("the store is down"), { status: 404, expose: true });
        },
        () => {
          throw undefined;
        },
        () => {
          // Passed to next(), this string would make Express skip to the next route.
          throw "route";
        },
      ];
      for (const each of faulty) {
        const callerOf = each as () => undefined;
        const options = { sources: ["path"], callerOf, trustUnscopedPrincipals: true } as const;
        const { status, body } = await answer(options, { target: "/t/acme/" });
        expect([status, body["detail"]], String(each)).to.eql([500, "An unexpected error occurred"]);
      }
    });

    it("treats null like undefined as the result of callerOf() and as a caller's tenant or subject", async () => {
      const nobody = { sources: ["path"], callerOf: (() => null) as unknown as () => undefined } as const;
      expect((await answer(nobody, { target: "/t/acme/strict" })).status).to.equal(401);
      const unscoped = { tenant: null, subject: null } as unknown as Caller;
      const options = { sources: ["path"], callerOf: () => unscoped } as const;
      expect((await answer(options, { target: "/t/acme/strict" })).status).to.equal(403);
    });

    it("returns 500 when hostOf() returns a value other than a string", async () => {
      for (const hostOf of [async () => "acme.example.com", () => 7, () => ["acme.example.com"]]) {
        const options = { baseDomain: "example.com", hostOf: hostOf as unknown as () => string };
        expect((await answer(options, {})).status).to.equal(500);
      }
      const none = (() => null) as unknown as () => undefined;
      expect((await answer({ baseDomain: "example.com", hostOf: none }, {})).status).to.equal(200);
    });

    it("applies the host rules to the result of hostOf(), including non-ASCII and very long hosts (TEN-13)", async () => {
      const hosts: Readonly<Record<string, string | undefined>> = {
        "GLOBEX.example.com.:80": "globex",
        "\u212alobex.example.com": undefined,
        "globex.example.\u212aom": undefined,
        "globex.example.com\n": undefined,
        "globex.example.com\u0000": undefined,
        "": undefined,
        [`${"a.".repeat(100_000)}example.com`]: undefined,
        [":".repeat(100_000)]: undefined,
      };
      for (const [host, tenant] of Object.entries(hosts)) {
        const options = { baseDomain: "example.com", auth: false, hostOf: () => host };
        expect(await tenantFor(options, {}), host.slice(0, 40)).to.equal(tenant);
      }
    });

    it("overwrites a tenant that another middleware wrote into the context", async () => {
      const lying: Middleware = (req, _res, next) => {
        openContext(req).tenantId = "globex";
        openContext(req).tenantClaimed = "globex";
        next();
      };
      await using server = await listen(serve([lying, tenancy({ sources: ["token"] })], report));
      expect((await ask(server.port)).body).to.eql({});
    });

    it("drops the tenant that an earlier tenancy() granted when a later tenancy() refuses it", async () => {
      const open = tenancy({ sources: ["path"], auth: false });
      await using server = await listen(
        serve([open, tenancy({ sources: ["path"] }), requireTenant()], report),
      );
      expect((await ask(server.port, { target: "/t/globex/" })).status).to.equal(401);
    });
  });
}

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`tenancy() and a proxy, on ${name}`, () => {
    for (const trusted of [true, false]) {
      it(`${trusted ? "uses" : "ignores"} X-Forwarded-Host through hostOf when trust proxy is ${trusted} (TEN-13)`, async () => {
        const app = express();
        app.set("trust proxy", trusted);
        const hostOf = (req: IncomingMessage): string | undefined =>
          (req as unknown as { hostname?: string }).hostname;
        app.use(tenancy({ sources: ["subdomain"], baseDomain: "example.com", auth: false, hostOf }));
        app.use(report);
        await using server = await listen(app as unknown as Parameters<typeof listen>[0]);
        const lines = [
          "Host: acme.example.com",
          "X-Forwarded-Host: Globex.example.com:443, initech.example.com",
        ];
        const { body } = await ask(server.port, { lines });
        expect(body["tenant"]).to.equal(trusted ? "globex" : "acme");
      });
    }
  });
}

describe("tenancy() on HTTP/2", () => {
  it("reads :authority, and finds no tenant when Host differs from it (TEN-13)", async () => {
    const middleware = tenancy({ sources: ["subdomain"], baseDomain: "example.com", auth: false });
    const server = createServer((req, res) => {
      const [request, response] = [req, res] as unknown as Parameters<typeof report>;
      middleware(request, response, () => report(request, response));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    try {
      const tenant = async (headers: Record<string, string>): Promise<unknown> => {
        const stream = session.request({ ":path": "/", ":authority": "acme.example.com", ...headers });
        let text = "";
        for await (const chunk of stream) text += String(chunk);
        return (JSON.parse(text) as Record<string, unknown>)["tenant"];
      };
      expect(await tenant({})).to.equal("acme");
      expect(await tenant({ host: "acme.example.com" })).to.equal("acme");
      expect(await tenant({ host: "globex.example.com" })).to.equal(undefined);
    } finally {
      session.destroy();
      server.close();
    }
  });
});
