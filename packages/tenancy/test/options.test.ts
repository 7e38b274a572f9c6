import { ConfigurationError } from "@svc/options";
import { RESERVED_SUBDOMAINS, tenancy, type TenancyOptions } from "@svc/tenancy";
import { listen } from "@svc/test-support";
import { expect } from "chai";
import { ask } from "./support/ask.ts";
import { report, stacks, verified } from "./support/stacks.ts";

function refused(options: object | undefined): string {
  try {
    tenancy(options as TenancyOptions | undefined);
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigurationError);
    expect((error as ConfigurationError).code).to.equal("ERR_SVC_CONFIGURATION");
    return (error as ConfigurationError).message;
  }
  throw new Error("nothing was refused");
}

describe("tenancy() with options", () => {
  it("rejects the default sources without a base domain, and says that subdomain is a default (TEN-2, TEN-21)", () => {
    for (const options of [undefined, {}, { baseDomain: "" }, { baseDomain: undefined }]) {
      expect(refused(options)).to.include(
        "baseDomain: is required while sources contains subdomain, which it does by default",
      );
    }
    expect(refused({ sources: ["path", "subdomain"] })).to.include(
      "while sources contains subdomain, which it does by default: set it",
    );
  });

  it("rejects sources that are unknown, empty or not a list (TEN-21)", () => {
    const message = refused({ sources: ["token", "cookie"] });
    expect(message).to.include(
      'sources: must be a non-empty list in which each entry is one of "token", "user"',
    );
    expect(message).to.include('["token", "cookie"]');
    for (const sources of [[], "token", [undefined], ["TOKEN"], [""], null]) {
      expect(refused({ sources, baseDomain: "example.com" })).to.include("sources: must be a non-empty list");
    }
  });

  it("rejects malformed base domains, and accepts capitals and a trailing dot (TEN-21)", () => {
    for (const baseDomain of [
      "https://example.com",
      "example.com:8000",
      ".example.com",
      "*.example.com",
      "example..com",
      "exa_mple.com",
      "b\u00fccher.example",
      "127.0.0.1",
      "[::1]",
      "example.com/",
      " example.com",
      "example.com\n",
      `${"a".repeat(64)}.com`,
      `${"a.".repeat(130)}com`,
    ]) {
      expect(refused({ baseDomain }), JSON.stringify(baseDomain)).to.include(
        "baseDomain: must be a domain such as",
      );
    }
    for (const baseDomain of ["Example.COM.", "localhost", "xn--bcher-kva.example"]) tenancy({ baseDomain });
  });

  it("rejects an unknown name and suggests the nearest name, and rejects values of the wrong type", () => {
    expect(refused({ basedomain: "example.com" })).to.include(
      "basedomain: is unknown; did you mean baseDomain?",
    );
    const wrong: Readonly<Record<string, unknown>> = {
      requireTenant: "yes",
      trustUnscopedPrincipals: 1,
      auth: "false",
      callerOf: {},
      hostOf: "Host",
      pathPrefix: "t",
      reservedSubdomains: ["WWW"],
      exemptPaths: ["about"],
      env: "production",
      logger: {},
    };
    for (const [name, value] of Object.entries(wrong)) {
      expect(refused({ baseDomain: "example.com", [name]: value }), name).to.include(`  - ${name}: must be `);
    }
  });

  it("rejects prefixes and exempt paths that can never match", () => {
    for (const pathPrefix of ["", "/", "/t/", "//t", "/t?", "/%74", "/:t"]) {
      expect(refused({ sources: ["path"], pathPrefix }), pathPrefix).to.include(
        "pathPrefix: must be a path such as /t",
      );
    }
    for (const path of ["", "*", "/*/x", "/a/", "//a", "/a?b", "/a%20b", "get /a", "/a/**", "/:", "/a/*b"]) {
      expect(refused({ sources: ["token"], exemptPaths: [path] }), path).to.include(
        "exemptPaths: must be a list",
      );
    }
  });

  it("warns about the source `header` in prod, the default env (TEN-22)", () => {
    const lines: [object, string | undefined][] = [];
    const logger = { warn: (fields: object, message?: string) => void lines.push([fields, message]) };
    tenancy({ sources: ["token", "header"], logger });
    tenancy({ sources: ["header"], env: "prod", logger });
    expect(lines.map(([fields]) => fields)).to.eql([
      { sources: ["token", "header"] },
      { sources: ["header"] },
    ]);
    expect(lines[0]?.[1]).to.include("X-Tenant-ID");
    for (const env of ["local", "dev", "staging"] as const) tenancy({ sources: ["header"], env, logger });
    tenancy({ sources: ["token", "path"], env: "prod", logger });
    expect(lines).to.have.length(2);
    tenancy({ sources: ["header"] });
  });

  it("reserves ten labels by default, or only the given labels (TEN-13)", async () => {
    expect(RESERVED_SUBDOMAINS.join(" ")).to.equal("www api app admin static assets cdn mail ftp localhost");
    const options = {
      sources: ["subdomain"],
      baseDomain: "Example.COM.",
      reservedSubdomains: ["status"],
      auth: false,
    } as const;
    await using server = await listen(stacks["bare http"]!([tenancy(options)], report));
    const tenants = ["status", "www", "acme"].map(async (label) => {
      const { body } = await ask(server.port, { lines: [`Host: ${label}.example.com`] });
      return body["tenant"];
    });
    expect(await Promise.all(tenants)).to.eql([undefined, "www", "acme"]);
  });

  it("uses token and subdomain, requires no tenant and trusts no unscoped caller by default (TEN-1, TEN-23)", async () => {
    await using server = await listen(
      stacks["bare http"]!([verified, tenancy({ baseDomain: "example.com" })], report),
    );
    const seen = async (caller: { tenant?: string } | undefined, ...lines: string[]): Promise<unknown> => {
      const { status, body } = await ask(server.port, { target: "/t/initech/", lines, caller });
      expect(status).to.equal(200);
      return body["tenant"];
    };
    expect(await seen(undefined)).to.equal(undefined);
    expect(await seen({ tenant: "acme" }, "X-Tenant-ID: globex")).to.equal("acme");
    expect(await seen({ tenant: "acme" }, "Host: acme.example.com")).to.equal("acme");
    expect(await seen({ tenant: "acme" }, "Host: globex.example.com")).to.equal(undefined);
    expect(await seen({}, "Host: globex.example.com")).to.equal(undefined);
  });
});
