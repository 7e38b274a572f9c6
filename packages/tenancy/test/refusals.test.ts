import { type Middleware, openContext } from "@svc/context";
import { requireTenant, tenancy, type TenancyOptions } from "@svc/tenancy";
import { listen } from "@svc/test-support";
import { expect } from "chai";
import { ask, type Asked, type Answered } from "./support/ask.ts";
import { principal, report, stacks, verified } from "./support/stacks.ts";

for (const [stack, serve] of Object.entries(stacks)) {
  describe(`tenancy() refusing a tenant, on ${stack}`, () => {
    async function answer(
      request: Asked,
      options: TenancyOptions = {},
      chain: readonly Middleware[] = [requireTenant()],
    ): Promise<Answered> {
      const all = {
        sources: ["token", "subdomain", "path", "header"],
        baseDomain: "example.com",
        ...options,
      } as const;
      await using server = await listen(serve([verified, tenancy(all), ...chain], report));
      return await ask(server.port, request);
    }

    const globex = { lines: ["Host: globex.example.com"] };

    for (const requireTenantAtOnce of [false, true]) {
      const options = { requireTenant: requireTenantAtOnce };
      const chain = requireTenantAtOnce ? [] : undefined;
      const where = requireTenantAtOnce ? "with the option requireTenant" : "with the guard requireTenant()";

      it(`returns a plain 401 for a request that names a tenant but has no session, ${where} (TEN-6, TEN-17)`, async () => {
        const { status, headers, body } = await answer(globex, options, chain);
        expect(status).to.equal(401);
        expect(headers["www-authenticate"]).to.equal("Bearer");
        expect(body).to.include({ title: "Unauthorized", status: 401, detail: "authentication required" });
        expect(JSON.stringify(body)).to.not.include("globex");
      });

      it(`names the caller's and the requested tenant when they differ, ${where} (TEN-6, TEN-17, TEN-19)`, async () => {
        const { status, body } = await answer({ ...globex, caller: { tenant: "acme" } }, options, chain);
        expect([status, body["title"]]).to.eql([403, "Forbidden"]);
        expect(body["detail"]).to.equal(
          "this session is scoped to tenant 'acme', and the request names 'globex'",
        );
      });

      it(`states in the 403 that the account's token contains no tenant, ${where} (TEN-6, TEN-17, TEN-19)`, async () => {
        const { status, body } = await answer({ ...globex, caller: {} }, options, chain);
        expect(status).to.equal(403);
        expect(body["detail"]).to.equal(
          "this account is not scoped to tenant 'globex': its token carries no tenant",
        );
      });

      it(`returns 403 for a caller that neither has nor names a tenant, ${where} (TEN-3, TEN-10, TEN-19)`, async () => {
        const { status, body } = await answer({ caller: {} }, options, chain);
        expect(status).to.equal(403);
        expect(body["detail"]).to.equal("this request is not scoped to a tenant");
      });

      it(`returns 401 for an expired session, so that the client renews it, ${where} (TEN-3)`, async () => {
        for (const request of [{ caller: "expired" }, { ...globex, caller: "expired" }] as const) {
          expect((await answer(request, options, chain)).status).to.equal(401);
        }
      });
    }

    it("returns 403 for a request with neither a session nor a named tenant, with the option requireTenant (TEN-3, TEN-19)", async () => {
      const { status, body } = await answer({}, { requireTenant: true }, []);
      expect([status, body["detail"]]).to.eql([403, "this request is not scoped to a tenant"]);
    });

    it("returns 401, or 403 with auth: false, for no session and no tenant, with the guard requireTenant() (TEN-10)", async () => {
      expect((await answer({})).status).to.equal(401);
      expect((await answer({}, { auth: false })).status).to.equal(403);
    });

    it("does not affect routes without a guard, where currentTenant() throws the guard's error (TEN-17)", async () => {
      for (const [request, expected] of [
        [{ ...globex }, 401],
        [{ ...globex, caller: { tenant: "acme" } }, 403],
        [{ ...globex, caller: {} }, 403],
        [{}, 401],
        [{ caller: {} }, 403],
      ] as const) {
        const open = await answer(request, {}, []);
        expect(open.status).to.equal(200);
        expect(open.body).to.not.have.any.keys("tenant", "current");
        const guarded = await answer(request);
        const strict = await answer({ ...request, target: "/strict" }, {}, []);
        expect([strict.status, strict.body["detail"]]).to.eql([expected, guarded.body["detail"]]);
      }
    });

    it("quotes hostile claims without line breaks or quotes, truncated to 128 characters (TEN-19)", async () => {
      const claims: Readonly<Record<string, string>> = {
        "a', and the request names 'b": "a?, and the request names ?b",
        'x"}[31m': "x?}[31m",
        "\u202ecba\u2028\u2029\\": "?cba???",
        "m\u00fcnchen \u6771\u4eac \u{1f600}": "m\u00fcnchen \u6771\u4eac \u{1f600}",
        ["z".repeat(255)]: "z".repeat(128),
        [`${"z".repeat(127)}\u{1f600}`]: `${"z".repeat(127)}?`,
      };
      for (const [claim, shown] of Object.entries(claims)) {
        const claimed: Middleware = (req, _res, next) => {
          openContext(req).principal = principal("ann", claim);
          next();
        };
        const options = { sources: ["subdomain"], baseDomain: "example.com", requireTenant: true } as const;
        await using server = await listen(serve([claimed, tenancy(options)], report));
        const { status, body } = await ask(server.port, globex);
        expect(status).to.equal(403);
        expect(body["detail"]).to.equal(
          `this session is scoped to tenant '${shown}', and the request names 'globex'`,
        );
      }
    });

    it("returns 401 `authentication required` when the caller's tenant is not a tenant id (AUTH-39)", async () => {
      for (const claim of ['x"}\r\n\u0000\u001b[31m', "\ud800", "z".repeat(5_000)]) {
        const claimed: Middleware = (req, _res, next) => {
          openContext(req).principal = principal("ann", claim);
          next();
        };
        const options = { sources: ["subdomain"], baseDomain: "example.com", requireTenant: true } as const;
        await using server = await listen(serve([claimed, tenancy(options)], report));
        const { status, body } = await ask(server.port, globex);
        expect([status, body["detail"]]).to.eql([401, "authentication required"]);
      }
    });

    it("distinguishes the granted tenant from a tenant that was only named (TEN-20)", async () => {
      const seen = async (request: Asked): Promise<unknown[]> => {
        const { body } = await answer(request, { sources: ["token", "subdomain"] }, []);
        return [body["tenant"], body["requested"], body["claimed"]];
      };
      const acme = { tenant: "acme" };
      expect(await seen({})).to.eql([undefined, undefined, undefined]);
      expect(await seen({ caller: acme })).to.eql(["acme", undefined, undefined]);
      expect(await seen({ caller: acme, lines: ["X-Tenant-ID: globex"] })).to.eql([
        "acme",
        undefined,
        "globex",
      ]);
      expect(await seen({ caller: acme, lines: ["X-Tenant-ID: acme"] })).to.eql([
        "acme",
        undefined,
        undefined,
      ]);
      expect(await seen({ lines: ["X-Tenant-ID: globex"] })).to.eql([undefined, undefined, "globex"]);
      expect(await seen({ lines: ["X-Tenant-ID:"] })).to.eql([undefined, undefined, undefined]);
      expect(await seen(globex)).to.eql([undefined, "globex", "globex"]);
      expect(await seen({ ...globex, caller: acme })).to.eql([undefined, "globex", "globex"]);
      expect(await seen({ lines: [...globex.lines, "X-Tenant-ID: x"], caller: acme })).to.eql([
        undefined,
        "globex",
        "globex",
      ]);
    });

    it("records the second tenant as claimed when a request names two and the caller belongs to the first (TEN-20)", async () => {
      const { body } = await answer(
        { lines: ["Host: acme.example.com"], target: "/t/globex/", caller: { tenant: "acme" } },
        {},
        [],
      );
      expect(body).to.eql({ requested: "acme", claimed: "globex" });
    });

    it("truncates a claimed tenant to 128 characters and replaces unsafe characters (TEN-20)", async () => {
      const claimed = async (line: string): Promise<unknown> =>
        (await answer({ lines: [line] }, { sources: ["token"] }, [])).body["claimed"];
      expect(await claimed(`X-Tenant-ID: ${"g".repeat(129)}`)).to.equal("g".repeat(128));
      expect(await claimed("X-Tenant-ID: a\tb\u0085\u00ad'\"\\")).to.equal("a?b?????");
      expect(await claimed("X-Tenant-ID: Gl\u00f6bex & Co")).to.equal("Gl\u00f6bex & Co");
      expect(await claimed("X-Tenant-ID: a\r\nX-Tenant-ID: b")).to.equal("a, b");
    });
  });
}
