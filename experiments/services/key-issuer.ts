import { createService } from "@svc/express";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { announce, answerQuestions, settingsOfParent } from "../harness/within-service.ts";
import { type KeyVerifierSettings, startKeyVerifier } from "./key-verifying.ts";

export interface KeyIssuerSettings {
  /** The directory of the signing keys, which the experiment changes. */
  readonly keys: string;
  /**
   * The settings of a verifier that runs in this process too; the questions `verifier` and `rests` return its port and its
   * times between two fetches. Default: none.
   */
  readonly verifying?: Omit<KeyVerifierSettings, "jwksUrl">;
}

interface Ring {
  readonly keys: readonly { readonly kid: string; readonly jwk: object }[];
}

const { keys, verifying } = settingsOfParent<KeyIssuerSettings>();
/** The number of key-set fetches that the verifier has started. */
let fetches = 0;
answerQuestions({ fetches: () => fetches });

async function start(): Promise<void> {
  const service = await createService({
    env: {},
    config: {
      toml: `
        [service]
        name = "issuer"
        port = 0
        [logging]
        level = "WARN"
        [plugins]
        enabled = ["auth"]
        [plugin.auth]
        issuer = "https://issuer.example.com"
        audience = "orders"
        issue_tokens = true
        signing_keys = "${keys}"
      `,
    },
    routes(app, { issuer }) {
      // Publishes the file of signing keys with its private members: the fault of `broken-private-members`.
      app.get("/leaky-keys.json", async (_req, res) => {
        const ring = JSON.parse(await readFile(join(keys, "keys.json"), "utf8")) as Ring;
        res.json({ keys: ring.keys.map(({ kid, jwk }) => ({ kid, ...jwk })) });
      });
      // Issues access tokens that live only seconds, much shorter than the issuer's own, so that a rotation takes seconds.
      app.get("/token", async (req, res) => {
        const now = Math.floor(Date.now() / 1000);
        const exp = now + Number(req.query["seconds"]);
        const names = { iss: "https://issuer.example.com", aud: "orders", sub: "ann", jti: randomUUID() };
        const signer = issuer?.keys.signer();
        const token = await signer?.sign({ ...names, typ: "access", scope: "orders:read", iat: now, exp });
        res.json({ token, kid: signer?.kid, exp });
      });
    },
  });
  service.server.on("request", ({ url }) => {
    if (url?.endsWith("?verifier") === true) fetches += 1;
  });
  await service.start();
  const port = service.address?.port;
  if (verifying !== undefined) {
    const jwksUrl = `http://127.0.0.1:${port}/.well-known/jwks.json?verifier`;
    const verifier = await startKeyVerifier({ ...verifying, jwksUrl });
    answerQuestions({ verifier: () => verifier.port, rests: verifier.rests });
  }
  announce(port);
}

void start();
