import { ConfigurationError } from "@svc/options";
import { authRoutes, createKeyRing, createTokenIssuer, type TokenIssuerOptions } from "@svc/token-issuer";
import { createMemoryTokenStore } from "@svc/token-store";
import { expect } from "chai";
import { claimsOf, issuing, SECRET } from "./support/issuing.ts";

const keys = createKeyRing({ secret: SECRET });
const limited = {
  ...keys,
  lifetimes: { accessSeconds: 900, refreshSeconds: 30 * 86_400, leewaySeconds: 30 },
};
const store = createMemoryTokenStore();

function faultsOf(options: object): string[] {
  try {
    createTokenIssuer({ keys, store, env: "local", ...options } as TokenIssuerOptions);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults.map((each) => `${each.key} ${each.message}`);
    throw error;
  }
  return [];
}

describe("the options of createTokenIssuer() and authRoutes()", () => {
  it("require a shared store if env is prod, the default (ISS-16)", () => {
    for (const env of [undefined, "prod"]) {
      const [fault, ...rest] = faultsOf({ env });
      expect(fault).to.match(/^store must be shared by all replicas in prod: .*Redis or PostgreSQL/);
      expect(rest).to.eql([]);
    }
    expect(faultsOf({ env: "prod", store: { ...store, shared: false } })).to.have.length(1);
    expect(faultsOf({ env: "prod", store: { ...store, shared: true } })).to.eql([]);
    for (const env of ["local", "dev", "staging"]) expect(faultsOf({ env })).to.eql([]);
  });

  const wrong: Readonly<Record<string, object>> = {
    "keys must be": { keys: undefined },
    "keys must be a key ring": { keys: { find: () => undefined } },
    "keys must be a key ring with lifetimes": { keys: { ...keys, lifetimes: undefined } },
    "store must be a token store": { store: { isRevoked: () => false } },
    "store must have both signInTime() and revokeSubjectNow(), or neither": {
      store: { ...store, revokeSubjectNow: undefined },
    },
    "onRefresh must be a function": { onRefresh: { scopes: [] } },
    "onEvent must be a function": { onEvent: "log" },
    "accessLifetimeMinutes must be a number from 1": { accessLifetimeMinutes: 0 },
    "refreshLifetimeDays must be a number from 1": { refreshLifetimeDays: 0.5 },
    "refreshGraceSeconds must be a number from 0": { refreshGraceSeconds: -1 },
    "sessionLifetimeDays must be a number from 0": { sessionLifetimeDays: -1 },
    "leewaySeconds must be a number from 0": { leewaySeconds: Number.NaN },
    "hookTimeoutSeconds must be": { hookTimeoutSeconds: 0 },
    "storeTimeoutSeconds must be": { storeTimeoutSeconds: 61 },
    "env must be one of": { env: "production" },
    "refreshDays is unknown": { refreshDays: 3 },
    "scopeClaim must not be grt": { scopeClaim: "grt" },
    "tenantClaim must not be sub": { tenantClaim: "sub" },
    "rolesClaim must not be scope": { rolesClaim: "scope" },
    "accessLifetimeMinutes must be at most 15 minutes": { keys: limited, accessLifetimeMinutes: 16 },
    "refreshLifetimeDays must be at most 30 days": { keys: limited, refreshLifetimeDays: 31 },
    "leewaySeconds must be at most 30 seconds": { keys: limited, leewaySeconds: 31 },
  };
  for (const [start, options] of Object.entries(wrong)) {
    it(`are rejected with a message that names the option: ${start}`, () => {
      const own = { keys, store, env: "local", ...options };
      const faults = faultsOf(own);
      expect(faults).to.have.length(1);
      const [name = "", ...said] = start.split(" ");
      expect(faults[0]?.startsWith(`${name} `)).to.equal(true);
      expect(faults[0]).to.include(said.join(" "));
    });
  }

  it("allow any lifetime and leeway with a key that never changes", () => {
    const options = { accessLifetimeMinutes: 1440, refreshLifetimeDays: 3650, leewaySeconds: 3600 };
    expect(faultsOf(options)).to.eql([]);
  });

  it("treat an empty issuer and audience as not set", async () => {
    const { issuer } = issuing({ issuer: "", audience: "" });
    const claims = claimsOf((await issuer.issuePair({ subject: "ada" })).access_token);
    expect(claims).to.not.have.any.keys("iss", "aud");
  });

  it("are rejected by authRoutes() if they are unknown or invalid", () => {
    const { issuer } = issuing();
    for (const [given, options] of [
      [issuer, { prefix: "auth" }],
      [issuer, { prefix: "/auth/" }],
      [issuer, { path: "/auth" }],
      [{}, undefined],
    ] as const) {
      expect(() => authRoutes(given as typeof issuer, options as { prefix: string })).to.throw(
        ConfigurationError,
      );
    }
  });
});
