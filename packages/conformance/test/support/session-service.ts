import { createPrivateKey, createPublicKey } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Probes } from "@svc/conformance";
import type { Service, ServiceOptions } from "@svc/express";
import { oidcLogin } from "@svc/oidc-login";
import {
  addKey,
  generateKey,
  newRing,
  promoteKey,
  type RefreshHook,
  type RingDocument,
  thumbprint,
  type TokenIssuer,
  writeRing,
} from "@svc/token-issuer";
import { createMemoryTokenStore, type RevocableToken, type TokenStore } from "@svc/token-store";
import type { Express } from "express";
import { privatePem, publicPem, type SessionsBase } from "./bases.ts";

/** The changes that make the sessions of a service break a rule. */
export interface SessionDifferences {
  /** Changes the token store of a replica, 0 or 1. */
  readonly store?: ((store: TokenStore, replica: number) => TokenStore) | undefined;
  readonly refresh?:
    ((refresh: TokenIssuer["refresh"], hookState: () => HookState) => TokenIssuer["refresh"]) | undefined;
  readonly hook?: ((hook: RefreshHook, hookState: () => HookState) => RefreshHook) | undefined;
  /** Changes the key ring before it is written to the key file. */
  readonly ring?: ((document: RingDocument) => RingDocument) | undefined;
}

export type HookState = "restore" | "decline" | "fail" | "grant";

const scopes = ["orders:write", "orders:read"];
const roles = ["auditor", "admin"];
const granted = ["orders:read"];

/** Settings, routes and probes that the replicas of one service share. */
export interface Sessions extends AsyncDisposable {
  readonly keysFile: string | undefined;
  auth(replica: number): NonNullable<ServiceOptions["auth"]>;
  routes(app: Express, service: Service): void;
  readonly probes: Pick<Probes, "session" | "federated">;
}

export async function startSessions(
  base: SessionsBase,
  differences: SessionDifferences = {},
): Promise<Sessions> {
  let hookState: HookState = "restore";
  let isStoreOut = false;
  const inner = createMemoryTokenStore();
  const folder = base.ring === true ? await mkdtemp(join(tmpdir(), "svc-conformance-keys-")) : undefined;
  const keysFile = folder && join(folder, "keys.json");
  let document = newRing(firstKey(), Date.now());
  const save = (): Promise<void> =>
    writeFile(keysFile ?? "", writeRing(differences.ring?.(document) ?? document), { mode: 0o600 });
  if (keysFile !== undefined) await save();

  const alive = <T>(answer: T): T => {
    if (isStoreOut) throw new Error("the store is out");
    return answer;
  };
  const store: TokenStore = {
    shared: true,
    isRevoked: (token: RevocableToken) => alive(inner).isRevoked(token),
    revoke: (jti, ttl) => alive(inner).revoke(jti, ttl),
    revokeFamily: (fam, ttl) => alive(inner).revokeFamily(fam, ttl),
    revokeSubject: (sub, notBefore, ttl) => alive(inner).revokeSubject(sub, notBefore, ttl),
    rotate: (rotation) => alive(inner).rotate(rotation),
  };
  const hook: RefreshHook = ({ claims }) => {
    if (hookState === "fail") throw new Error("no users today");
    if (hookState === "decline") return undefined;
    if (hookState === "grant") return { scopes: granted };
    return { scopes: (claims["grt"] as { readonly scopes: readonly string[] }).scopes };
  };
  const currentHook = (): HookState => hookState;

  return {
    keysFile,
    auth: (replica) => ({
      revocation: differences.store?.(store, replica) ?? store,
      onRefresh: differences.hook?.(hook, currentHook) ?? hook,
    }),
    routes(app, service) {
      const { issuer } = service;
      if (issuer === undefined) throw new Error("the service issues nothing");
      if (differences.refresh !== undefined) {
        const sound = issuer.refresh.bind(issuer);
        Object.assign(issuer, { refresh: differences.refresh(sound, currentHook) });
      }
      app.post("/sign-in", async (_req, res) => {
        const pair = await issuer.issuePair({ subject: "ann", scopes, roles, tenant: "acme" });
        res.json({ tokens: pair });
      });
      app.post("/hook/:state", (req, res) => {
        hookState = req.params.state as HookState;
        res.json({});
      });
      app.post("/store/:state", (req, res) => {
        isStoreOut = req.params.state === "break";
        res.json({});
      });
      app.post("/keys/add", async (_req, res) => {
        document = addKey(document, await generateKey({ algorithm: "ES256" }), Date.now() - 200_000);
        await save();
        await until(() => (issuer.jwks()?.keys.length ?? 0) > 1);
        res.json({});
      });
      app.post("/keys/promote", async (_req, res) => {
        const before = issuer.keys.signer().kid;
        document = promoteKey(document, Date.now());
        await save();
        await until(() => issuer.keys.signer().kid !== before);
        res.json({});
      });
      if (base.federated === true) app.use(login());
    },
    probes: probesOf(base),
    async [Symbol.asyncDispose]() {
      inner.stop();
      if (folder !== undefined) await rm(folder, { recursive: true });
    },
  };
}

function probesOf(base: SessionsBase): Sessions["probes"] {
  return {
    session: {
      request: "POST /sign-in",
      accessToken: "tokens.access_token",
      refreshToken: "tokens.refresh_token",
      graceSeconds: base.graceSeconds,
      lifetimeDays: 90,
      hook: {
        decline: "POST /hook/decline",
        fail: "POST /hook/fail",
        grant: { request: "POST /hook/grant", scopes: granted },
        restore: "POST /hook/restore",
      },
      store: { break: "POST /store/break", restore: "POST /store/restore", failOpen: base.failOpen },
      ...(base.ring === true ? { rotation: { add: "POST /keys/add", promote: "POST /keys/promote" } } : {}),
    },
    ...(base.federated === true
      ? { federated: { provider: "example", authorizationEndpoint: `${providerUrl}/authorize` } }
      : {}),
  };
}

const providerUrl = "https://provider.example";

function login(): ReturnType<typeof oidcLogin> {
  const example = {
    clientId: "tested",
    clientSecret: "a secret between the two",
    redirectUri: "https://tested.example/auth/example/callback",
    issuer: providerUrl,
    jwksUri: `${providerUrl}/keys`,
    authorizationEndpoint: `${providerUrl}/authorize`,
    tokenEndpoint: `${providerUrl}/token`,
  };
  const unreachable = (): Promise<never> => Promise.reject(new TypeError("fetch failed"));
  return oidcLogin({
    providers: { example },
    cookieSecret: "a secret of forty characters or somewhat more",
    env: "staging",
    fetch: unreachable,
    onIdentity: ({ federated_id }) => ({ federated_id }),
  });
}

/** Returns the service's first signing key, with which the kit also signs tokens. */
function firstKey(): Parameters<typeof newRing>[0] {
  return {
    kid: firstKid(),
    algorithm: "RS256",
    signing: createPrivateKey(privatePem),
    verifying: createPublicKey(publicPem),
  };
}

export function firstKid(): string {
  return thumbprint(createPublicKey(publicPem).export({ format: "jwk" }));
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error("it did not come about");
    await sleep(10);
  }
}
