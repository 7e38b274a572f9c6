import { createServer } from "node:http";
import express, { type Request } from "express";
import { expect } from "chai";
import { createInjector } from "../harness/injector.ts";
import { baseDomain, createRevokedIds, mintTokens, scope, tenantOf, trafficWith } from "../http/access.ts";
import { type Access, proveAccess } from "../http/access-proof.ts";
import { addGuardedRoute, type Seen } from "../http/route.ts";
import { type Claims, audience, createIssuer, issuerUrl } from "../http/tokens.ts";

interface Verified {
  readonly claims: Claims;
}
interface CallerRequest extends Request {
  verified?: Verified;
}
type Check = (claims: Claims, req: Request) => boolean;

const issuer = createIssuer("HS256");

/** The checks of a careful application, with the status of each refusal. */
function checksOf(revoked: ReadonlySet<string>): Readonly<Record<string, readonly [number, Check]>> {
  const now = (): number => Date.now() / 1000;
  return {
    iss: [401, ({ iss }) => iss === issuerUrl],
    aud: [401, ({ aud }) => aud === audience],
    exp: [401, ({ exp }) => typeof exp !== "number" || exp > now()],
    "a missing exp": [401, ({ exp }) => exp !== undefined],
    revocation: [401, ({ jti }) => !revoked.has(jti as string)],
    scope: [403, ({ scope: scopes }) => (scopes as string).includes(scope)],
    "a tenant": [403, ({ tenant_id: tenant }) => tenant !== undefined],
    "the named tenant": [
      403,
      ({ tenant_id: tenant }, { hostname }) =>
        !hostname.endsWith(baseDomain) || tenant === undefined || hostname.startsWith(`${tenant as string}.`),
    ],
  };
}

function read(token: string): Claims | undefined {
  try {
    return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Claims;
  } catch {
    return undefined;
  }
}

/** Returns the outcome of the proof of an application that omits one check: `proven`, or the error message. */
async function prove(
  leftOut: string,
  { remembers, tenant }: { remembers?: boolean; tenant?: string } = {},
): Promise<string> {
  const revoked = createRevokedIds();
  const tokens = mintTokens(issuer, 4);
  const seen: Seen = {};
  const known = new Map<string, Verified>();
  const app = express();
  app.use((req: CallerRequest, res, next) => {
    const token = req.headers.authorization?.slice(7) ?? "";
    const claims = read(token);
    if (claims === undefined) return void res.status(401).end();
    if (issuer.mint(claims) !== token && leftOut !== "signature") return void res.status(401).end();
    for (const [name, [status, holds]] of Object.entries(checksOf(revoked))) {
      if (name !== leftOut && !holds(claims, req)) return void res.status(status).end();
    }
    req.verified = known.get(token) ?? { claims };
    if (leftOut === "forgetting") known.set(token, req.verified);
    next();
  });
  addGuardedRoute(app, [], seen, {
    tenant: (req: CallerRequest) => tenant ?? (req.verified?.claims["tenant_id"] as string | undefined),
    caller: (req: CallerRequest) => req.verified,
  });
  const access: Access = { issuer, revoked, seen, tokens, remembers };
  return proveAccess(createInjector(createServer(app)), access).then(
    () => "proven",
    (error: Error) => error.message,
  );
}

describe("the proof of a case with authentication", () => {
  it("succeeds when the case accepts exactly the right requests", async () => {
    expect(await prove("nothing")).to.equal("proven");
    expect(await prove("nothing", { remembers: false })).to.equal("proven");
    expect(await prove("forgetting", { remembers: true })).to.equal("proven");
  });

  const caught: Readonly<Record<string, RegExp>> = {
    signature: /another signature should be 401 and is 200/,
    iss: /another issuer's name should be 401 and is 200/,
    aud: /another audience should be 401 and is 200/,
    exp: /an expired token should be 401 and is 200/,
    "a missing exp": /without an expiry should be 401 and is 200/,
    revocation: /a revoked token should be 401 and is 200/,
    scope: /without the scope should be 403 and is 200/,
    "a tenant": /without a tenant should be 403 and is 200/,
    "the named tenant": /names another tenant should be 403 and is 200/,
  };
  for (const [leftOut, message] of Object.entries(caught)) {
    it(`fails when the case omits the check of ${leftOut}`, async () => {
      expect(await prove(leftOut)).to.match(message);
    });
  }

  it("fails when the handler sees another tenant", async () => {
    expect(await prove("nothing", { tenant: tenantOf(5) })).to.include("the tenant that the handler sees");
  });

  it("fails when the case caches tokens although it claims not to, or the reverse", async () => {
    expect(await prove("forgetting", { remembers: false })).to.equal(
      "the callers remembered should be 0 and is 4",
    );
    expect(await prove("nothing", { remembers: true })).to.equal(
      "the callers remembered should be 4 and is 0",
    );
  });
});

describe("trafficWith()", () => {
  it("sends different tokens of a realistic size, each to the subdomain of the token's tenant", () => {
    const tokens = mintTokens(issuer, 64);
    expect(new Set(tokens).size).to.equal(64);
    expect(tokens.every(({ length }) => length > 450 && length < 550)).to.equal(true);
    const { requests, headers } = trafficWith(tokens);
    expect(headers).to.deep.equal({
      Host: "tenant-00.bench.example:8000",
      Authorization: `Bearer ${tokens[0]}`,
    });
    const text = requests[17]?.bytes.toString("latin1") ?? "";
    expect(text.match(/^host: .*$/gim)).to.deep.equal(["Host: tenant-01.bench.example:8000"]);
    expect(text).to.include(`\r\nAuthorization: Bearer ${tokens[17]}\r\n`);
  });
});
